// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// memory_room.h decides how much memory a measurement may touch: what is free, within the limits of
// the process and of every cgroup that it is in. More would not make it wrong, it would get it killed.
#pragma once

#include <cstdint>
#include <string>

namespace smalloc::calibrate {

// 0: unknown. `root`: where /proc and /sys are, for tests.
uint64_t available_bytes(const std::string &root = {});

} // namespace smalloc::calibrate
