// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// region_table.h decides where an instrumented program's loops look up whether a region may be kept (smalloc/access.h,
// smalloc_gate::regions): a byte for each region of the address space, 64 MiB of which the pages that are looked at get
// memory, one for each 8 GiB. A byte is found out when it is first looked at. A program with a limit of addresses
// (RLIMIT_AS, below 4 GiB) has no table.
#pragma once

#include <stdint.h>

namespace smalloc::trace {

// The first byte; null if the system or a limit has no such room. Mapped at the first call; one thread at a time.
uint8_t *region_table();

// What is kept has changed: every byte is to be found out again.
void forget_regions();

// Fills in the byte at which a program looked. A region is kept if its hash (SMALLOC_REGION_HASH) is below the threshold; another
// thread may change that meanwhile, and then calls forget_regions().
void find_out_region(const uint8_t *entry, uint64_t (*threshold)());

} // namespace smalloc::trace
