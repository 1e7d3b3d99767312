// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// recorded_parent.h decides whether a trace that stands where this process wants to write is of an earlier run, which the user
// is to be told, or of this run: of the process that started this one, or of this one before it became another program.
#ifndef RUNTIME_COLLECTOR_RECORDED_PARENT_H
#define RUNTIME_COLLECTOR_RECORDED_PARENT_H

namespace smalloc::trace {

/// Was the parent started with the same SMALLOC_CONF, or the file written since this process began?
bool is_of_this_run(const char *path);

} // namespace smalloc::trace
#endif
