// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// trace_gaps.h explains what the traces of an analysis lack, and with which command to get it.
#pragma once

#include "runtime/profile/profile.h"

#include <string>

namespace smalloc::cli {

/// Returns the recorded program, quoted for a shell.
std::string program_of(const Profile &profile);

/// Explains what the traces lack. Throws if a trace holds nothing of use because it was cut.
/// gives_directives: a directives file is written, which cannot carry static data.
void explain_gaps(const Profile &profile, bool gives_directives);

/// Recommends --categories context if copies of a site share a row: a wrapper that allocates
/// everything is one site, and its row may be several arrays.
void point_to_contexts(const Profile &profile);

/// Returns false, with a warning, if the traces are of different programs: the sum of their numbers
/// is meaningless. Builds of one program count as one program.
bool is_one_program(const Profile &profile);

/// Warns if no directive can be given. Sites that were analysed and left unchanged are reported
/// further below.
void warn_of_no_directives(const std::string &file, const Profile &profile);

} // namespace smalloc::cli
