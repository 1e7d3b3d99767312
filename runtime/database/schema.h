// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// schema.h defines the tables of the history. A database of another version is refused, since a
// newer one may have other columns, and no released version wrote an older one.
#pragma once

#include "runtime/database/connection.h"

namespace smalloc::database {

inline constexpr int64_t kSchemaVersion = 8;

// Opens a file (created if absent, with its folder, readable by its owner alone), or
// postgresql://... Creates the tables in an empty database. kReadOnly: the database has to exist,
// and stays as it is. Throws DatabaseError, also for a database of another version.
std::unique_ptr<Connection> open_database(const std::string &location, Access access);

} // namespace smalloc::database
