// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// data_limit.cpp protects the whole pages inside jemalloc's static table: without write access the
// kernel does not count them. Data beside the table in its first and last page stays usable.
#include "smalloc/pages/data_limit.h"
#include "smalloc/base/keep_errno.h"
#include "smalloc/base/units.h"
#include "smalloc/jemalloc/private_jemalloc.h"

#include <sys/mman.h>
#include <sys/resource.h>

namespace smalloc {
namespace {
// Size of arena_emap_global in the archive at hand (a radix tree's root, of 2^18 entries on
// x86-64).
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
