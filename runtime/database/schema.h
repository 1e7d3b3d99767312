// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// schema.h defines the tables of the history, and upgrades a database of an earlier version. It
// goes step by step, each step in one transaction, so that a database is always of exactly one
// version. Steps are only ever added.
#pragma once

#include "runtime/database/connection.h"

namespace smalloc::database {

inline constexpr int64_t kSchemaVersion = 7;

// Returns the statements that lead from version - 1 to version; @ID stands for the system's
// identity column.
std::vector<std::string> statements_of_step(int64_t version);

// Upgrades the database. Throws DatabaseError for a database of a later version, and for an earlier
// one that may not be written to.
void bring_up_to_date(Connection &connection, Access access);

// Opens a file (created if absent, with its folder, readable by its owner alone), or
// postgresql://... Afterwards the schema is of the current version. kReadOnly: the database has to
// exist, and stays as it is. Throws DatabaseError.
std::unique_ptr<Connection> open_database(const std::string &location, Access access);

} // namespace smalloc::database
