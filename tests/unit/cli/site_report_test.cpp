// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// site_report_test.cpp tests how `smalloc sites` merges copies of one call.
#include "runtime/cli/sites/site_report.h"

#include <cstring>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace smalloc::cli {
namespace {

Site site(uint64_t id, const std::string &context = "", const std::string &why = "because") {
  Site s;
  std::memset(&s.record, 0, sizeof s.record);
  s.record.magic = SMALLOC_SITE_MAGIC;
  s.record.id = id;
  s.record.size_bytes = s.record.spread_pages = s.record.first_touch_faults_saved =
      s.record.min_bytes = SMALLOC_UNKNOWN;
  s.record.page_shift = 21;
  s.record.base_page_shift = 12;
  s.context = context;
  s.why = why;
  return s;
}

TEST(MergeCopies, WhatNothingTellsApartIsOneSite) {
  std::vector<Site> sites = {site(7), site(8), site(7), site(7)};
  sites[2].file_offset = 4096; // another place in the file makes no difference
  merge_copies(sites);
  ASSERT_EQ(sites.size(), 2u);
  EXPECT_EQ(sites[0].record.id, 7u);
  EXPECT_EQ(sites[0].copies, 3u);
  EXPECT_EQ(sites[1].copies, 1u);
  const auto document = site_document(sites, "app", "");
  EXPECT_EQ(document["totals"]["sites"], 2);
  EXPECT_EQ(document["sites"][0]["copies"], 3);
  const std::string text = site_text(document, Colour::kOff, true);
  EXPECT_NE(text.find("3 copies of this call"), std::string::npos) << text;
  EXPECT_EQ(text.find("1 copies"), std::string::npos) << text;
}

TEST(MergeCopies, OtherChainsAndOtherDecisionsStay) {
  Site decided = site(7);
  decided.cell_word = SMALLOC_WORD(SMALLOC_DECISION_SUPERPAGE, 1, 21, SMALLOC_BY_DIRECTIVE, 0);
  std::vector<Site> sites = {site(7), site(7, "f a.c:1"), site(7, "g a.c:1"), decided,
                             site(7, "", "another reason")};
  merge_copies(sites);
  EXPECT_EQ(sites.size(), 5u);
}

TEST(SiteTextOfPages, NamesThoseOf64KiB) {
  Site s = site(7);
  s.record.decision = SMALLOC_DECISION_RUNTIME;
  s.record.min_bytes = uint64_t{2} << 20;
  s.record.page_shift = 16;
  const std::string text = site_text(site_document({s}, "app", ""), Colour::kOff, true);
  EXPECT_NE(text.find("runtime from 2 MiB, pages of 64 KiB"), std::string::npos) << text;
}

} // namespace
} // namespace smalloc::cli
