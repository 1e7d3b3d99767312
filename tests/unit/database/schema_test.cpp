// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests opening: new files, those of version 1, and everything that is no history of smalloc's,
// which must stay unchanged.
#include "runtime/database/history.h"
#include "runtime/database/schema.h"
#include "tests/unit/database/temporary_folder.h"

#include <gtest/gtest.h>

#include <sys/stat.h>

namespace smalloc::database {
namespace {

// Statements of version 1: frozen, whatever schema.cpp has now.
const char *const kVersion1[] = {
    "CREATE TABLE programs (build_id TEXT PRIMARY KEY, path TEXT NOT NULL, first_seen_ns BIGINT "
    "NOT NULL, "
    "last_seen_ns BIGINT NOT NULL)",
    "CREATE TABLE machines (host TEXT PRIMARY KEY, profile TEXT NOT NULL, cpu TEXT NOT NULL, "
    "processors BIGINT NOT "
    "NULL, memory_bytes BIGINT NOT NULL, last_seen_ns BIGINT NOT NULL)",
    "CREATE TABLE runs (id INTEGER PRIMARY KEY, program TEXT NOT NULL REFERENCES "
    "programs(build_id), host TEXT NOT "
    "NULL, pid BIGINT NOT NULL, started_ns BIGINT NOT NULL, kind TEXT NOT NULL, input TEXT NOT "
    "NULL, seconds DOUBLE "
    "PRECISION, user_seconds DOUBLE PRECISION, system_seconds DOUBLE PRECISION, peak_bytes BIGINT, "
    "minor_faults "
    "BIGINT, major_faults BIGINT, UNIQUE (program, host, pid, started_ns))",
    "CREATE TABLE analyses (id INTEGER PRIMARY KEY, program TEXT NOT NULL REFERENCES "
    "programs(build_id), created_ns "
    "BIGINT NOT NULL, machine TEXT NOT NULL, input TEXT NOT NULL, traces BIGINT NOT NULL, accesses "
    "DOUBLE PRECISION "
    "NOT NULL, seconds DOUBLE PRECISION NOT NULL, significant BIGINT NOT NULL, cycles_base DOUBLE "
    "PRECISION NOT NULL, "
    "saved_all DOUBLE PRECISION NOT NULL, saved_joint DOUBLE PRECISION NOT NULL, superpages_chosen "
    "BIGINT NOT NULL)",
    "CREATE TABLE rankings (analysis BIGINT NOT NULL REFERENCES analyses(id), rank BIGINT NOT "
    "NULL, kind TEXT NOT "
    "NULL, category TEXT NOT NULL, function TEXT NOT NULL, file TEXT NOT NULL, line BIGINT NOT "
    "NULL, superpages BIGINT "
    "NOT NULL, footprint_bytes BIGINT NOT NULL, saved_cycles DOUBLE PRECISION NOT NULL, saved_low "
    "DOUBLE PRECISION NOT "
    "NULL, saved_high DOUBLE PRECISION NOT NULL, pmb_percent DOUBLE PRECISION NOT NULL, chosen "
    "BIGINT NOT NULL, "
    "PRIMARY KEY (analysis, rank))",
    "CREATE TABLE directives (program TEXT NOT NULL REFERENCES programs(build_id), site TEXT NOT "
    "NULL, context TEXT "
    "NOT NULL, page_shift BIGINT NOT NULL, rank BIGINT NOT NULL, superpages BIGINT NOT NULL, "
    "pmb_percent DOUBLE "
    "PRECISION NOT NULL, numa TEXT NOT NULL, comment TEXT NOT NULL, PRIMARY KEY (program, site, "
    "context))",
    "CREATE TABLE directive_headers (program TEXT NOT NULL REFERENCES programs(build_id), name "
    "TEXT NOT NULL, value "
    "TEXT NOT NULL, PRIMARY KEY (program, name))",
    "INSERT INTO programs VALUES ('0badc0de', '/bin/app', 5, 9)",
    "INSERT INTO runs (program, host, pid, started_ns, kind, input, user_seconds) VALUES "
    "('0badc0de', 'h', 1, 7, "
    "'recorded', '', 2.5)",
    "INSERT INTO directives VALUES ('0badc0de', '0123456789abcdef', '', 21, 1, 32, 87.5, '', 'f "
    "a.c:1')",
    "INSERT INTO directive_headers VALUES ('0badc0de', 'machine', 'zen4')",
};

std::string why_not(const std::string &file, Access access = Access::kReadWrite) {
  try {
    open_database(file, access);
  } catch (const DatabaseError &error) {
    return error.what();
  }
  return "";
}

TEST(Schema, NewFileIsOfTodaysVersionAndItsOwners) {
  TemporaryFolder folder;
  const std::string file = folder / "deep/er/smalloc.db";
  const auto connection = open_database(file, Access::kReadWrite);
  EXPECT_EQ(connection->schema_version(), kSchemaVersion);
  struct stat info;
  ASSERT_EQ(stat(file.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  ASSERT_EQ(stat((folder / "deep").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
}

TEST(Schema, EveryStepHasStatements) {
  for (int64_t version = 1; version <= kSchemaVersion; version++)
    EXPECT_FALSE(statements_of_step(version).empty()) << version;
  EXPECT_TRUE(statements_of_step(kSchemaVersion + 1).empty());
}

TEST(Schema, VersionOneIsMigratedWithItsContents) {
  TemporaryFolder folder;
  const std::string file = folder / "old.db";
  {
    const auto raw = open_sqlite(file, Access::kReadWrite);
    for (const char *statement : kVersion1)
      raw->query(statement);
    raw->set_schema_version(1);
  }
  EXPECT_EQ(why_not(file, Access::kReadOnly),
            "it is of an earlier version and may not be written to");
  History history(open_database(file, Access::kReadWrite));
  EXPECT_EQ(history.connection().schema_version(), kSchemaVersion);
  const auto runs = history.runs("0badc0de");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].user_seconds, 2.5);
  EXPECT_FALSE(runs[0].superpages_peak.has_value() || runs[0].tlb_misses.has_value() ||
               runs[0].touch_seconds.has_value());
  const auto directives = history.directives("0badc0de");
  ASSERT_TRUE(directives.has_value());
  const auto &entry = directives->entries.at({0x0123456789abcdef, false, 0});
  EXPECT_EQ(entry.superpages, 32u);
  EXPECT_EQ(entry.validated, 0u);
  EXPECT_EQ(directives->header.at("machine"), "zen4");
  // It works like any other.
  database::Run run;
  run.program = "0badc0de";
  run.started_ns = 8;
  run.kind = "superpages";
  run.validations = {{"0123456789abcdef", "", true, 32, 32, 64 << 20, "held"}};
  run.tlb_misses = 77;
  run.superpages_touched = 32;
  run.touch_seconds = 0.004;
  EXPECT_TRUE(history.store_run(run));
  EXPECT_EQ(history.runs("0badc0de").back().tlb_misses, 77);
  EXPECT_EQ(history.runs("0badc0de").back().superpages_touched, 32);
  EXPECT_EQ(history.runs("0badc0de").back().touch_seconds, 0.004);
  EXPECT_EQ(history.directives("0badc0de")->entries.begin()->second.held, 1u);
}

TEST(Schema, VersionSixKeepsItsRunsUnderTheNewName) {
  TemporaryFolder folder;
  const std::string file = folder / "old.db";
  {
    const auto raw = open_sqlite(file, Access::kReadWrite);
    for (int64_t version = 1; version <= 6; version++)
      for (std::string statement : statements_of_step(version)) {
        if (const size_t at = statement.find("@ID"); at != std::string::npos)
          statement.replace(at, 3, raw->identity_column());
        raw->query(statement);
      }
    raw->query("INSERT INTO programs VALUES ('aa', '/bin/app', 5, 9)");
    raw->query("INSERT INTO runs (program, host, pid, started_ns, kind, input, superpages_at_birth)"
               " VALUES ('aa', 'h', 1, 7, 'superpages', '', 12)");
    raw->set_schema_version(6);
  }
  History history(open_database(file, Access::kReadWrite));
  const auto runs = history.runs("aa");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].superpages_at_first_touch, 12);
}

TEST(Schema, ALaterVersionIsRefusedAndUnchanged) {
  TemporaryFolder folder;
  const std::string file = folder / "new.db";
  open_database(file, Access::kReadWrite)->set_schema_version(kSchemaVersion + 1);
  const std::string before = text_of_file(file);
  const std::string refused = "it has version " + std::to_string(kSchemaVersion + 1) +
                              ", and this command knows versions up to " +
                              std::to_string(kSchemaVersion);
  EXPECT_NE(why_not(file).find(refused), std::string::npos) << why_not(file);
  EXPECT_EQ(text_of_file(file), before);
}

TEST(Schema, WhatIsNoDatabaseIsRefusedAndUnchanged) {
  TemporaryFolder folder;
  const std::string file = folder / "notes.txt";
  const std::string notes(8192, 'x');
  std::ofstream(file) << notes;
  EXPECT_EQ(why_not(file), "it is damaged, or no database");
  EXPECT_EQ(text_of_file(file), notes);
  EXPECT_EQ(why_not(folder.path), "it is a directory");
  EXPECT_EQ(why_not(folder / "nosuch.db", Access::kReadOnly), "there is no such file");
  EXPECT_FALSE(std::filesystem::exists(folder / "nosuch.db"));
  EXPECT_EQ(why_not("/dev/null/smalloc.db").find("its folder cannot be made"),
            std::string::npos); // a file, not a folder
}

TEST(Schema, AnotherProgramsDatabaseIsRefusedAndUnchanged) {
  TemporaryFolder folder;
  const std::string file = folder / "mail.db";
  {
    const auto raw = open_sqlite(file, Access::kReadWrite);
    raw->query("CREATE TABLE mail (subject TEXT)");
  }
  EXPECT_EQ(why_not(file), "it is the database of another program");
}

TEST(Schema, ADamagedPageIsToldWhenItIsRead) {
  TemporaryFolder folder;
  const std::string file = folder / "damaged.db";
  {
    History history(open_database(file, Access::kReadWrite));
    for (int i = 0; i < 2000; i++) {
      database::Run run;
      run.program = "aa";
      run.started_ns = i;
      run.kind = "base";
      history.store_run(run);
    }
  }
  std::string bytes = text_of_file(file);
  for (size_t at = 4096; at < bytes.size(); at++) // all but the first page
    bytes[at] = static_cast<char>(at * 31);
  std::ofstream(file, std::ios::binary) << bytes;
  try {
    History history(open_database(file, Access::kReadWrite));
    history.runs("");
    FAIL() << "nothing was noticed";
  } catch (const DatabaseError &error) {
    EXPECT_STREQ(error.what(), "it is damaged");
  }
  EXPECT_EQ(text_of_file(file), bytes);
}

TEST(Schema, AFailedTransactionLeavesNothing) {
  TemporaryFolder folder;
  History history(open_database(folder / "smalloc.db", Access::kReadWrite));
  Analysis analysis;
  analysis.program = "aa";
  analysis.ranking.resize(2); // the same rank twice: refused
  EXPECT_THROW(history.store_analysis(analysis), DatabaseError);
  EXPECT_TRUE(history.analyses("").empty());
  EXPECT_TRUE(history.programs().empty());
  analysis.ranking[1].rank = 1;
  EXPECT_GT(history.store_analysis(analysis), 0);
}

} // namespace
} // namespace smalloc::database
