// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests opening: new files, and everything that is no history of this version, which must stay
// unchanged.
#include "runtime/database/history.h"
#include "runtime/database/schema.h"
#include "tests/unit/database/temporary_folder.h"

#include <gtest/gtest.h>

#include <sys/stat.h>

namespace smalloc::database {
namespace {

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

TEST(Schema, AnotherVersionIsRefusedAndUnchanged) {
  TemporaryFolder folder;
  for (const int64_t version :
       {int64_t{INT32_MIN}, int64_t{1}, kSchemaVersion - 1, kSchemaVersion + 1}) {
    const std::string file = folder / (std::to_string(version) + ".db");
    open_database(file, Access::kReadWrite)->set_schema_version(version);
    const std::string before = text_of_file(file);
    const std::string refused = "it has version " + std::to_string(version) +
                                ", and this command knows only version " +
                                std::to_string(kSchemaVersion);
    EXPECT_EQ(why_not(file), refused);
    EXPECT_EQ(why_not(file, Access::kReadOnly), refused);
    EXPECT_EQ(text_of_file(file), before);
  }
}

TEST(Schema, ProgramsAreFoundByIndexes) {
  const auto connection = open_database(kNoFile, Access::kReadWrite);
  const auto uses = [&](const char *index, const char *condition) {
    const Rows plan = connection->query(
        std::string("EXPLAIN QUERY PLAN SELECT * FROM ") + condition, {std::string("a")});
    return text_of(plan.at(0).at(3)).find(index) != std::string::npos;
  };
  EXPECT_TRUE(uses("programs_of_path", "programs WHERE substr(path, 1, 200) = $1"));
  EXPECT_TRUE(uses("analyses_of_program", "analyses WHERE program = $1"));
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
