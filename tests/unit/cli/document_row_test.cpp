// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/cli/history/document_row.h"

#include "runtime/errors/diagnostics.h"

#include <gtest/gtest.h>

using namespace smalloc::cli;

namespace {

struct Read {
  std::string text, said;
};

Read read(const std::string &text) {
  testing::internal::CaptureStderr();
  const std::vector<unsigned char> bytes(text.begin(), text.end());
  std::string last(last_document("s.json", bytes));
  return {last, testing::internal::GetCapturedStderr()};
}

} // namespace

TEST(DocumentRow, IsOneDocumentAsItIs) {
  const Read one = read("\n {\"a\": {\"b\": 1}}\n");
  EXPECT_EQ(one.text, "{\"a\": {\"b\": 1}}");
  EXPECT_EQ(one.said, "");
}

TEST(DocumentRow, IsTheLastOfSeveral) {
  const Read two = read("{\"run\": 1}\n{\"run\": {\"n\": 2}}\n");
  EXPECT_EQ(two.text, "{\"run\": {\"n\": 2}}");
  EXPECT_NE(two.said.find("s.json holds 2 documents"), std::string::npos) << two.said;
}

TEST(DocumentRow, SeesNoBracesInStrings) {
  const std::string odd = R"({"}{": "\"}", "\\": "{"})";
  EXPECT_EQ(read(odd).text, odd);
  EXPECT_EQ(read(odd + odd).text, odd);
}

TEST(DocumentRow, LeavesEverythingElseToItsParser) {
  for (const std::string text :
       {"", " ", "[1]", "{\"a\": 1} x", "{\"a\": 1}{", "{\"a\": \"}", "}", "{\"a\": \"\\"}) {
    EXPECT_EQ(read(text).text, text);
    EXPECT_EQ(read(text).said, "");
  }
}
