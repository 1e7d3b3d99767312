// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// process_memory.h reads the process' memory in RAM from /proc/self/statm and the system's RAM from
// /proc/meminfo (proc(5)).
#ifndef SMALLOC_PROCESS_PROCESS_MEMORY_H
#define SMALLOC_PROCESS_PROCESS_MEMORY_H

#include "smalloc/os/os_hooks.h"

namespace smalloc {

struct ProcessMemory {
  uint64_t resident_bytes;  ///< all pages in RAM
  uint64_t anonymous_bytes; ///< those of them that no file backs
  uint64_t data_bytes;      ///< private writable memory and stacks, touched or not
};
/// Returns the process' memory; all zero if the kernel does not report it. Cost: four system calls,
/// about 3 us.
ProcessMemory process_memory(const OsHooks &os);

/// Returns the RAM of the system in bytes; reads it once. Reads a file, as for other facts:
/// sysconf() would add a system call (sysinfo) that a sandbox must allow. Without /proc it calls
/// sysconf().
uint64_t system_memory_bytes();

} // namespace smalloc
#endif
