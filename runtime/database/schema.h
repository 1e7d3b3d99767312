// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// schema.h decides which tables the history has, and how a database of an earlier version becomes one of today's: step by
// step, each step in one transaction, so that a database is always of exactly one version. Steps are only ever added.
#pragma once

#include "runtime/database/connection.h"

namespace smalloc::database {

inline constexpr int64_t kSchemaVersion = 6;

// The statements that lead from version - 1 to version; @ID stands for the system's identity column.
std::vector<std::string> statements_of_step(int64_t version);

// Throws DatabaseError for a database of a later version, and for an earlier one that may not be written to.
void bring_up_to_date(Connection &connection, Access access);

} // namespace smalloc::database
