// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// doctor.h declares the checks of `smalloc doctor`. A check has a name, a verdict, a value for
// scripts, a sentence for users, and the command that cures it. A check never changes the system;
// it makes its trials in a child or on its own memory.
//
// Verdicts: ok: nothing to do; warn: something works less well, or only when asked for; fail:
// superpages, or smalloc itself, cannot work.
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
  std::string fix; // a shell command; empty: none
};

using Checks = std::vector<Check>;

// Checks page sizes: THP, mTHP, hugetlb pools, collapse, contiguous memory.
void check_pages(const SystemView &system, Checks &checks);
// check_limits() checks what limits a process: overcommit, rlimits, cgroup, mappings.
// check_machine() checks the machine: processor, NUMA, PMU, C library.
void check_limits(const SystemView &system, Checks &checks);
void check_machine(const SystemView &system, Checks &checks);
// Checks pools per node, NUMA balancing, cgroup v1, and what backs a guest's superpages.
void check_nodes(const SystemView &system, Checks &checks);
// Returns the names of the nodes' folders in /sys/devices/system/node.
std::vector<std::string> node_names(const SystemView &system);
// Checks page sizes, hypervisor and container.
void check_host(const SystemView &system, Checks &checks);
// Checks abilities of the kernel by trying them.
void check_features(const SystemView &system, Checks &checks);
// Measures what the first touch of superpages costs at present. Takes up to half a second if it is
// expensive.
void check_first_touch(const SystemView &system, Checks &checks);
// Returns this processor's preset; with a replaced root, the preset of what /proc/cpuinfo names.
const struct smalloc_machine *machine_of(const SystemView &system);
// Checks the compilers and linkers on PATH and smalloc's libraries, and whether they fit together.
void check_tools(Checks &checks);
// Checks one program for what would keep superpages from it. Throws Failure if the file cannot be
// read.
void check_program(const std::string &path, Checks &checks);

} // namespace smalloc::cli
