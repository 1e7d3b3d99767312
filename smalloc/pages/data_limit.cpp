// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// data_limit.cpp decides which whole pages of jemalloc's table are set aside, and how: without a right
// to them they do not count. What lies in the table's first and last page beside it stays usable.
#include "smalloc/pages/data_limit.h"
#include "smalloc/base/keep_errno.h"
#include "smalloc/base/units.h"
#include "smalloc/jemalloc/private_jemalloc.h"

#include <sys/mman.h>
#include <sys/resource.h>

namespace smalloc {
namespace {
// arena_emap_global: how large the archive at hand has it (a radix tree's root, of 2^18 entries on x86-64).
constexpr size_t kTableBytes = SMALLOC_JEMALLOC_TABLE_BYTES;
bool g_set_aside;

bool protect(int rights) {
  const uintptr_t start = reinterpret_cast<uintptr_t>(jepriv_arena_emap_global),
                  first = align_up(start, kBasePageBytes),
                  end = align_down(start + kTableBytes, kBasePageBytes);
  return first < end && mprotect(reinterpret_cast<void *>(first), end - first, rights) == 0;
}
} // namespace

uint64_t data_limit() {
  KeepErrno keep;
  rlimit limit;
  return getrlimit(RLIMIT_DATA, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY ? limit.rlim_cur
                                                                                : UINT64_MAX;
}

void set_table_aside() {
  KeepErrno keep;
  if (data_limit() != UINT64_MAX)
    g_set_aside = protect(PROT_NONE);
}

bool take_table_back() {
  KeepErrno keep;
  return !g_set_aside || protect(PROT_READ | PROT_WRITE);
}

} // namespace smalloc
