// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests the mover with a scripted kernel, including every failure of move_pages(2), and with the
// real kernel, which has at least one node.
#include "smalloc/numa/page_mover.h"
#include "tests/unit/numa/fake_machine.h"

#include <cerrno>
#include <cstring>
#include <functional>
#include <map>
#include <sys/mman.h>

#include <gtest/gtest.h>

namespace smalloc::numa {
namespace {

struct FakeKernel {
  static inline std::map<uintptr_t, int> where;    ///< by page
  static inline std::map<uintptr_t, int> refusals; ///< by page: a negative errno value
  static inline long answer = 0;                   ///< of the whole call
  static inline unsigned gives_up_after = ~0u, calls = 0, collapses = 0;
  static inline int collapse_error = 0, split_error = EBUSY;
  static inline std::function<void()> during;

  static void reset() {
    where.clear();
    refusals.clear();
    answer = 0;
    gives_up_after = ~0u;
    calls = collapses = 0;
    collapse_error = 0;
    split_error = EBUSY;
    during = nullptr;
  }
  static long move_pages(unsigned long count, void **pages, const int *nodes, int *status) {
    calls++;
    if (during)
      during();
    if (answer < 0)
      return answer;
    long left = 0;
    for (unsigned long i = 0; i < count; i++) {
      auto page = reinterpret_cast<uintptr_t>(pages[i]);
      if (i >= gives_up_after) {
        left++;
        continue;
      }
      if (auto r = refusals.find(page); r != refusals.end()) {
        status[i] = r->second;
      } else if (nodes) {
        status[i] = where[page] = nodes[i];
      } else {
        auto w = where.find(page);
        status[i] = w == where.end() ? -ENOENT : w->second;
      }
    }
    return left;
  }
};
const MoverHooks kFake = {FakeKernel::move_pages,
                          [](void *, size_t) {
                            FakeKernel::collapses++;
                            return FakeKernel::collapse_error;
                          },
                          [] { return uint64_t{0}; },
                          [](void *) { return FakeKernel::split_error; }};

struct PageMoverTest : testing::Test {
  void SetUp() override { FakeKernel::reset(); }
  static PolicyOptions options() {
    PolicyOptions o = PolicyOptions::paper();
    return o;
  }
  /// Plans one move to node 1 for each of the first `pages` pages.
  size_t plan(FakeMachine &m, unsigned pages) {
    for (unsigned p = 0; p < pages; p++)
      m.access(0, p, 1, 4);
    return m.policy.plan(m.unit.data(), m.unit.size(), m.out.data(), m.out.size());
  }
};

} // namespace

TEST_F(PageMoverTest, MovesInBatchesAndTellsThePolicy) {
  Topology t = fake_topology(2);
  t.node[1].os_id = 8; // the kernel's number, not the index
  FakeMachine m(t, options());
  PageMover mover(t, kFake);
  const size_t n = plan(m, 300);
  ASSERT_EQ(n, 300u);
  EXPECT_EQ(mover.carry_out(m.policy, m.out.data(), n), 300u);
  EXPECT_EQ(FakeKernel::calls, 2u); // 256 + 44
  EXPECT_EQ(mover.counters().pages, 300u);
  EXPECT_EQ(mover.counters().failed(), 0u);
  EXPECT_EQ(m.policy.counters().moved_pages, 300u);
  for (unsigned p = 0; p < 300; p++) {
    EXPECT_EQ(m.unit[0]->page[p].home(), 1);
    EXPECT_EQ(FakeKernel::where[m.unit[0]->address + p * kBasePageBytes], 8);
  }
}

TEST_F(PageMoverTest, CountsEachReasonAndLeavesThePageWhereItIs) {
  Topology t = fake_topology(2);
  FakeMachine m(t, options());
  PageMover mover(t, kFake);
  const int errors[] = {-EBUSY, -ENOMEM, -EACCES, -ENOENT, -EFAULT, -EPERM, -E2BIG};
  const MoveFailure reasons[] = {kBusy, kNoMemory,   kShared,      kAbsent,
                                 kGone, kNotAllowed, kOtherFailure};
  const size_t n = plan(m, 10);
  for (unsigned p = 0; p < 7; p++)
    FakeKernel::refusals[m.unit[0]->address + p * kBasePageBytes] = errors[p];
  EXPECT_EQ(mover.carry_out(m.policy, m.out.data(), n), 3u);
  for (MoveFailure reason : reasons)
    EXPECT_EQ(mover.counters().failures[reason], 1u) << failure_name(reason);
  for (unsigned p = 0; p < 10; p++) {
    EXPECT_EQ(m.unit[0]->page[p].home(), p < 7 ? 0 : 1);
    EXPECT_EQ(m.unit[0]->page[p].frozen(), 3u); // tried, so it stays for a while
  }
}

TEST_F(PageMoverTest, SurvivesACallThatFailsAsAWhole) {
  Topology t = fake_topology(2);
  FakeMachine m(t, options());
  PageMover mover(t, kFake);
  const size_t n = plan(m, 5);
  FakeKernel::answer = -ENOSYS; // a seccomp filter
  EXPECT_EQ(mover.carry_out(m.policy, m.out.data(), n), 0u);
  EXPECT_EQ(mover.counters().failures[kNotAllowed], 5u);
  EXPECT_EQ(m.unit[0]->page[0].home(), 0);
  EXPECT_EQ(mover.locate(*m.unit[0]), 0u);
}

TEST_F(PageMoverTest, TakesWhatACallDidNotComeToAsNotMoved) {
  Topology t = fake_topology(2);
  FakeMachine m(t, options());
  PageMover mover(t, kFake);
  const size_t n = plan(m, 5);
  FakeKernel::gives_up_after = 2;
  EXPECT_EQ(mover.carry_out(m.policy, m.out.data(), n), 2u);
  EXPECT_EQ(mover.counters().failures[kBusy], 3u);
}

TEST_F(PageMoverTest, BelievesTheKernelWhenAPageLiesElsewhere) {
  Topology t = fake_topology(3);
  FakeMachine m(t, options());
  PageMover mover(t, kFake);
  const size_t n = plan(m, 1);
  FakeKernel::refusals[m.unit[0]->address] = 2; // a node: another mover was faster
  EXPECT_EQ(mover.carry_out(m.policy, m.out.data(), n), 0u);
  EXPECT_EQ(m.unit[0]->page[0].home(), 2);
}

TEST_F(PageMoverTest, StopsBetweenBatchesWhenTheProcessEnds) {
  Topology t = fake_topology(2);
  FakeMachine m(t, options());
  PageMover mover(t, kFake);
  const size_t n = plan(m, 400);
  static volatile bool stop;
  stop = false;
  FakeKernel::during = [] { stop = true; };
  EXPECT_EQ(mover.carry_out(m.policy, m.out.data(), n, &stop), 256u);
  EXPECT_EQ(FakeKernel::calls, 1u);
}

TEST_F(PageMoverTest, MovesASuperpageByOneAddressOrSplitsIt) {
  PolicyOptions o;
  o.sample_period = 1000;
  o.imbalance_limit = 0;
  Topology t = fake_topology(2);
  FakeMachine whole(t, o), halves(t, o);
  whole.unit[0]->granularity = halves.unit[0]->granularity = Granularity::kSuperpage;
  PageMover mover(t, kFake);
  for (unsigned p = 0; p < kPagesPerUnit; p++) {
    whole.access(0, p, 1, 4);
    halves.access(0, p, p < 256 ? 0 : 1, 8);
  }
  size_t n = whole.policy.plan(whole.unit.data(), 1, whole.out.data(), whole.out.size());
  ASSERT_EQ(n, 1u);
  EXPECT_EQ(mover.carry_out(whole.policy, whole.out.data(), n), 1u);
  EXPECT_EQ(FakeKernel::where.size(), 1u);
  EXPECT_EQ(mover.counters().superpages, 1u);
  EXPECT_EQ(whole.unit[0]->page[511].home(), 1);

  n = halves.policy.plan(halves.unit.data(), 1, halves.out.data(), halves.out.size());
  ASSERT_EQ(n, 257u);
  EXPECT_EQ(mover.carry_out(halves.policy, halves.out.data(), n), 0u);
  EXPECT_EQ(mover.counters().failures[kSplitRefused], 257u);
  EXPECT_EQ(halves.unit[0]->granularity, Granularity::kSuperpage);
  EXPECT_EQ(halves.unit[0]->page[300].home(), 0);

  // A superpage that cannot be split stays frozen for a while; then the kernel splits it.
  FakeKernel::split_error = 0;
  for (unsigned i = 0; i < 4; i++) {
    halves.policy.next_interval(halves.unit.data(), 1);
    for (unsigned p = 0; p < kPagesPerUnit; p++)
      halves.access(0, p, p < 256 ? 0 : 1, 8);
    n = halves.policy.plan(halves.unit.data(), 1, halves.out.data(), halves.out.size());
  }
  ASSERT_EQ(n, 257u);
  EXPECT_EQ(mover.carry_out(halves.policy, halves.out.data(), n), 257u);
  EXPECT_EQ(mover.counters().splits, 1u);
  EXPECT_EQ(halves.unit[0]->granularity, Granularity::kPages);
  EXPECT_EQ(halves.unit[0]->page[300].home(), 1);
  EXPECT_EQ(halves.unit[0]->page[200].home(), 0);
}

TEST_F(PageMoverTest, CollapsesWhenAsked) {
  Topology t = fake_topology(2);
  FakeMachine m(t, options());
  PageMover mover(t, kFake);
  const Move collapse = {m.unit[0], 0, 0, 0, Action::kCollapse, 0, 0, 0};
  FakeKernel::collapse_error = EAGAIN;
  EXPECT_EQ(mover.carry_out(m.policy, &collapse, 1), 0u);
  EXPECT_EQ(mover.counters().failures[kBusy], 1u);
  FakeKernel::collapse_error = 0;
  EXPECT_EQ(mover.carry_out(m.policy, &collapse, 1), 1u);
  EXPECT_EQ(m.unit[0]->granularity, Granularity::kSuperpage);
}

// Tests the real kernel, on any number of nodes: pages are where they were first touched, untouched
// pages have no node. A node that does not exist is refused. Contents and errno stay.
TEST_F(PageMoverTest, WorksOnTheRealKernel) {
  char *memory = static_cast<char *>(mmap(nullptr, 2 * kSuperpageBytes, PROT_READ | PROT_WRITE,
                                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(memory, MAP_FAILED);
  auto address = align_up(reinterpret_cast<uintptr_t>(memory), kSuperpageBytes);
  char *data = reinterpret_cast<char *>(address);
  madvise(data, kSuperpageBytes, MADV_NOHUGEPAGE);
  for (unsigned p = 0; p < 100; p++)
    data[p * kBasePageBytes] = static_cast<char>(p);
  int where = -1; // of the first page
  void *first = data;
  kKernelMover.move_pages(1, &first, nullptr, &where);
  Topology t = fake_topology(2);
  t.node[0].os_id = static_cast<uint32_t>(where);
  t.node[1].os_id = 1023; // no tested machine has it
  FakeMachine m(t, options());
  m.unit[0]->address = address;
  for (PageCounts &page : m.unit[0]->page)
    page.set_home(kNoNode);
  PageMover mover(t, kKernelMover);
  const size_t resident = mover.locate(*m.unit[0]);
  if (resident == 0) {
    munmap(memory, 2 * kSuperpageBytes);
    GTEST_SKIP() << "move_pages(2) is not to be had here";
  }
  EXPECT_EQ(resident, 100u);
  EXPECT_EQ(m.unit[0]->page[99].home(), 0);
  EXPECT_EQ(m.unit[0]->page[100].home(), kNoNode);
  const size_t n = plan(m, 10);
  ASSERT_EQ(n, 10u);
  errno = 77;
  EXPECT_EQ(mover.carry_out(m.policy, m.out.data(), n), 0u);
  EXPECT_EQ(errno, 77);
  EXPECT_EQ(mover.counters().failures[kNotAllowed], 10u);
  Move home = m.out[0];
  home.to = 0;
  EXPECT_EQ(mover.carry_out(m.policy, &home, 1), 1u);
  Move absent = home;
  absent.page = 200;
  EXPECT_EQ(mover.carry_out(m.policy, &absent, 1), 0u);
  EXPECT_EQ(mover.counters().failures[kAbsent], 1u);
  munmap(memory, 2 * kSuperpageBytes);
  EXPECT_EQ(mover.carry_out(m.policy, &home, 1), 0u); // a race with munmap
  EXPECT_GE(mover.counters().failures[kAbsent] + mover.counters().failures[kGone], 2u);
}

// With a second node (the guest of tests/numa-vm), base pages and a superpage really move there and
// keep their contents.
TEST_F(PageMoverTest, MovesBetweenNodesOfThisMachine) {
  Topology t = fake_topology(2);
  char *memory = static_cast<char *>(mmap(nullptr, 3 * kSuperpageBytes, PROT_READ | PROT_WRITE,
                                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(memory, MAP_FAILED);
  auto address = align_up(reinterpret_cast<uintptr_t>(memory), kSuperpageBytes);
  char *data = reinterpret_cast<char *>(address);
  madvise(data, kSuperpageBytes, MADV_NOHUGEPAGE);
  madvise(data + kSuperpageBytes, kSuperpageBytes, MADV_HUGEPAGE);
  for (size_t i = 0; i < 2 * kSuperpageBytes; i += kBasePageBytes)
    memset(data + i, static_cast<int>(i / kBasePageBytes % 251), kBasePageBytes);
  PolicyOptions o = options();
  FakeMachine m(t, o, 2);
  PageMover mover(t, kKernelMover);
  for (unsigned u = 0; u < 2; u++) {
    m.unit[u]->address = address + u * kSuperpageBytes;
    mover.locate(*m.unit[u]);
  }
  const uint8_t from = m.unit[0]->page[0].home(), to = from == 0 ? 1 : 0;
  m.unit[1]->granularity = Granularity::kSuperpage;
  for (unsigned u = 0; u < 2; u++)
    for (unsigned p = 0; p < kPagesPerUnit; p++)
      m.access(u, p, to, 4);
  const size_t n = from < 2 ? m.policy.plan(m.unit.data(), 2, m.out.data(), m.out.size()) : 0;
  const size_t done = mover.carry_out(m.policy, m.out.data(), n);
  if (from >= 2 || mover.counters().failures[kNotAllowed]) {
    munmap(memory, 3 * kSuperpageBytes);
    GTEST_SKIP() << "this machine has no second node with memory: run tests/numa-vm";
  }
  EXPECT_EQ(n, kPagesPerUnit + 1);
  EXPECT_EQ(done, n);
  for (unsigned u = 0; u < 2; u++) {
    for (PageCounts &page : m.unit[u]->page)
      page.set_home(kNoNode);
    EXPECT_EQ(mover.locate(*m.unit[u]), kPagesPerUnit);
    for (unsigned p = 0; p < kPagesPerUnit; p++)
      ASSERT_EQ(m.unit[u]->page[p].home(), to) << u << " " << p;
  }
  for (size_t i = 0; i < 2 * kSuperpageBytes; i += 64)
    ASSERT_EQ(data[i], static_cast<char>(i / kBasePageBytes % 251));
  munmap(memory, 3 * kSuperpageBytes);
}

} // namespace smalloc::numa
