// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// postgresql_connection.cpp keeps one history for many users of a site: the same tables in the
// server's schema "smalloc", with writers one after the other by an advisory lock. libpq is loaded
// only if a location needs it. Otherwise the command needs neither it nor the twenty libraries
// behind it.
#include "runtime/database/connection.h"

#include <cctype>

#ifdef SMALLOC_HAS_LIBPQ
#include <dlfcn.h>
#include <libpq-fe.h>
#endif

namespace smalloc::database {

#ifdef SMALLOC_HAS_LIBPQ
namespace {

// Numbers of pg_type; they never change.
constexpr Oid kBool = 16, kInt8 = 20, kInt2 = 21, kInt4 = 23, kFloat4 = 700, kFloat8 = 701,
              kNumeric = 1700;
constexpr char kWriterLock[] = "7811870"; // any number that no other program uses

struct Library {
  decltype(&PQconnectdb) connect = nullptr;
  decltype(&PQfinish) finish = nullptr;
  decltype(&PQstatus) status = nullptr;
  decltype(&PQerrorMessage) error_message = nullptr;
  decltype(&PQexecParams) execute = nullptr;
  decltype(&PQresultStatus) result_status = nullptr;
  decltype(&PQclear) clear = nullptr;
  decltype(&PQntuples) rows = nullptr;
  decltype(&PQnfields) columns = nullptr;
  decltype(&PQftype) type = nullptr;
  decltype(&PQgetisnull) is_null = nullptr;
  decltype(&PQgetvalue) value = nullptr;
  decltype(&PQgetlength) length = nullptr;
};

template <class Function> bool find(void *handle, const char *name, Function &function) {
  function = reinterpret_cast<Function>(dlsym(handle, name));
  return function != nullptr;
}

// Returns the functions of libpq; nullptr: it cannot be loaded.
const Library *library() {
  static const Library *const loaded = []() -> const Library * {
    void *handle = dlopen("libpq.so.5", RTLD_NOW | RTLD_LOCAL);
    static Library l;
    const bool all =
        handle && find(handle, "PQconnectdb", l.connect) && find(handle, "PQfinish", l.finish) &&
        find(handle, "PQstatus", l.status) && find(handle, "PQerrorMessage", l.error_message) &&
        find(handle, "PQexecParams", l.execute) &&
        find(handle, "PQresultStatus", l.result_status) && find(handle, "PQclear", l.clear) &&
        find(handle, "PQntuples", l.rows) && find(handle, "PQnfields", l.columns) &&
        find(handle, "PQftype", l.type) && find(handle, "PQgetisnull", l.is_null) &&
        find(handle, "PQgetvalue", l.value) && find(handle, "PQgetlength", l.length);
    return all ? &l : nullptr;
  }();
  return loaded;
}

// Returns the location for messages: without its password.
std::string shown(const std::string &location) {
  const size_t from = location.find("://") + 3, at = location.find('@', from);
  const size_t colon = location.find(':', from);
  std::string text = location;
  if (at != std::string::npos && colon < at)
    text.replace(colon + 1, at - colon - 1, "...");
  if (const size_t word = text.find("password="); word != std::string::npos)
    text.replace(word + 9, std::min(text.find('&', word), text.size()) - word - 9, "...");
  return text;
}

std::string one_line(const char *message) {
  std::string text = message ? message : "";
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())))
    text.pop_back();
  for (char &c : text)
    if (c == '\n' || c == '\t')
      c = ' ';
  return text;
}

class PostgresqlConnection final : public Connection {
public:
  PostgresqlConnection(const Library &l, const std::string &location)
      : l_(l), where_(shown(location)), connection_(l.connect(location.c_str()), l.finish) {
    if (!connection_ || l_.status(connection_.get()) != CONNECTION_OK)
      throw DatabaseError(where_,
                          connection_ ? one_line(l_.error_message(connection_.get())) : "no memory",
                          "psql " + where_);
    // One statement: on a busy server each way there and back waits for a processor twice.
    has_schema_ = integer_of(query("SELECT to_regnamespace('smalloc') IS NOT NULL, "
                                   "set_config('client_min_messages', 'warning', false), "
                                   "set_config('search_path', 'smalloc', false)")
                                 .at(0)
                                 .at(0)) != 0;
  }
  bool has_schema() const { return has_schema_; }

  Rows query(const std::string &statement, const std::vector<Value> &parameters) override {
    std::vector<std::string> texts;
    std::vector<const char *> values;
    texts.reserve(parameters.size());
    for (const Value &parameter : parameters) {
      if (const auto *real = std::get_if<double>(&parameter)) {
        char digits[40];
        std::snprintf(digits, sizeof digits, "%.17g", *real);
        texts.emplace_back(digits);
      } else {
        // A zero byte would end the value; PostgreSQL's text has none.
        texts.push_back(text_of(parameter));
        if (const size_t zero = texts.back().find('\0'); zero != std::string::npos)
          texts.back().resize(zero);
      }
      values.push_back(is_null(parameter) ? nullptr : texts.back().c_str());
    }
    const std::unique_ptr<PGresult, void (*)(PGresult *)> result(
        l_.execute(connection_.get(), statement.c_str(), static_cast<int>(values.size()), nullptr,
                   values.data(), nullptr, nullptr, 0),
        l_.clear);
    const ExecStatusType status = result ? l_.result_status(result.get()) : PGRES_FATAL_ERROR;
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
      throw DatabaseError(where_, one_line(l_.error_message(connection_.get())), "psql " + where_);
    Rows rows;
    for (int r = 0; r < l_.rows(result.get()); r++) {
      Row row;
      for (int c = 0; c < l_.columns(result.get()); c++)
        row.push_back(column(*result, r, c));
      rows.push_back(std::move(row));
    }
    return rows;
  }
  Rows query(const std::string &statement) { return query(statement, {}); }

  void begin_writing() override {
    query("BEGIN");
    query(std::string("SELECT pg_advisory_xact_lock(") + kWriterLock + ")");
  }
  void commit() override { query("COMMIT"); }
  void rollback() noexcept override {
    try {
      query("ROLLBACK");
    } catch (const DatabaseError &) { // the connection is gone, and the transaction with it
    }
  }
  int64_t schema_version() override {
    if (is_null(query("SELECT to_regclass('smalloc.schema_version')::text").at(0).at(0)))
      return 0;
    const Rows rows = query("SELECT version FROM schema_version");
    return rows.empty() ? 0 : integer_of(rows[0][0]);
  }
  void set_schema_version(int64_t version) override {
    query("CREATE TABLE IF NOT EXISTS schema_version (version BIGINT NOT NULL)");
    query("DELETE FROM schema_version");
    query("INSERT INTO schema_version VALUES ($1)", {version});
  }
  const char *identity_column() const override {
    return "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY";
  }
  const std::string &where() const override { return where_; }

private:
  Value column(PGresult &result, int row, int i) const {
    if (l_.is_null(&result, row, i))
      return std::monostate();
    const std::string text(l_.value(&result, row, i),
                           static_cast<size_t>(l_.length(&result, row, i)));
    switch (l_.type(&result, i)) {
    case kBool:
      return int64_t{text == "t"};
    case kInt8:
    case kInt4:
    case kInt2:
      return integer_of(text);
    case kFloat8:
    case kFloat4:
    case kNumeric:
      return real_of(text);
    default:
      return text;
    }
  }

  const Library &l_;
  std::string where_;
  bool has_schema_ = false;
  std::unique_ptr<PGconn, void (*)(PGconn *)> connection_;
};

} // namespace

std::unique_ptr<Connection> open_postgresql(const std::string &location) {
  const Library *l = library();
  if (!l)
    throw DatabaseError(shown(location), "libpq.so.5 cannot be loaded", "apt-get install libpq5");
  auto connection = std::make_unique<PostgresqlConnection>(*l, location);
  if (!connection->has_schema()) {
    // Without a transaction, one of two commands that create the schema at a time would fail.
    Transaction transaction(*connection);
    connection->query("CREATE SCHEMA IF NOT EXISTS smalloc");
    transaction.commit();
  }
  return connection;
}

#else

std::unique_ptr<Connection> open_postgresql(const std::string &location) {
  throw DatabaseError(location, "this command was built without libpq",
                      "apt-get install libpq-dev, then build smalloc again");
}

#endif

} // namespace smalloc::database
