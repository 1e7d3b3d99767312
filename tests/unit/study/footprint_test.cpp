// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// footprint_test.cpp tests the parsing of /proc/PID/smaps.
#include "runtime/study/footprint.h"

#include <gtest/gtest.h>

namespace smalloc::study {
namespace {

const char *const kSmaps =
    R"(555555554000-555555556000 r--p 00000000 08:01 1234                       /usr/bin/my app
Size:                  8 kB
KernelPageSize:        4 kB
Rss:                   8 kB
555555556000-555555560000 r-xp 00002000 08:01 1234                       /usr/bin/my app
Rss:                  40 kB
FilePmdMapped:         0 kB
555555560000-555555562000 rw-p 0000c000 08:01 1234                       /usr/bin/my app
Rss:                   8 kB
555555562000-555555600000 rw-p 00000000 00:00 0 
Rss:                2052 kB
555555600000-555555963000 rw-p 00000000 00:00 0 
Rss:                2048 kB
AnonHugePages:      2048 kB
555555a00000-555555a21000 rw-p 00000000 00:00 0                          [heap]
Rss:                 100 kB
7ffff0000000-7ffff8000000 rw-p 00000000 00:00 0 
Rss:               65536 kB
AnonHugePages:     61440 kB
VmFlags: rd wr mr mw me ac sd hg
7ffff8000000-7ffff8400000 rw-p 00000000 00:0f 99                         /anon_hugepage (deleted)
Rss:                   0 kB
Private_Hugetlb:    4096 kB
7ffff9000000-7ffff9001000 rw-s 00000000 00:01 5                          /dev/shm/x
Rss:                   4 kB
7ffffffde000-7ffffffff000 rw-p 00000000 00:00 0                          [stack]
Rss:                  16 kB
ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]
Rss:                   0 kB
)";

const PageUse &of(const Footprint &f, Segment s) { return f.segments[static_cast<size_t>(s)]; }

TEST(Footprint, SeparatesSegmentsAndPageSizes) {
  const Footprint f = parse_smaps(kSmaps);
  EXPECT_EQ(of(f, Segment::kText).base_bytes, 40u << 10);
  // .data, and the anonymous pages right behind it: .bss.
  EXPECT_EQ(of(f, Segment::kStatic).base_bytes, (8u + 2052u) << 10);
  EXPECT_EQ(of(f, Segment::kStatic).thp_bytes, 2048u << 10);
  EXPECT_EQ(of(f, Segment::kHeap).thp_bytes, 61440u << 10);
  EXPECT_EQ(of(f, Segment::kHeap).base_bytes, (100u + 4096u) << 10);
  EXPECT_EQ(of(f, Segment::kHeap).hugetlb_bytes, 4096u << 10);
  EXPECT_EQ(of(f, Segment::kStack).base_bytes, 16u << 10);
  EXPECT_EQ(of(f, Segment::kOther).base_bytes, 12u << 10);
  EXPECT_EQ(f.total().total(), (8u + 40 + 8 + 4100 + 100 + 65536 + 4096 + 4 + 16) << 10);
}

TEST(Footprint, SkipsWhatItDoesNotUnderstand) {
  EXPECT_EQ(parse_smaps("").total().total(), 0u);
  EXPECT_EQ(parse_smaps("garbage\n-\n: \nRss:\nRss: x kB\n\n").total().total(), 0u);
  // Superpages cannot be more than resident bytes.
  EXPECT_EQ(
      parse_smaps("1000-2000 rw-p 0 0:0 0\nRss: 4 kB\nAnonHugePages: 99999 kB\n").total().total(),
      4096u);
}

// Superpage advice splits the stack; a mapping that grows down belongs to the stack whatever its
// name is.
TEST(Footprint, KnowsAStackThatWasAdvised) {
  const Footprint f = parse_smaps(R"(7fffff000000-7fffff600000 rw-p 00000000 00:00 0 
Rss:                4096 kB
AnonHugePages:      4096 kB
VmFlags: rd wr mr mw me gd ac hg 
7fffff600000-7fffff7ff000 rw-p 00000000 00:00 0                          [stack]
Rss:                  16 kB
VmFlags: rd wr mr mw me gd ac 
)");
  EXPECT_EQ(of(f, Segment::kStack).thp_bytes, 4096u << 10);
  EXPECT_EQ(of(f, Segment::kStack).base_bytes, 16u << 10);
  EXPECT_EQ(of(f, Segment::kHeap).total(), 0u);
}

TEST(Footprint, AveragesSegmentsAndSizesApart) {
  Footprint early, late;
  early.segments[static_cast<size_t>(Segment::kStack)].thp_bytes = 100;
  late.segments[static_cast<size_t>(Segment::kStack)].thp_bytes = 300;
  late.segments[static_cast<size_t>(Segment::kText)].base_bytes = 40;
  FootprintSeries series;
  series.add(0, early);
  series.add(3, late);
  const Footprint average = series.average(4);
  EXPECT_EQ(of(average, Segment::kStack).thp_bytes, 150u);
  EXPECT_EQ(of(average, Segment::kText).base_bytes, 10u);
}

TEST(Footprint, AveragesOverTime) {
  const auto of_bytes = [](uint64_t bytes) {
    Footprint f;
    f.segments[0].base_bytes = bytes;
    return f;
  };
  FootprintSeries series;
  EXPECT_EQ(series.average_bytes(1), 0);
  EXPECT_EQ(series.maximum_bytes(), 0u);
  series.add(0, of_bytes(100));
  series.add(1, of_bytes(400));
  series.add(2, of_bytes(200));
  EXPECT_NEAR(series.average_bytes(4), (100 + 400 + 2 * 200) / 4.0, 1e-9);
  EXPECT_EQ(series.maximum_bytes(), 400u);
}

} // namespace
} // namespace smalloc::study
