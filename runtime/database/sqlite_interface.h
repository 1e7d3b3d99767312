// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// sqlite_interface.h declares the functions and constants of SQLite 3 that sqlite_connection.cpp
// uses, so that a build needs SQLite's library but not its development package. SQLite keeps this
// binary interface for all versions 3 (sqlite.org/capi3ref.html). A unit test compares the file
// with sqlite3.h.
#pragma once

#define SQLITE_OK 0
#define SQLITE_PERM 3
#define SQLITE_BUSY 5
#define SQLITE_LOCKED 6
#define SQLITE_READONLY 8
#define SQLITE_IOERR 10
#define SQLITE_CORRUPT 11
#define SQLITE_FULL 13
#define SQLITE_CANTOPEN 14
#define SQLITE_NOTADB 26
#define SQLITE_ROW 100
#define SQLITE_DONE 101
// clang-format off: the words of sqlite3.h, since another definition is an error there
#define SQLITE_IOERR_SHMSIZE (SQLITE_IOERR | (19<<8))
#define SQLITE_TRANSIENT ((sqlite3_destructor_type)-1)
// clang-format on

#define SQLITE_OPEN_READONLY 0x00000001
#define SQLITE_OPEN_READWRITE 0x00000002
#define SQLITE_OPEN_CREATE 0x00000004
#define SQLITE_OPEN_FULLMUTEX 0x00010000
#define SQLITE_OPEN_EXRESCODE 0x02000000
#define SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE 1006

#define SQLITE_INTEGER 1
#define SQLITE_FLOAT 2
#define SQLITE_NULL 5
#define SQLITE_UTF8 1

extern "C" {
struct sqlite3;
struct sqlite3_stmt;
typedef void (*sqlite3_destructor_type)(void *);

int sqlite3_open_v2(const char *file, sqlite3 **opened, int flags, const char *vfs);
int sqlite3_close(sqlite3 *);
int sqlite3_busy_timeout(sqlite3 *, int ms);
int sqlite3_db_config(sqlite3 *, int operation, ...);
int sqlite3_db_readonly(sqlite3 *, const char *name);
int sqlite3_exec(sqlite3 *, const char *statement, int (*callback)(void *, int, char **, char **),
                 void *argument, char **error);
int sqlite3_errcode(sqlite3 *);
int sqlite3_extended_errcode(sqlite3 *);
const char *sqlite3_errmsg(sqlite3 *);
const char *sqlite3_errstr(int);
int sqlite3_sleep(int ms);

int sqlite3_prepare_v2(sqlite3 *, const char *statement, int bytes, sqlite3_stmt **prepared,
                       const char **rest);
int sqlite3_step(sqlite3_stmt *);
int sqlite3_finalize(sqlite3_stmt *);
int sqlite3_bind_int64(sqlite3_stmt *, int index, long long);
int sqlite3_bind_double(sqlite3_stmt *, int index, double);
int sqlite3_bind_null(sqlite3_stmt *, int index);
int sqlite3_bind_text64(sqlite3_stmt *, int index, const char *text, unsigned long long bytes,
                        void (*release)(void *), unsigned char encoding);
int sqlite3_column_count(sqlite3_stmt *);
int sqlite3_column_type(sqlite3_stmt *, int column);
long long sqlite3_column_int64(sqlite3_stmt *, int column);
double sqlite3_column_double(sqlite3_stmt *, int column);
const unsigned char *sqlite3_column_text(sqlite3_stmt *, int column);
int sqlite3_column_bytes(sqlite3_stmt *, int column);
}
