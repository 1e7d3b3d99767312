// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// region_table.h holds the table in which the loops of an instrumented program look up whether a
// region may be kept (smalloc/access.h, smalloc_gate::regions). It has one byte for each 2 MiB
// region of the address space, 64 MiB in all. A byte is filled in when a program first looks it up.
// A page of the table covers 8 GiB and gets memory when one of its bytes is filled in. A program
// with a limit of addresses (RLIMIT_AS below 4 GiB) has no table.
#pragma once

#include <stdint.h>

namespace smalloc::trace {

// Returns the table's first byte, or null if the system or a limit leaves no room for it. The first
// call maps it. One thread at a time.
uint8_t *region_table();

// Sets every byte to unknown, because the threshold has changed.
void forget_regions();

// Fills in the byte at which a program looked. A region is kept if its hash (SMALLOC_REGION_HASH)
// is below the threshold. Another thread may change the threshold meanwhile; it then calls
// forget_regions().
void find_out_region(const uint8_t *entry, uint64_t (*threshold)());

} // namespace smalloc::trace
