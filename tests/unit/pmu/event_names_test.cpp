// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// event_names_test.cpp tests the walk events of other processors against the codes of their manuals
// (Intel SDM 3B chapter 20, AMD PPR 2.1.15).
#include "runtime/pmu/event_names.h"

#include "smalloc/machine.h"

#include <gtest/gtest.h>
#include <linux/perf_event.h>

namespace smalloc::pmu {
namespace {

// Returns event and unit mask; the kernel handles the other bits.
uint64_t code(Quantity quantity, const char *table) {
  const auto found = find_event(quantity, table);
  return found && found->type == PERF_TYPE_RAW ? found->config & 0xffff : 0;
}

#if defined(__x86_64__)
TEST(EventNames, AreTheManualsCodes) {
  EXPECT_EQ(code(Quantity::kWalks, "skl"), 0x0e08u);
  EXPECT_EQ(code(Quantity::kWalkCycles, "skl"), 0x1008u);
  EXPECT_EQ(code(Quantity::kMemoryStalls, "skl"), 0x0ca3u);
  EXPECT_EQ(code(Quantity::kWalks, "hsw"), 0x0e08u);
  EXPECT_EQ(code(Quantity::kWalkCycles, "hsw"), 0x1008u);
  EXPECT_EQ(code(Quantity::kWalks, "icl"), 0x0e08u);
  EXPECT_EQ(code(Quantity::kWalks, "spr"), 0x0e12u);
  EXPECT_EQ(code(Quantity::kWalkCycles, "spr"), 0x1012u);
  EXPECT_EQ(code(Quantity::kWalkCycles, "core"), 0x020cu);
  EXPECT_EQ(code(Quantity::kWalks, "amd64_fam17h_zen2"), 0xf045u);
  EXPECT_EQ(code(Quantity::kWalks, "amd64_fam19h_zen4"), 0xf045u);
}
#endif

TEST(EventNames, FallBackToWhatTheKernelMaps) {
  const auto walks = find_event(Quantity::kWalks, "no such table");
  ASSERT_TRUE(walks);
  EXPECT_EQ(walks->type, static_cast<uint32_t>(PERF_TYPE_HW_CACHE));
  EXPECT_EQ(walks->name, "dTLB-load-misses");
  EXPECT_FALSE(find_event(Quantity::kWalkCycles, "no such table")); // Zen has no such event
  EXPECT_FALSE(find_event(Quantity::kWalkCycles, "amd64_fam19h_zen4"));
  EXPECT_EQ(find_event(Quantity::kCycles)->type, static_cast<uint32_t>(PERF_TYPE_HARDWARE));
}

TEST(EventNames, TablesBelongToPresetsThatExist) {
  for (const struct smalloc_machine &preset : smalloc_machine_presets)
    EXPECT_TRUE(table_of_machine(preset.name).empty() || preset.vendor != SMALLOC_VENDOR_NONE);
  EXPECT_EQ(table_of_machine("zen5"), "amd64_fam19h_zen4");
  EXPECT_EQ(table_of_machine("generic"), "");
}

} // namespace
} // namespace smalloc::pmu
