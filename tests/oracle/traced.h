/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * traced.h: allocations of a traced program come from the tracer, which has the line of each. */
#ifndef TRACED_H
#define TRACED_H

#include <stdlib.h>

void *oracle_allocate(size_t bytes, int line);
void oracle_prefetch(const void *address);
#define malloc(bytes) oracle_allocate(bytes, __LINE__)
#define PREFETCH(address) oracle_prefetch(address)

#endif
