// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// sqlite_connection.cpp keeps the history in one file.
// - The log is a write-ahead one, so that readers do not wait for a writer. A writer waits for
// another one up to kBusyMs, twenty seconds (an import of a month's runs takes about one second).
// - Foreign keys are checked.
// - The file is readable by its owner alone, since it shows what its user runs.
// - The schema's version is SQLite's user_version. smalloc's application_id prevents writing into
// the database of another program.
#include "runtime/database/connection.h"
#include "runtime/database/sqlite_interface.h"
#include "smalloc/include/smalloc/input_file.h"

#include <cerrno>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace smalloc::database {
namespace {

constexpr int kBusyMs = 20000;
constexpr int64_t kApplicationId = 0x736d616c; // "smal"

class SqliteConnection final : public Connection {
public:
  SqliteConnection(std::string file, Access access) : file_(std::move(file)) {
    if (file_ != kNoFile)
      prepare_file(access);
    const int flags = (access == Access::kReadOnly ? SQLITE_OPEN_READONLY
                                                   : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE) |
                      SQLITE_OPEN_FULLMUTEX | SQLITE_OPEN_EXRESCODE;
    sqlite3 *opened = nullptr;
    const int status = sqlite3_open_v2(file_.c_str(), &opened, flags, nullptr);
    database_.reset(opened);
    check(status);
    sqlite3_busy_timeout(opened, kBusyMs);
    // Data of another command in the log stays there until the database is known to be whole.
    std::error_code no_log;
    const bool has_log =
        file_ != kNoFile && std::filesystem::file_size(file_ + "-wal", no_log) > 0 && !no_log;
    sqlite3_db_config(opened, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, int{has_log}, nullptr);
    // The first access to the file's contents, which may be something else. One transaction, since
    // another command may be creating the file.
    query("BEGIN");
    const int64_t application = integer_of(query("PRAGMA application_id").at(0).at(0));
    const bool empty = integer_of(query("SELECT count(*) FROM sqlite_master").at(0).at(0)) == 0;
    query("COMMIT");
    if (application != kApplicationId && !(application == 0 && empty))
      throw DatabaseError(file_, "it is the database of another program", "--db FILE");
    // Damage shows only in what is read: everything is read before anything is written.
    if (text_of(query("PRAGMA integrity_check(1)").at(0).at(0)) != "ok")
      throw damaged();
    sqlite3_db_config(opened, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, nullptr);
    if (access == Access::kReadWrite) {
      if (sqlite3_db_readonly(opened, "main"))
        throw read_only();
      query("PRAGMA synchronous = FULL"); // a report is removed once its run is stored
    }
    query("PRAGMA foreign_keys = ON");
  }

  Rows query(const std::string &statement, const std::vector<Value> &parameters) override {
    sqlite3_stmt *raw = nullptr;
    check(sqlite3_prepare_v2(database_.get(), numbered(statement).c_str(), -1, &raw, nullptr));
    const std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt *)> prepared(raw, sqlite3_finalize);
    for (size_t i = 0; i < parameters.size(); i++)
      bind(raw, static_cast<int>(i + 1), parameters[i]);
    Rows rows;
    int status;
    while ((status = sqlite3_step(raw)) == SQLITE_ROW) {
      Row row;
      for (int i = 0; i < sqlite3_column_count(raw); i++)
        row.push_back(column(raw, i));
      rows.push_back(std::move(row));
    }
    if (status != SQLITE_DONE)
      check(status);
    return rows;
  }
  Rows query(const std::string &statement) { return query(statement, {}); }

  void begin_writing() override {
    if (!write_ahead_) // not at opening: it may be of another version
      write_ahead();
    write_ahead_ = true;
    query("BEGIN IMMEDIATE");
  }
  void commit() override { query("COMMIT"); }
  void rollback() noexcept override {
    sqlite3_exec(database_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
  }
  int64_t schema_version() override { return integer_of(query("PRAGMA user_version").at(0).at(0)); }
  void set_schema_version(int64_t version) override {
    query("PRAGMA user_version = " + std::to_string(version));
    query("PRAGMA application_id = " + std::to_string(kApplicationId));
  }
  const char *identity_column() const override { return "INTEGER PRIMARY KEY"; }
  const std::string &where() const override { return file_; }
  // Returns the tables' definitions. integrity_check trusts them, though they are text in the file
  // like any other.
  Rows structure() override {
    return query(
        "SELECT 'column', t.name AS owner, c.name AS name, c.type, c.\"notnull\", c.pk"
        " FROM sqlite_master t, pragma_table_info(t.name) c WHERE t.type = 'table'"
        " UNION ALL SELECT 'reference', t.name, f.\"table\", f.\"from\", f.\"to\", 0"
        " FROM sqlite_master t, pragma_foreign_key_list(t.name) f WHERE t.type = 'table'"
        " UNION ALL SELECT 'index', t.name,"
        " (SELECT group_concat(name) FROM pragma_index_info(i.name)), i.origin, i.\"unique\", 0"
        " FROM sqlite_master t, pragma_index_list(t.name) i WHERE t.type = 'table'"
        " ORDER BY 1, 2, 3, 4, 5, 6");
  }
  DatabaseError damaged() const override {
    if (!begins_as_database())
      return {file_, "it is damaged, or no database", "another file with --db FILE"};
    return {file_, "it is damaged",
            "mv " + file_ + " " + file_ + ".damaged; sqlite3 can .recover what is left in it"};
  }

private:
  // Returns the statement with its parameters as numbers, ?1, ?2, ... To SQLite $1 is a name, which
  // it searches among all names.
  static std::string numbered(std::string statement) {
    for (size_t at = 0; at + 1 < statement.size(); at++)
      if (statement[at] == '$' && statement[at + 1] >= '0' && statement[at + 1] <= '9')
        statement[at] = '?';
    return statement;
  }

  // Switches a new file to the log. The switch does not wait for other commands that make it, so it
  // is repeated.
  void write_ahead() {
    if (file_ == kNoFile)
      return;
    for (int waited_ms = 0;; waited_ms += 10) {
      try {
        if (text_of(query("PRAGMA journal_mode").at(0).at(0)) == "wal" ||
            text_of(query("PRAGMA journal_mode = WAL").at(0).at(0)) == "wal")
          return;
      } catch (const DatabaseError &) {
        if (waited_ms >= kBusyMs || sqlite3_errcode(database_.get()) != SQLITE_BUSY)
          throw;
      }
      if (waited_ms >= kBusyMs)
        return; // a file system without shared memory: the rollback journal serves
      sqlite3_sleep(10);
    }
  }

  // Makes or checks the file, because SQLite's own messages do not give the reason why it cannot be
  // opened.
  void prepare_file(Access access) {
    namespace fs = std::filesystem;
    const fs::path folder = fs::path(file_).parent_path();
    std::error_code error; // an unreadable folder above is reported by what follows
    if (access == Access::kReadWrite && !folder.empty() && !fs::exists(folder, error)) {
      const mode_t mask = umask(077);
      fs::create_directories(folder, error);
      umask(mask);
      if (error)
        throw DatabaseError(file_, "its folder cannot be made: " + error.message(), "--db FILE");
    }
    const int flags = access == Access::kReadOnly ? O_RDONLY : O_RDWR | O_CREAT;
    const int fd = open(file_.c_str(), flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0600);
    if (fd < 0) {
      if (errno == EROFS || errno == EACCES || errno == EPERM)
        throw access == Access::kReadWrite && ::access(file_.c_str(), R_OK) == 0
            ? read_only()
            : DatabaseError(file_, "permission denied", "--db FILE");
      struct stat there;
      const char *no_file = (errno == EISDIR || errno == ENXIO) && stat(file_.c_str(), &there) == 0
                                ? smalloc_not_a_file(there.st_mode)
                                : nullptr;
      if (no_file)
        throw DatabaseError(file_, no_file, "--db FILE");
      if (access == Access::kReadWrite) // also ENOENT, if nothing can be created
        throw DatabaseError(file_, std::string("it cannot be made: ") + std::strerror(errno),
                            "another place with --db FILE");
      throw DatabaseError(file_, errno == ENOENT ? "there is no such file" : std::strerror(errno),
                          errno == ENOENT ? "smalloc analyze TRACE" : "--db FILE");
    }
    struct stat info;
    const char *no_file =
        fstat(fd, &info) == 0 ? smalloc_not_a_file(info.st_mode) : "it cannot be read";
    close(fd);
    if (no_file)
      throw DatabaseError(file_, no_file, "--db FILE");
    if (info.st_size == 1) // SQLite takes it for an empty file, and would overwrite it
      throw damaged();
  }

  // True if the file begins as a database. Another file is likely to be something that the user
  // needs.
  bool begins_as_database() const {
    constexpr char kMagic[] = "SQLite format 3"; // with its 0
    char start[sizeof kMagic] = "";
    const int fd = open(file_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    const bool same = fd >= 0 && read(fd, start, sizeof start) == ssize_t{sizeof start} &&
                      std::memcmp(start, kMagic, sizeof start) == 0;
    if (fd >= 0)
      close(fd);
    return same;
  }

  DatabaseError read_only() const {
    return {file_, "it may only be read",
            "chmod u+w " + file_ + ", or another database with --db FILE"};
  }

  void check(int status) const {
    if ((status & 0xff) == SQLITE_IOERR &&
        database_ && // the index of the log, beside it, could not grow
        sqlite3_extended_errcode(database_.get()) == SQLITE_IOERR_SHMSIZE)
      status = SQLITE_FULL;
    switch (status & 0xff) {
    case SQLITE_OK:
      return;
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
      throw damaged();
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      throw DatabaseError(file_, "another process has been writing to it for 20 s",
                          "the same command again");
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_CANTOPEN:
      throw read_only();
    case SQLITE_FULL:
      throw DatabaseError(file_, "the disk is full; nothing was changed", "df " + file_);
    default:
      throw DatabaseError(file_,
                          database_ ? sqlite3_errmsg(database_.get()) : sqlite3_errstr(status),
                          "ls -l " + file_ + ", or another database with --db FILE");
    }
  }

  void bind(sqlite3_stmt *statement, int index, const Value &value) const {
    if (const auto *integer = std::get_if<int64_t>(&value))
      check(sqlite3_bind_int64(statement, index, *integer));
    else if (const auto *real = std::get_if<double>(&value))
      check(sqlite3_bind_double(statement, index, *real));
    else if (const auto *text = std::get_if<std::string>(&value))
      check(sqlite3_bind_text64(statement, index, text->data(), text->size(), SQLITE_TRANSIENT,
                                SQLITE_UTF8));
    else
      check(sqlite3_bind_null(statement, index));
  }

  static Value column(sqlite3_stmt *statement, int i) {
    switch (sqlite3_column_type(statement, i)) {
    case SQLITE_INTEGER:
      return int64_t{sqlite3_column_int64(statement, i)};
    case SQLITE_FLOAT:
      return sqlite3_column_double(statement, i);
    case SQLITE_NULL:
      return std::monostate();
    default: { // text
      const auto *text = reinterpret_cast<const char *>(sqlite3_column_text(statement, i));
      return std::string(text ? text : "", static_cast<size_t>(sqlite3_column_bytes(statement, i)));
    }
    }
  }

  std::string file_;
  bool write_ahead_ = false;
  struct Close {
    void operator()(sqlite3 *database) const { sqlite3_close(database); }
  };
  std::unique_ptr<sqlite3, Close> database_;
};

} // namespace

std::unique_ptr<Connection> open_sqlite(const std::string &file, Access access) {
  return std::make_unique<SqliteConnection>(file, access);
}

} // namespace smalloc::database
