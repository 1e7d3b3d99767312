// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// schema.cpp defines the columns. Site ids are 16 hex digits as everywhere (BIGINT has a sign);
// times are CLOCK_REALTIME in ns; NULL is unknown.
#include "runtime/database/schema.h"

#include <algorithm>

namespace smalloc::database {
namespace {

// Version 1: programs, machines, runs, analyses, directives.
const char *const kStep1[] = {
    "CREATE TABLE programs (build_id TEXT PRIMARY KEY, path TEXT NOT NULL,"
    " first_seen_ns BIGINT NOT NULL, last_seen_ns BIGINT NOT NULL)",
    "CREATE TABLE machines (host TEXT PRIMARY KEY, profile TEXT NOT NULL, cpu TEXT NOT NULL,"
    " processors BIGINT NOT NULL, memory_bytes BIGINT NOT NULL, last_seen_ns BIGINT NOT NULL)",
    // One execution of a program. kind: recorded, base, superpages.
    "CREATE TABLE runs (id @ID, program TEXT NOT NULL REFERENCES programs(build_id),"
    " host TEXT NOT NULL, pid BIGINT NOT NULL, started_ns BIGINT NOT NULL, kind TEXT NOT NULL,"
    " input TEXT NOT NULL, seconds DOUBLE PRECISION, user_seconds DOUBLE PRECISION,"
    " system_seconds DOUBLE PRECISION, peak_bytes BIGINT, minor_faults BIGINT, major_faults BIGINT,"
    " UNIQUE (program, host, pid, started_ns))",
    "CREATE TABLE analyses (id @ID, program TEXT NOT NULL REFERENCES programs(build_id),"
    " created_ns BIGINT NOT NULL, machine TEXT NOT NULL, input TEXT NOT NULL,"
    " traces BIGINT NOT NULL, accesses DOUBLE PRECISION NOT NULL, seconds DOUBLE PRECISION NOT "
    "NULL,"
    " significant BIGINT NOT NULL, cycles_base DOUBLE PRECISION NOT NULL,"
    " saved_all DOUBLE PRECISION NOT NULL, saved_joint DOUBLE PRECISION NOT NULL,"
    " superpages_chosen BIGINT NOT NULL)",
    "CREATE TABLE rankings (analysis BIGINT NOT NULL REFERENCES analyses(id), rank BIGINT NOT NULL,"
    " kind TEXT NOT NULL, category TEXT NOT NULL, function TEXT NOT NULL, file TEXT NOT NULL,"
    " line BIGINT NOT NULL, superpages BIGINT NOT NULL, footprint_bytes BIGINT NOT NULL,"
    " saved_cycles DOUBLE PRECISION NOT NULL, saved_low DOUBLE PRECISION NOT NULL,"
    " saved_high DOUBLE PRECISION NOT NULL, pmb_percent DOUBLE PRECISION NOT NULL,"
    " chosen BIGINT NOT NULL, PRIMARY KEY (analysis, rank))",
    // Current directives, one row a site; context is empty or 16 hex digits.
    "CREATE TABLE directives (program TEXT NOT NULL REFERENCES programs(build_id),"
    " site TEXT NOT NULL, context TEXT NOT NULL, page_shift BIGINT NOT NULL,"
    " rank BIGINT NOT NULL, superpages BIGINT NOT NULL, pmb_percent DOUBLE PRECISION NOT NULL,"
    " numa TEXT NOT NULL, comment TEXT NOT NULL, PRIMARY KEY (program, site, context))",
    // The words of a directives file's first line.
    "CREATE TABLE directive_headers (program TEXT NOT NULL REFERENCES programs(build_id),"
    " name TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (program, name))",
};

// Version 2: results of directives. A run has its agent's policy; a validation is of one directive
// in one run.
const char *const kStep2[] = {
    "ALTER TABLE runs ADD COLUMN machine TEXT",
    "ALTER TABLE runs ADD COLUMN policy TEXT",
    "ALTER TABLE runs ADD COLUMN bar_percent DOUBLE PRECISION",
    "ALTER TABLE runs ADD COLUMN superpages_supply BIGINT",
    "ALTER TABLE runs ADD COLUMN superpages_peak BIGINT",
    "ALTER TABLE runs ADD COLUMN superpages_at_birth BIGINT",
    "ALTER TABLE runs ADD COLUMN promotions BIGINT",
    "ALTER TABLE runs ADD COLUMN migrations BIGINT",
    "ALTER TABLE runs ADD COLUMN live_bytes_peak BIGINT",
    "CREATE TABLE validations (run BIGINT NOT NULL REFERENCES runs(id), site TEXT NOT NULL,"
    " context TEXT NOT NULL, taken BIGINT NOT NULL, superpages_predicted BIGINT NOT NULL,"
    " superpages_peak BIGINT NOT NULL, live_bytes_peak BIGINT NOT NULL, verdict TEXT NOT NULL,"
    " PRIMARY KEY (run, site, context))",
    "ALTER TABLE directives ADD COLUMN validated BIGINT NOT NULL DEFAULT 0",
    "ALTER TABLE directives ADD COLUMN held BIGINT NOT NULL DEFAULT 0",
    "CREATE INDEX runs_of_program ON runs (program, started_ns)",
};

// Version 3: predicted saving of a run by what directives reach, by calibration alone; runs show
// what it was worth.
const char *const kStep3[] = {
    "ALTER TABLE analyses ADD COLUMN saved_seconds DOUBLE PRECISION",
};

// Version 4: runs that were pruned, but are in the directives' counts.
const char *const kStep4[] = {
    "CREATE TABLE forgotten_runs (program TEXT NOT NULL, host TEXT NOT NULL, pid BIGINT NOT NULL,"
    " started_ns BIGINT NOT NULL, PRIMARY KEY (program, host, pid, started_ns))",
};

// Version 5: TLB misses of runs, if a PMU counts them, and those predicted for a run: all on base
// pages, and with what directives reach.
const char *const kStep5[] = {
    "ALTER TABLE runs ADD COLUMN tlb_misses BIGINT",
    "ALTER TABLE analyses ADD COLUMN tlb_misses_base DOUBLE PRECISION",
    "ALTER TABLE analyses ADD COLUMN tlb_misses_directed DOUBLE PRECISION",
};

// Version 6: first touches, of runs and as predicted.
const char *const kStep6[] = {
    "ALTER TABLE runs ADD COLUMN superpages_touched BIGINT",
    "ALTER TABLE runs ADD COLUMN touch_seconds DOUBLE PRECISION",
    "ALTER TABLE analyses ADD COLUMN page_faults_base DOUBLE PRECISION",
    "ALTER TABLE analyses ADD COLUMN page_faults_directed DOUBLE PRECISION",
    "ALTER TABLE analyses ADD COLUMN touch_seconds DOUBLE PRECISION",
};

// Version 7: the word of allocator papers.
const char *const kStep7[] = {
    "ALTER TABLE runs RENAME COLUMN superpages_at_birth TO superpages_at_first_touch",
};

void make_steps(Connection &connection, int64_t version) {
  while (version < kSchemaVersion) {
    for (std::string statement : statements_of_step(++version)) {
      if (const size_t at = statement.find("@ID"); at != std::string::npos)
        statement.replace(at, 3, connection.identity_column());
      connection.query(statement);
    }
    connection.set_schema_version(version);
  }
}

// Refuses a database of the current version that lacks something that a new one has. It may have
// more: a user's index, the statistics of ANALYZE.
void refuse_other_tables(Connection &connection) {
  const Rows found = connection.structure();
  if (found.empty())
    return;
  const auto fresh = open_sqlite(kNoFile, Access::kReadWrite);
  make_steps(*fresh, 0);
  const Rows needed = fresh->structure();
  if (!std::includes(found.begin(), found.end(), needed.begin(), needed.end()))
    throw connection.damaged();
}

} // namespace

std::vector<std::string> statements_of_step(int64_t version) {
  switch (version) {
  case 1:
    return {std::begin(kStep1), std::end(kStep1)};
  case 2:
    return {std::begin(kStep2), std::end(kStep2)};
  case 3:
    return {std::begin(kStep3), std::end(kStep3)};
  case 4:
    return {std::begin(kStep4), std::end(kStep4)};
  case 5:
    return {std::begin(kStep5), std::end(kStep5)};
  case 6:
    return {std::begin(kStep6), std::end(kStep6)};
  case 7:
    return {std::begin(kStep7), std::end(kStep7)};
  default:
    return {};
  }
}

void bring_up_to_date(Connection &connection, Access access) {
  const auto refuse_newer = [&](int64_t version) {
    if (version > kSchemaVersion)
      throw DatabaseError(connection.where(),
                          "it has version " + std::to_string(version) +
                              ", and this command knows versions up to " +
                              std::to_string(kSchemaVersion),
                          "use the smalloc that wrote it, or another database with --db FILE");
  };
  int64_t version = connection.schema_version();
  refuse_newer(version);
  if (version == kSchemaVersion)
    return refuse_other_tables(connection);
  if (access == Access::kReadOnly)
    throw DatabaseError(connection.where(),
                        version == 0 ? "there is no history in it"
                                     : "it is of an earlier version and may not be written to",
                        version == 0 ? "smalloc analyze TRACE" : "smalloc db list");
  Transaction transaction(connection);
  version = connection.schema_version(); // another command may have been faster
  refuse_newer(version);
  make_steps(connection, version);
  refuse_other_tables(connection);
  transaction.commit();
}

std::unique_ptr<Connection> open_database(const std::string &location, Access access) {
  auto connection =
      is_postgresql(location) ? open_postgresql(location) : open_sqlite(location, access);
  bring_up_to_date(*connection, access);
  return connection;
}

} // namespace smalloc::database
