// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// connection.h is the interface between the history and a database system, so that SQLite and
// PostgreSQL are interchangeable. It has statements with parameters $1, $2, ... (each used in
// order), rows of plain values, transactions, and a version number of the schema. Column types are
// those that both systems know: BIGINT, DOUBLE PRECISION, TEXT.
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

namespace smalloc::database {

using Value = std::variant<std::monostate, int64_t, double, std::string>;
using Row = std::vector<Value>;
using Rows = std::vector<Row>;

// Converts a column's value, whatever the system returned for it; NULL becomes 0 or "".
int64_t integer_of(const Value &value);
double real_of(const Value &value);
std::string text_of(const Value &value);
inline bool is_null(const Value &value) { return std::holds_alternative<std::monostate>(value); }

// Error of a database; what() is the reason in words. where: which database. hint: what to do.
class DatabaseError : public std::runtime_error {
public:
  DatabaseError(std::string place, const std::string &why, std::string cure = {})
      : std::runtime_error(why), where(std::move(place)), hint(std::move(cure)) {}
  std::string where, hint;
};

class Connection {
public:
  virtual ~Connection() = default;
  // Runs one statement. Throws DatabaseError.
  virtual Rows query(const std::string &statement, const std::vector<Value> &parameters = {}) = 0;
  // Begins a transaction. Other writers wait, or are waited for, until commit or rollback: what is
  // read meanwhile cannot change.
  virtual void begin_writing() = 0;
  virtual void commit() = 0;
  virtual void rollback() noexcept = 0;
  // Returns the version of the schema; 0: the database is empty. set_schema_version() belongs into
  // the transaction that creates the tables.
  virtual int64_t schema_version() = 0;
  virtual void set_schema_version(int64_t version) = 0;
  // Returns the type of a column that numbers its rows by itself.
  virtual const char *identity_column() const = 0;
  virtual const std::string &where() const = 0;
  // Returns the definitions of the tables, sorted, one fact a row. Empty: the system itself
  // guarantees them.
  virtual Rows structure() { return {}; }
  // Returns the error that the database cannot be used as it is, with what to do about it.
  virtual DatabaseError damaged() const { return {where(), "it is damaged"}; }
};

// Transaction that is rolled back unless committed.
class Transaction {
public:
  explicit Transaction(Connection &connection) : connection_(connection) {
    connection_.begin_writing();
  }
  ~Transaction() {
    if (open_)
      connection_.rollback();
  }
  Transaction(const Transaction &) = delete;
  Transaction &operator=(const Transaction &) = delete;
  void commit() {
    connection_.commit();
    open_ = false;
  }

private:
  Connection &connection_;
  bool open_ = true;
};

enum class Access { kReadWrite, kReadOnly };

/// Location of an empty history in memory, which leaves nothing; for kReadWrite.
inline constexpr char kNoFile[] = ":memory:";
bool is_postgresql(const std::string &location);

// Opens a database, whose schema may be of any version. Defined in sqlite_connection.cpp and
// postgresql_connection.cpp.
std::unique_ptr<Connection> open_sqlite(const std::string &file, Access access);
std::unique_ptr<Connection> open_postgresql(const std::string &location);

} // namespace smalloc::database
