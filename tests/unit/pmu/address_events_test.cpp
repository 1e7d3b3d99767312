// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// address_events_test.cpp tests the event codes of other processors against their manuals, and the
// message if there is no event.
#include "runtime/pmu/address_events.h"

#include <cerrno>
#include <map>
#include <vector>

#include <gtest/gtest.h>

namespace smalloc::pmu {
namespace {

struct FakeKernel {
  std::map<std::string, std::string> files;
  int error = 0;
  std::vector<AddressEvent> asked;
  std::vector<uint64_t> periods;
  AddressProbe probe() {
    return {[this](const AddressEvent &event, uint64_t period) {
              asked.push_back(event);
              periods.push_back(period);
              return error;
            },
            [this](const std::string &path) -> std::optional<std::string> {
              const auto file = files.find(path);
              return file == files.end() ? std::nullopt : std::optional(file->second);
            }};
  }
};

#if defined(__x86_64__)
TEST(AddressEvents, LoadsThatMissTheSecondLevel) {
  for (const auto &[table, code] :
       {std::pair("skl", 0x11d0u), {"icl", 0x11d0u}, {"spr", 0x11d0u}, {"hsw", 0x11d0u}}) {
    FakeKernel kernel;
    const FoundEvent found = find_address_event(kernel.probe(), 1000, table);
    ASSERT_TRUE(found.event) << table << found.obstacle;
    EXPECT_EQ(found.event->kind, AddressEvent::Kind::kMisses);
    EXPECT_EQ(found.event->code.config & 0xffff, code) << table;
    EXPECT_EQ(found.event->precise, 2u);
    EXPECT_EQ(kernel.periods.front(), 1000u);
  }
}
#endif

TEST(AddressEvents, IbsInStepsOfSixteen) {
  FakeKernel kernel;
  kernel.files["/sys/bus/event_source/devices/ibs_op/type"] = "11\n";
  const FoundEvent found = find_address_event(kernel.probe(), 1000, "no such table");
  ASSERT_TRUE(found.event) << found.obstacle;
  EXPECT_EQ(found.event->kind, AddressEvent::Kind::kIbs);
  EXPECT_EQ(found.event->code.type, 11u);
  EXPECT_EQ(kernel.periods.back() % 16, 0u);
  EXPECT_GE(kernel.periods.back(), 1000u);
}

TEST(AddressEvents, Spe) {
  FakeKernel kernel;
  kernel.files["/sys/bus/event_source/devices/arm_spe_0/type"] = "12\n";
  const FoundEvent found = find_address_event(kernel.probe(), 4096, "no such table");
  ASSERT_TRUE(found.event) << found.obstacle;
  EXPECT_EQ(found.event->kind, AddressEvent::Kind::kSpe);
  EXPECT_EQ(found.event->code.type, 12u);
}

TEST(AddressEvents, WhyThereIsNone) {
  FakeKernel kernel;
  EXPECT_EQ(find_address_event(kernel.probe(), 1000, "no such table").obstacle,
            "this machine has no PMU that reports data addresses");
  kernel.files["/sys/bus/event_source/devices/ibs_op/type"] = "11\n";
  for (const auto &[error, words] :
       {std::pair(EACCES, "events are closed to you (kernel.perf_event_paranoid)"),
        {ENOSYS, "perf_event_open is forbidden here"},
        {ENOENT, "this machine has no PMU that reports data addresses"}}) {
    kernel.error = error;
    const FoundEvent found = find_address_event(kernel.probe(), 1000, "no such table");
    EXPECT_FALSE(found.event);
    EXPECT_EQ(found.obstacle, words);
  }
}

} // namespace
} // namespace smalloc::pmu
