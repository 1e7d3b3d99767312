// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// recorded_parent.h tests whether an existing trace at this process's path is of the same run. It
// is if the process that started this one wrote it, or this process before it executed another
// program. For a trace of an earlier run the user gets a note.
#ifndef RUNTIME_COLLECTOR_RECORDED_PARENT_H
#define RUNTIME_COLLECTOR_RECORDED_PARENT_H

namespace smalloc::trace {

/// True if the parent was started with the same SMALLOC_CONF, or if the file at `path` was written
/// since this process began. Also true if the process's beginning is not known.
bool is_of_this_run(const char *path);

} // namespace smalloc::trace
#endif
