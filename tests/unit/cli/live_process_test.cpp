// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// live_process_test.cpp tests the reading of the statistics page, and that a hostile page does no
// harm.
#include "runtime/cli/process/live_process.h"
#include "runtime/cli/process/live_report.h"
#include "smalloc/live.h"

#include <cstring>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <random>

namespace smalloc::cli {
namespace {

constexpr uint32_t kHeaps = 256, kNames = 512, kCounters = 1024, kSites = 2048, kStrings = 8192;

std::vector<unsigned char> good_page() {
  std::vector<unsigned char> bytes(16384);
  smalloc_live_header h = {};
  h.magic = SMALLOC_LIVE_MAGIC;
  h.version = SMALLOC_LIVE_VERSION;
  h.bytes = sizeof h;
  h.pid = 42;
  h.started_ns = 1000000000;
  h.strategy = 3;
  h.heap_count = 1, h.heaps = kHeaps;
  h.counter_count = 2, h.counter_names = kNames, h.counters = kCounters;
  h.site_count = 3, h.sites = kSites;
  h.strings = kStrings, h.strings_used = 64, h.strings_capacity = 8192;
  std::memcpy(bytes.data() + kStrings + 1, "heap\0promotions\0f\0a.c", 22);
  const smalloc_live_heap heap = {0x1000, 0x9000, 1, 0};
  std::memcpy(bytes.data() + kHeaps, &heap, sizeof heap);
  const uint32_t names[] = {6, 9999};
  std::memcpy(bytes.data() + kNames, names, sizeof names);
  const uint64_t values[] = {7, 8};
  std::memcpy(bytes.data() + kCounters, values, sizeof values);
  smalloc_live_site sites[3] = {};
  sites[1].id = 1, sites[1].function = 17, sites[1].file = 19, sites[1].line = 3;
  sites[1].peak_bytes = sites[1].live_bytes = 5;
  sites[2] = sites[1];
  sites[2].peak_bytes = 50;
  std::memcpy(bytes.data() + kSites, sites, sizeof sites);
  std::memcpy(bytes.data(), &h, sizeof h);
  return bytes;
}

TEST(LiveProcess, ReadsWhatThePageSays) {
  std::string why;
  const auto view = parse_live_page(good_page(), why);
  ASSERT_TRUE(view) << why;
  EXPECT_EQ(view->pid_inside, 42u);
  ASSERT_EQ(view->heaps.size(), 1u);
  EXPECT_EQ(view->heaps[0].name, "heap");
  ASSERT_EQ(view->counters.size(), 2u);
  EXPECT_EQ(view->counters[0], (std::pair<std::string, uint64_t>("promotions", 7)));
  EXPECT_EQ(view->counters[1].first, "") << "a name outside the strings";
  ASSERT_EQ(view->sites.size(), 2u) << "an account without anything is left out";
  EXPECT_EQ(view->sites[0].peak_bytes, 50u) << "the biggest first";
  EXPECT_EQ(view->sites[0].function, "f");
  EXPECT_EQ(view->sites[0].file, "a.c");
}

TEST(LiveProcess, SmapsAreCountedByHeap) {
  std::string why;
  auto view = parse_live_page(good_page(), why);
  add_kernel_view(*view,
                  "1000-2000 rw-p 0 0:0 0\nRss: 4 kB\nAnonHugePages: 2 kB\n"
                  "8000-b000 rw-p 0 0:0 0 name: with colon\nRss:   8 kB\nPrivate_Hugetlb: 12 kB\n"
                  "Shared_Hugetlb: 4 kB\n"
                  "f000-fff0 r--p 0 0:0 0 /lib/x\nRss: 100 kB\n");
  EXPECT_EQ(view->heaps[0].resident_bytes, 28u * 1024);
  EXPECT_EQ(view->heaps[0].superpage_bytes, 18u * 1024);
  EXPECT_EQ(view->mappings_of_heaps, 2u);
  EXPECT_EQ(view->mappings_all, 3u);
  const auto document = live_document(*view, 4711, "app", 3000000000);
  EXPECT_EQ(document["coverage"], 0.642);
  EXPECT_EQ(document["seconds"], 2);
  EXPECT_EQ(document["strategy"], "migrate");
  EXPECT_NE(live_text(document, Colour::kOff, "").find("app (process 4711)"), std::string::npos);
}

TEST(LiveProcess, RefusesWhatIsNoPage) {
  std::string why;
  EXPECT_FALSE(parse_live_page({}, why));
  EXPECT_NE(why.find("no statistics page"), std::string::npos);
  auto bytes = good_page();
  bytes[8] = 9;
  EXPECT_FALSE(parse_live_page(bytes, why));
  EXPECT_NE(why.find("version is 9"), std::string::npos);
}

TEST(LiveProcess, HostilePagesDoNoHarm) {
  std::mt19937 random(7);
  std::string why;
  for (int round = 0; round < 20000; round++) {
    auto bytes = good_page();
    for (int flips = random() % 20 + 1; flips; flips--)
      bytes[8 + random() % (sizeof(smalloc_live_header) - 8)] =
          static_cast<unsigned char>(random());
    bytes[8] = SMALLOC_LIVE_VERSION;
    std::memset(bytes.data() + 9, 0, 3);
    if (random() % 4 == 0)
      bytes.resize(random() % bytes.size());
    if (auto view = parse_live_page(bytes, why)) {
      EXPECT_LE(view->sites.size(), SMALLOC_LIVE_SITES);
      live_text(live_document(*view, 1, "x", 0), Colour::kOff, "/");
    }
  }
}

} // namespace
} // namespace smalloc::cli
