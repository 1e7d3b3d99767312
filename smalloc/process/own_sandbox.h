// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// own_sandbox.h decides whether the program has put itself behind a seccomp filter since it started. Such
// a filter may kill at any system call that the program itself does not make, so what we can do without
// is left out then: the page for `smalloc stats`, and the helper thread. A filter that was there at the
// start is a container's, which answers with an error.
#ifndef SMALLOC_PROCESS_OWN_SANDBOX_H
#define SMALLOC_PROCESS_OWN_SANDBOX_H

namespace smalloc {

/// For a constructor. Without this no filter is the program's own.
void remember_start_filter();
bool filters_itself(); ///< a system call, prctl

} // namespace smalloc
#endif
