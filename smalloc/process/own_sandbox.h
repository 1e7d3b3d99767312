// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// own_sandbox.h detects a seccomp filter that the program has installed since it started. That
// filter may kill the process at any system call that the program itself does not make. libsmalloc
// then omits its optional parts: the page for `smalloc stats`, and the helper thread. A filter that
// existed at the start is a container's, which answers with an error.
#ifndef SMALLOC_PROCESS_OWN_SANDBOX_H
#define SMALLOC_PROCESS_OWN_SANDBOX_H

namespace smalloc {

/// Records whether a filter exists at the start, for a constructor. Without this call
/// filters_itself() is always false.
void remember_start_filter();
/// True if the program has installed a filter since the start. Cost: one system call, prctl.
bool filters_itself();

} // namespace smalloc
#endif
