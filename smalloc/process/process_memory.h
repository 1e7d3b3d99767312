// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// process_memory.h reads how much memory the process has in RAM: /proc/self/statm; and how much there is:
// /proc/meminfo (proc(5)).
#ifndef SMALLOC_PROCESS_PROCESS_MEMORY_H
#define SMALLOC_PROCESS_PROCESS_MEMORY_H

#include "smalloc/os/os_hooks.h"

namespace smalloc {

struct ProcessMemory {
  uint64_t resident_bytes;  ///< all pages in RAM
  uint64_t anonymous_bytes; ///< those of them that no file backs
};
/// All zero if the kernel does not tell. Cost: three system calls, about 3 us.
ProcessMemory process_memory(const OsHooks &os);

/// RAM of the system in bytes, read once. From a file, as other facts are: sysconf() would be one more
/// system call (sysinfo) for a sandbox to allow; it is asked where there is no /proc.
uint64_t system_memory_bytes();

} // namespace smalloc
#endif
