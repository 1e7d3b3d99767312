/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * phase.h: marks the start of a phase for the monitor (monitor.c), by a long no-operation, which
 * has no effect outside the guest. n: a literal, 0 to 255; 0 switches counting off. */
#ifndef SMALLOC_TESTS_NUMA_VM_PHASE_H
#define SMALLOC_TESTS_NUMA_VM_PHASE_H
#define MONITOR_PHASE(n)                                                                           \
  __asm__ volatile(".byte 0x0f,0x1f,0x80; .long %c0" ::"i"(0x534d4100 | (n)) : "memory")
#endif
