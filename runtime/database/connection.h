// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// connection.h decides what the history asks of a database system, so that SQLite and PostgreSQL are interchangeable
// behind it: statements with parameters $1, $2, ... (each used in order), rows of plain values, transactions, and a
// version number of the schema. Types of columns are those that both know: BIGINT, DOUBLE PRECISION, TEXT.
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

// Of a column whatever the system returned for it; 0 or "" for NULL.
int64_t integer_of(const Value &value);
double real_of(const Value &value);
std::string text_of(const Value &value);
inline bool is_null(const Value &value) { return std::holds_alternative<std::monostate>(value); }

// what() is the reason in words; where: which database.
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
  // Others wait or are waited for until commit or rollback: nothing that is read meanwhile can change.
  virtual void begin_writing() = 0;
  virtual void commit() = 0;
  virtual void rollback() noexcept = 0;
  // 0: empty. Neither is ever called with a transaction of somebody else's open.
  virtual int64_t schema_version() = 0;
  virtual void set_schema_version(int64_t version) = 0;
  // How a column numbers its rows by itself.
  virtual const char *identity_column() const = 0;
  virtual const std::string &where() const = 0;
  // What the tables consist of, sorted, one fact a row. Empty: the system itself answers for them.
  virtual Rows structure() { return {}; }
  // Says that the database cannot be used as it is, and what to do with it.
  virtual DatabaseError damaged() const { return {where(), "it is damaged"}; }
};

// Rolled back unless committed.
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

/// An empty history that nothing is left of; of kReadWrite.
inline constexpr char kNoFile[] = ":memory:";
bool is_postgresql(const std::string &location);

// In sqlite_connection.cpp and postgresql_connection.cpp; the schema may be anything yet.
std::unique_ptr<Connection> open_sqlite(const std::string &file, Access access);
std::unique_ptr<Connection> open_postgresql(const std::string &location);

} // namespace smalloc::database
