// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// doctor.h decides what a check of `smalloc doctor` is: a name, a verdict, a value for scripts, one
// sentence for people, and the command that cures it. A check never changes the system; what it
// tries, it tries in a child or on memory of its own.
//
// ok: nothing to do. warn: something works less well, or only when asked for. fail: superpages, or
// smalloc itself, cannot work.
#pragma once

#include "runtime/cli/system_view.h"
#include "smalloc/machine.h"

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace smalloc::cli {

enum class Verdict { kOk, kWarn, kFail };

struct Check {
  std::string name;
  Verdict verdict = Verdict::kOk;
  nlohmann::ordered_json value; // null: unknown or none
  std::string message;
  std::string fix; // a shell command; empty: nothing to type
};

using Checks = std::vector<Check>;

// Page sizes: THP, mTHP, hugetlb pools, collapse, contiguous memory.
void check_pages(const SystemView &system, Checks &checks);
// What bounds a process: overcommit, limits, cgroup, mappings, and what the machine is: processor,
// NUMA, PMU, C library.
void check_limits(const SystemView &system, Checks &checks);
void check_machine(const SystemView &system, Checks &checks);
// Pools by node, NUMA balancing, cgroup v1, what backs a guest's superpages.
void check_nodes(const SystemView &system, Checks &checks);
// Page sizes, hypervisor, container.
void check_host(const SystemView &system, Checks &checks);
// Abilities of the kernel, tried.
void check_features(const SystemView &system, Checks &checks);
// What the first touch of superpages costs just now; takes up to half a second where it is dear.
void check_first_touch(const SystemView &system, Checks &checks);
// This processor's preset; behind a replaced root, of what /proc/cpuinfo names.
const struct smalloc_machine *machine_of(const SystemView &system);
// Compilers and linkers on PATH, our own libraries, and whether they fit together.
void check_tools(Checks &checks);
// One program: what would keep superpages from it. Throws Failure when the file cannot be read.
void check_program(const std::string &path, Checks &checks);

} // namespace smalloc::cli
