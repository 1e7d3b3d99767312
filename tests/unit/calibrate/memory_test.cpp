// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// memory_test.cpp tests that measurements stay within every limit, and that regions of a medium
// page size exclude the pages that prevent larger ones.
#include "runtime/measure/memory_room.h"
#include "runtime/measure/page_region.h"
#include "runtime/measure/pointer_chase.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <unistd.h>

namespace smalloc::calibrate {
namespace {

class MemoryRoom : public testing::Test {
protected:
  void SetUp() override {
    root_ = testing::TempDir() + "smalloc-room-" + std::to_string(getpid());
    write("/proc/meminfo", "MemTotal: 9000000 kB\nMemAvailable:    8388608 kB\n");
  }
  void TearDown() override { std::filesystem::remove_all(root_); }
  void write(const std::string &path, const std::string &text) {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }
  std::string root_;
};

constexpr uint64_t kGiB = uint64_t{1} << 30;

TEST_F(MemoryRoom, IsWhatIsFree) {
  EXPECT_EQ(available_bytes(root_), 8 * kGiB);
  write("/proc/self/cgroup", "0::/user.slice/x\n");
  write("/sys/fs/cgroup/user.slice/x/memory.max", "max\n");
  EXPECT_EQ(available_bytes(root_), 8 * kGiB);
  write("/proc/meminfo", "nonsense\n");
  EXPECT_EQ(available_bytes(root_), 0u);
}

TEST_F(MemoryRoom, IsWithinTheCgroupsAboveOurs) {
  write("/proc/self/cgroup", "0::/user.slice/x\n");
  write("/sys/fs/cgroup/user.slice/x/memory.max", "6442450944\n");
  write("/sys/fs/cgroup/user.slice/memory.max", "4294967296\n");
  write("/sys/fs/cgroup/user.slice/memory.current", "1073741824\n");
  EXPECT_EQ(available_bytes(root_), 3 * kGiB);
  // In a namespace the path leads out of the mounted tree.
  write("/proc/self/cgroup", "0::/../../pod\n");
  write("/sys/fs/cgroup/memory.max", "2147483648\n");
  EXPECT_EQ(available_bytes(root_), 2 * kGiB);
}

TEST_F(MemoryRoom, IsWithinCgroupV1) {
  write("/proc/self/cgroup", "9:cpu,memory:/docker/0123\n3:cpuset:/\nnonsense\n");
  EXPECT_EQ(available_bytes(root_), 8 * kGiB);
  // The container sees its own group at the top.
  write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "1073741824\n");
  write("/sys/fs/cgroup/memory/memory.usage_in_bytes", "536870912\n");
  EXPECT_EQ(available_bytes(root_), kGiB / 2);
  write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(available_bytes(root_), 8 * kGiB);
}

TEST(PageRegion, LeavesAHoleInEachLargerUnit) {
  const uint64_t page = 64 << 10;
  if (base_page_bytes() >= page)
    GTEST_SKIP() << "base pages are as large";
  PageRegion region(8 << 20, page);
  ASSERT_GE(region.size(), uint64_t{8} << 20);
  const uint64_t of_unit = region.size() / page - region.pages(); // one excluded page per unit
  ASSERT_GT(of_unit, 0u);
  const uint64_t unit = region.size() / of_unit;
  char *last = nullptr;
  for (uint64_t k = 0; k < region.pages(); k++) {
    const auto offset = static_cast<uint64_t>(region.page(k) - region.data());
    EXPECT_EQ(offset % page, 0u);
    EXPECT_LT(offset % unit, unit - page) << k; // not the excluded page
    EXPECT_GT(region.page(k), last);
    last = region.page(k);
    *last = 1;
  }
  EXPECT_LT(last, region.data() + region.size());
}

TEST(PageRegion, BasePagesLieSideBySide) {
  PageRegion region(1 << 20, base_page_bytes());
  EXPECT_EQ(region.pages(), (1u << 20) / base_page_bytes());
  EXPECT_EQ(region.page(3), region.data() + 3 * base_page_bytes());
  EXPECT_TRUE(region.is_given());
}

// A round gives its memory back before the next, as programs do; memory that is kept would leave
// other frames to the next round.
TEST(PointerChase, GivesARoundsMemoryBackBeforeTheNext) {
  const auto resident = [] {
    uint64_t total = 0, pages = 0;
    std::ifstream("/proc/self/statm") >> total >> pages;
    return pages;
  };
  constexpr uint64_t kLines = 8192;
  PointerChase::Plan plan;
  plan.most_lines = kLines;
  plan.repeats = 5;
  PointerChase source(plan);
  uint64_t after_first = 0;
  for (int round = 0; round < 4; round++) {
    source.refresh();
    if (round > 0) {
      EXPECT_LT(resident(), after_first - kLines / 2);
    }
    ASSERT_TRUE(source.chase({source.base_page_bytes(), source.base_page_bytes(), kLines}));
    if (round == 0)
      after_first = resident();
    ASSERT_GT(after_first, kLines);
  }
  EXPECT_LT(resident(), after_first + kLines / 2);
}

} // namespace
} // namespace smalloc::calibrate
