// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// memory_room.h computes how much memory a measurement may touch: the free memory, within the
// limits of the process and of each of its cgroups. Above a limit the kernel would kill the
// process.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace smalloc::calibrate {

// Returns the bytes that may be touched; 0: unknown. `root`: the folder that holds /proc and /sys,
// for tests.
uint64_t available_bytes(const std::string &root = {});

// Returns the number in a one-number file. If the file is absent or says "max", returns
// `otherwise`.
uint64_t number_in(const std::string &path, uint64_t otherwise);

// Returns the folder of the process's cgroup, "/sys/fs/cgroup/memory/a/b", and those of its
// ancestors up to the mounted top. In a container only the host may have them, and the top is the
// cgroup of the process. `membership`: the text of /proc/self/cgroup. `controller`: one
// of version 1; empty: version 2. Empty if the process is in no such cgroup.
std::vector<std::string> cgroup_folders(std::string_view membership, std::string_view controller);

} // namespace smalloc::calibrate
