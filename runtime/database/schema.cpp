// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// schema.cpp defines the columns. Site ids are 16 hex digits as everywhere (BIGINT has a sign);
// times are CLOCK_REALTIME in ns; NULL is unknown.
#include "runtime/database/schema.h"

#include <algorithm>

namespace smalloc::database {
namespace {

const char *const kStatements[] = {
    "CREATE TABLE programs (build_id TEXT PRIMARY KEY, path TEXT NOT NULL,"
    " first_seen_ns BIGINT NOT NULL, last_seen_ns BIGINT NOT NULL)",
    // PostgreSQL refuses keys of more than 2,700 bytes, and a path may be longer.
    "CREATE INDEX programs_of_path ON programs (substr(path, 1, 200))",
    "CREATE TABLE machines (host TEXT PRIMARY KEY, profile TEXT NOT NULL, cpu TEXT NOT NULL,"
    " processors BIGINT NOT NULL, memory_bytes BIGINT NOT NULL, last_seen_ns BIGINT NOT NULL)",
    // One execution of a program. kind: recorded, base, superpages. From machine on: the agent's
    // policy, and what a PMU and the first touches have shown.
    "CREATE TABLE runs (id @ID, program TEXT NOT NULL REFERENCES programs(build_id),"
    " host TEXT NOT NULL, pid BIGINT NOT NULL, started_ns BIGINT NOT NULL, kind TEXT NOT NULL,"
    " input TEXT NOT NULL, seconds DOUBLE PRECISION, user_seconds DOUBLE PRECISION,"
    " system_seconds DOUBLE PRECISION, peak_bytes BIGINT, minor_faults BIGINT, major_faults BIGINT,"
    " machine TEXT, policy TEXT, bar_percent DOUBLE PRECISION, superpages_supply BIGINT,"
    " superpages_peak BIGINT, superpages_at_first_touch BIGINT, promotions BIGINT,"
    " migrations BIGINT, live_bytes_peak BIGINT, tlb_misses BIGINT, superpages_touched BIGINT,"
    " touch_seconds DOUBLE PRECISION, UNIQUE (program, host, pid, started_ns))",
    "CREATE INDEX runs_of_program ON runs (program, started_ns)",
    // Result of one directive in one run.
    "CREATE TABLE validations (run BIGINT NOT NULL REFERENCES runs(id), site TEXT NOT NULL,"
    " context TEXT NOT NULL, taken BIGINT NOT NULL, superpages_predicted BIGINT NOT NULL,"
    " superpages_peak BIGINT NOT NULL, live_bytes_peak BIGINT NOT NULL, verdict TEXT NOT NULL,"
    " PRIMARY KEY (run, site, context))",
    // Runs that were pruned, but are in the directives' counts.
    "CREATE TABLE forgotten_runs (program TEXT NOT NULL, host TEXT NOT NULL, pid BIGINT NOT NULL,"
    " started_ns BIGINT NOT NULL, PRIMARY KEY (program, host, pid, started_ns))",
    // saved_seconds: predicted saving of a run by what directives reach, by calibration alone. The
    // misses, faults and touches are those predicted for a run: all on base pages, and with what
    // directives reach.
    "CREATE TABLE analyses (id @ID, program TEXT NOT NULL REFERENCES programs(build_id),"
    " created_ns BIGINT NOT NULL, machine TEXT NOT NULL, input TEXT NOT NULL,"
    " traces BIGINT NOT NULL, accesses DOUBLE PRECISION NOT NULL,"
    " seconds DOUBLE PRECISION NOT NULL, significant BIGINT NOT NULL,"
    " cycles_base DOUBLE PRECISION NOT NULL, saved_all DOUBLE PRECISION NOT NULL,"
    " saved_joint DOUBLE PRECISION NOT NULL, superpages_chosen BIGINT NOT NULL,"
    " saved_seconds DOUBLE PRECISION, tlb_misses_base DOUBLE PRECISION,"
    " tlb_misses_directed DOUBLE PRECISION, page_faults_base DOUBLE PRECISION,"
    " page_faults_directed DOUBLE PRECISION, touch_seconds DOUBLE PRECISION)",
    "CREATE INDEX analyses_of_program ON analyses (program, created_ns)",
    "CREATE TABLE rankings (analysis BIGINT NOT NULL REFERENCES analyses(id), rank BIGINT NOT NULL,"
    " kind TEXT NOT NULL, category TEXT NOT NULL, function TEXT NOT NULL, file TEXT NOT NULL,"
    " line BIGINT NOT NULL, superpages BIGINT NOT NULL, footprint_bytes BIGINT NOT NULL,"
    " saved_cycles DOUBLE PRECISION NOT NULL, saved_low DOUBLE PRECISION NOT NULL,"
    " saved_high DOUBLE PRECISION NOT NULL, pmb_percent DOUBLE PRECISION NOT NULL,"
    " chosen BIGINT NOT NULL, PRIMARY KEY (analysis, rank))",
    // Current directives, one row a site; context is empty or 16 hex digits. held: of the validated
    // runs, those in which the directive held.
    "CREATE TABLE directives (program TEXT NOT NULL REFERENCES programs(build_id),"
    " site TEXT NOT NULL, context TEXT NOT NULL, page_shift BIGINT NOT NULL,"
    " rank BIGINT NOT NULL, superpages BIGINT NOT NULL, pmb_percent DOUBLE PRECISION NOT NULL,"
    " numa TEXT NOT NULL, comment TEXT NOT NULL, validated BIGINT NOT NULL DEFAULT 0,"
    " held BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (program, site, context))",
    // The words of a directives file's first line.
    "CREATE TABLE directive_headers (program TEXT NOT NULL REFERENCES programs(build_id),"
    " name TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (program, name))",
};

void create_tables(Connection &connection) {
  for (std::string statement : kStatements) {
    if (const size_t at = statement.find("@ID"); at != std::string::npos)
      statement.replace(at, 3, connection.identity_column());
    connection.query(statement);
  }
  connection.set_schema_version(kSchemaVersion);
}

// Refuses a database of the current version that lacks something that a new one has. It may have
// more: a user's index, the statistics of ANALYZE.
void refuse_other_tables(Connection &connection) {
  const Rows found = connection.structure();
  if (found.empty())
    return;
  const auto fresh = open_sqlite(kNoFile, Access::kReadWrite);
  create_tables(*fresh);
  const Rows needed = fresh->structure();
  if (!std::includes(found.begin(), found.end(), needed.begin(), needed.end()))
    throw connection.damaged();
}

} // namespace

std::unique_ptr<Connection> open_database(const std::string &location, Access access) {
  auto connection =
      is_postgresql(location) ? open_postgresql(location) : open_sqlite(location, access);
  // True if the database is of this version, false if it is empty.
  const auto has_tables = [&] {
    const int64_t version = connection->schema_version();
    if (version != 0 && version != kSchemaVersion)
      throw DatabaseError(connection->where(),
                          "it has version " + std::to_string(version) +
                              ", and this command knows only version " +
                              std::to_string(kSchemaVersion),
                          "use the smalloc that wrote it, or another database with --db FILE");
    return version != 0;
  };
  if (!has_tables()) {
    if (access == Access::kReadOnly)
      throw DatabaseError(connection->where(), "there is no history in it",
                          "smalloc analyze TRACE");
    Transaction transaction(*connection);
    if (!has_tables()) // another command may have been faster
      create_tables(*connection);
    transaction.commit();
  }
  refuse_other_tables(*connection);
  return connection;
}

} // namespace smalloc::database
