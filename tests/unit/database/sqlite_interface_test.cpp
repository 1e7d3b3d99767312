// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The declarations of sqlite_interface.h are those of sqlite3.h: a function of another type is an
// error of the compiler, a constant of another value one of the test.
#include <gtest/gtest.h>
#include <iterator>
#include <sqlite3.h>

#define CONSTANTS                                                                                  \
  SQLITE_OK, SQLITE_PERM, SQLITE_BUSY, SQLITE_LOCKED, SQLITE_READONLY, SQLITE_IOERR,               \
      SQLITE_CORRUPT, SQLITE_FULL, SQLITE_CANTOPEN, SQLITE_NOTADB, SQLITE_ROW, SQLITE_DONE,        \
      SQLITE_IOERR_SHMSIZE, SQLITE_OPEN_READONLY, SQLITE_OPEN_READWRITE, SQLITE_OPEN_CREATE,       \
      SQLITE_OPEN_FULLMUTEX, SQLITE_OPEN_EXRESCODE, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE,              \
      SQLITE_INTEGER, SQLITE_FLOAT, SQLITE_NULL, SQLITE_UTF8

namespace {
constexpr int kOfHeader[] = {CONSTANTS};
}

#include "runtime/database/sqlite_interface.h"

namespace {

TEST(SqliteInterface, IsThatOfTheHeader) {
  constexpr int kOwn[] = {CONSTANTS};
  for (size_t i = 0; i < std::size(kOwn); i++)
    EXPECT_EQ(kOwn[i], kOfHeader[i]) << "constant " << i;
  EXPECT_GE(sqlite3_libversion_number(), 3037000) << "SQLITE_OPEN_EXRESCODE";
}

} // namespace
