// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "smalloc/process/own_sandbox.h"
#include "smalloc/base/keep_errno.h"

#include <linux/seccomp.h>
#include <sys/prctl.h>

namespace smalloc {
namespace {
bool g_starts_without;
} // namespace

void remember_start_filter() {
  KeepErrno keep;
  g_starts_without = prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == SECCOMP_MODE_DISABLED;
}

bool filters_itself() {
  KeepErrno keep;
  return g_starts_without && prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == SECCOMP_MODE_FILTER;
}

} // namespace smalloc
