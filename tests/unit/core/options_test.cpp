// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// options_test.cpp tests the parser of SMALLOC_CONF: each key, bad values, unknown keys, set-uid,
// and random text.
#include "smalloc/config/options.h"

#include <gtest/gtest.h>
#include <random>
#include <string>
#include <vector>

namespace smalloc {
namespace {
std::vector<std::string> warnings;
Options parse(const std::string &conf, bool privileged = false) {
  Options o;
  warnings.clear();
  parse_options(Text(conf.data(), conf.size()), privileged, o,
                [](Text line) { warnings.emplace_back(line.data, line.size); });
  return o;
}

TEST(Options, DefaultsStay) {
  Options o = parse("");
  EXPECT_EQ(o.heap, HeapStrategy::kAuto);
  EXPECT_FALSE(o.heap_given);
  EXPECT_EQ(o.cache_bytes, 64u << 20);
  EXPECT_TRUE(warnings.empty());
}
TEST(Options, EveryKey) {
  Options o = parse("heap:migrate,pages:hugetlb,force:on,budget:512m,cache:1g,promote:eager,"
                    "reserve:16g,stats:exit,debug:on,abort:true,sysfs:/tmp/sys");
  EXPECT_TRUE(warnings.empty());
  EXPECT_EQ(o.heap, HeapStrategy::kMigrate);
  EXPECT_TRUE(o.heap_given && o.force && o.stats_at_exit && o.debug && o.abort_on_error);
  EXPECT_EQ(o.pages, PageBacking::kHugetlb);
  EXPECT_EQ(o.budget_bytes, uint64_t{512} << 20);
  EXPECT_EQ(o.cache_bytes, uint64_t{1} << 30);
  EXPECT_EQ(o.promote, PromotePolicy::kEager);
  EXPECT_TRUE(o.helper_thread);
  EXPECT_EQ(o.reserve_bytes, uint64_t{16} << 30);
  EXPECT_STREQ(o.sysfs, "/tmp/sys");
  EXPECT_EQ(parse("promote:thread").promote, PromotePolicy::kThread);
  EXPECT_FALSE(parse("promote:calls").helper_thread);
  EXPECT_TRUE(parse("promote:calls,promote:off").helper_thread); // the last one counts
  EXPECT_EQ(parse("budget:10%").budget_percent, 10u);
  EXPECT_EQ(parse("pages:1g").pages, PageBacking::kGigantic);
  EXPECT_EQ(parse("pages:mthp").pages, PageBacking::kMedium);
  EXPECT_TRUE(parse("only-advised:on").only_advised);
  EXPECT_EQ(parse("demote:off").demote_percent, 0u);
  EXPECT_EQ(parse("demote:25%").demote_percent, 25u);
  EXPECT_EQ(parse("demote:25%,demote:auto").demote_percent, 10u);
}
TEST(Options, StatisticsWords) {
  Options o = parse("");
  EXPECT_TRUE(o.stats_live);
  EXPECT_FALSE(o.stats_at_exit || o.stats_json || o.stats_jemalloc || o.stats_sites);
  o = parse("stats:json+jemalloc,stats_file:/tmp/s.%p");
  EXPECT_TRUE(o.stats_at_exit && o.stats_json && o.stats_jemalloc && o.stats_sites);
  EXPECT_STREQ(o.stats_file, "/tmp/s.%p");
  EXPECT_STREQ(parse("stats_file:%h.%r.%%p").stats_file, "%h.%r.%%p");
  // If the file name were kept as it stands, all processes would share the file.
  for (const char *mistyped :
       {"stats_file:s.%q", "stats_file:s.%P", "stats_file:s%", "stats_file:%%%"}) {
    o = parse(mistyped);
    EXPECT_EQ(warnings.size(), 1u) << mistyped;
    EXPECT_STREQ(o.stats_file, "") << mistyped;
  }
  o = parse("stats:sites");
  EXPECT_TRUE(o.stats_sites && o.stats_live);
  EXPECT_FALSE(o.stats_at_exit);
  o = parse("stats:exit,stats:off"); // the last one counts
  EXPECT_FALSE(o.stats_at_exit || o.stats_live || o.stats_sites);
  EXPECT_TRUE(warnings.empty());
}
TEST(Options, WordsForTheProgramsOwnMemory) {
  Options o = parse("program:static+stack");
  EXPECT_TRUE(o.static_on_superpages && o.stack_on_superpages);
  EXPECT_FALSE(o.text_on_superpages);
  o = parse("program:static,program:text"); // the last one counts
  EXPECT_TRUE(o.text_on_superpages);
  EXPECT_FALSE(o.static_on_superpages || o.stack_on_superpages);
  o = parse("program:text,program:off");
  EXPECT_FALSE(o.static_on_superpages || o.text_on_superpages || o.stack_on_superpages);
  EXPECT_TRUE(warnings.empty());
}
TEST(Options, BadValuesKeepTheDefault) {
  for (const char *bad :
       {"heap:",          "heap",         "heap:Split",  "budget:0",
        "budget:0%",      "budget:1m",    "budget:100t", "reserve:0",
        "reserve:1m",     "reserve:100t", "cache:100t",  "only-advised:2",
        "program:on",     "pages:4k",     "budget:101%", "budget:-1",
        "cache:64q",      "cache:m",      "promote:1",   "program:text+",
        "demote:x",       "demote:0%",    "demote:101%", "demote:%",
        "force:maybe",    "stats:on",     "stats:",      "stats:exit+",
        "stats:exit+off", "stats_file:",  "sysfs:",      "cache:99999999999999999999"}) {
    Options o = parse(bad);
    EXPECT_EQ(warnings.size(), 1u) << bad;
    EXPECT_EQ(o.cache_bytes, 64u << 20);
    EXPECT_FALSE(o.heap_given);
  }
}
TEST(Options, WarningsNameKeyValueAndCure) {
  parse("heap:all");
  EXPECT_EQ(
      warnings[0],
      "smalloc: warning: SMALLOC_CONF: 'heap:all' has a value that is not understood: heap is "
      "auto, off, superpage, migrate or guest; the default is taken\n");
  parse("promote:helper");
  EXPECT_NE(warnings[0].find("promote is auto, off, eager, calls or thread;"), std::string::npos);
  parse("haep:off");
  EXPECT_EQ(warnings[0],
            "smalloc: warning: SMALLOC_CONF: 'haep:off' is not a known key, ignored; did you mean "
            "heap:?\n");
  for (const char *slip : {"HEAP:off", "heap=off", "Heap=split"}) {
    parse(slip);
    EXPECT_NE(warnings[0].find("did you mean heap:?"), std::string::npos) << slip;
  }
  for (const char *wrong : {"event:", "event:foo", "event:misses/4/5", "event:misses/4/5/0/2/x",
                            "event:misses/4/5/0/2/", "event:misses//5/0/2/3"}) {
    parse(wrong);
    EXPECT_NE(warnings[0].find("event is what smalloc record"), std::string::npos) << wrong;
  }
  parse("event:misses/4/1cd/0/2/3f1");
  EXPECT_TRUE(warnings.empty());
  parse("wibble:7");
  EXPECT_NE(warnings[0].find("docs/tuning.md"), std::string::npos);
  parse("x:7"); // adding two letters would fit many keys
  EXPECT_EQ(warnings[0].find("did you mean"), std::string::npos);
  Options o = parse("budget:10%,budget:1g");
  EXPECT_EQ(o.budget_percent, 0u);
  EXPECT_EQ(o.budget_bytes, uint64_t{1} << 30);
}
TEST(Options, KeysAboutNumaHaveTheirOwnTable) {
  EXPECT_EQ(parse("numa:migrate,numa_interval:2").numa.mode, numa::NumaMode::kMigrate);
  EXPECT_EQ(parse("numa:off,program:off").numa.mode, numa::NumaMode::kOff);
  EXPECT_TRUE(warnings.empty());
  EXPECT_EQ(parse("numa_interval:99").numa.interval_ms, 5000u);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("numa_interval is seconds, 0.1 to 50"), std::string::npos);
  parse("numa_intervall:5");
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("'numa_intervall:5' is not a known key"), std::string::npos);
}
TEST(Options, PagesCanBeSwitchedOff) {
  Options o = parse("heap:superpage,directives:/tmp/d,program:static+text+stack,numa:migrate,"
                    "only-advised:on,validate:on,stats:exit");
  switch_pages_off(o);
  EXPECT_TRUE(o.heap_given && o.heap == HeapStrategy::kOff);
  EXPECT_FALSE(o.static_on_superpages || o.text_on_superpages || o.stack_on_superpages ||
               o.only_advised || o.validate || *o.directives);
  EXPECT_EQ(o.numa.mode, numa::NumaMode::kOff);
  EXPECT_TRUE(o.stats_at_exit);
}
TEST(Options, UnknownKeyIsOneLineAndTheRestCounts) {
  Options o = parse("heap:off,wibble:7,stats:exit");
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0], "smalloc: warning: SMALLOC_CONF: 'wibble:7' is not a known key, ignored; "
                         "docs/tuning.md lists the keys\n");
  EXPECT_EQ(o.heap, HeapStrategy::kOff);
  EXPECT_TRUE(o.stats_at_exit);
}
TEST(Options, SetUidObeysOnlyHeapOff) {
  Options o = parse("stats:exit,debug:on,sysfs:/tmp,heap:superpage,nonsense", true);
  EXPECT_FALSE(o.stats_at_exit || o.debug || o.heap_given);
  EXPECT_STREQ(o.sysfs, "/sys");
  EXPECT_EQ(parse("stats:exit,heap:off", true).heap, HeapStrategy::kOff);
  EXPECT_TRUE(warnings.empty());
}
TEST(Options, AnyTextIsSurvived) {
  std::mt19937 random(1);
  const std::string letters = "heap:offsplitpages,%0123456789kmgt:,,::\x00\xff";
  for (int i = 0; i < 20000; i++) {
    std::string s(random() % 60, ' ');
    for (char &c : s)
      c = letters[random() % letters.size()];
    Options o = parse(s);
    EXPECT_LE(o.budget_percent, 100u);
  }
  parse(std::string(5000, 'x'));
  ASSERT_EQ(warnings.size(), 1u);
}
TEST(Options, Bytes) {
  uint64_t b;
  EXPECT_TRUE(parse_bytes("0", b));
  EXPECT_EQ(b, 0u);
  EXPECT_TRUE(parse_bytes("3K", b));
  EXPECT_EQ(b, 3072u);
  EXPECT_TRUE(parse_bytes("2t", b));
  EXPECT_EQ(b, uint64_t{2} << 40);
  EXPECT_FALSE(parse_bytes("", b));
  EXPECT_FALSE(parse_bytes("20000000t", b));
}
} // namespace
} // namespace smalloc
