// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// one_refusal_test.cpp refuses every system call once: the first in one run, the second in the
// next, until a run passes without a refusal. Then repeats that with two calls refused, and with
// all calls from one on. Objects keep their bytes, fresh memory is zero, tables agree, and nothing
// leaks.
#include "smalloc/big/big_objects.h"
#include "smalloc/small/small_pages.h"
#include "tests/unit/core/fake_os.h"

#include <gtest/gtest.h>
#include <vector>

namespace smalloc {
namespace {

/// The fake system, which refuses `length` calls from call `first` on.
struct Refusing {
  static inline unsigned calls = 0, first = 0, length = 0;
  static inline std::vector<char> committed; ///< by page
  static bool now() {
    unsigned call = calls++;
    return call >= first && call - first < length;
  }
  static char *page(const void *p) {
    auto start = align_up(reinterpret_cast<uintptr_t>(FakeOs::memory), kSuperpageBytes);
    return committed.data() + (reinterpret_cast<uintptr_t>(p) - start) / kBasePageBytes;
  }
  static void mark(const void *p, size_t n, bool on) { memset(page(p), on, n / kBasePageBytes); }
  static const OsHooks &hooks() {
    static OsHooks table = [] {
      OsHooks t = FakeOs::hooks();
      t.reserve = [](size_t n) { return now() ? nullptr : FakeOs::hooks().reserve(n); };
      t.commit = [](void *p, size_t n) {
        if (now())
          return ENOMEM;
        mark(p, n, true);
        return 0;
      };
      t.decommit = [](void *p, size_t n) { // its contents are gone in any case
        mark(p, n, false);
        FakeOs::hooks().decommit(p, n);
        return now() ? ENOMEM : 0;
      };
      t.purge = [](void *p, size_t n) { return now() ? EINVAL : FakeOs::hooks().purge(p, n); };
      t.advise = [](void *p, size_t n, Advice a) {
        return now() ? EINVAL : FakeOs::hooks().advise(p, n, a);
      };
      t.collapse = [](void *p, size_t n) {
        return now() ? EAGAIN : FakeOs::hooks().collapse(p, n);
      };
      t.resident_pages = [](const void *p, size_t n) {
        return now() ? 0 : FakeOs::hooks().resident_pages(p, n);
      };
      t.move = [](void *from, void *to, size_t n) {
        if (now())
          return ENOMEM;
        // Like the kernel: unwritten pages stay unwritten. Fails across two mappings.
        constexpr int kFlags = MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP;
        return mremap(from, n, n, kFlags, to) == to ? 0 : FakeOs::hooks().move(from, to, n);
      };
      t.open_hugetlb = [](size_t) { return now() ? ENOENT : 0; };
      t.map_hugetlb = [](void *p, size_t n, size_t page) {
        return now() ? ENOMEM : FakeOs::hooks().map_hugetlb(p, n, page);
      };
      t.unmap_hugetlb = [](void *p, size_t n) {
        mark(p, n, false);
        return FakeOs::hooks().unmap_hugetlb(p, n);
      };
      t.read_file = [](const char *path, char *text, size_t n) {
        return now() ? -1 : FakeOs::hooks().read_file(path, text, n);
      };
      t.split = [](void *p, void *idle) { return now() ? EINVAL : FakeOs::hooks().split(p, idle); };
      return t;
    }();
    return table;
  }
};

class Scenario {
public:
  explicit Scenario(ThpMode thp, PageBacking backing) : thp_(thp), backing_(backing) {}

  /// Runs the scenario. True: all of it ran. False: the start was refused, so the program's malloc
  /// serves.
  bool run() {
    FakeOs::reset();
    Region::Config config = FakeOs::config();
    config.os = &Refusing::hooks();
    config.bytes = size_t{8} << 30;
    config.thp = thp_;
    config.budget.bytes = 30 * kSuperpageBytes;
    config.pending = &pending_;
    Refusing::committed.assign(config.bytes / kBasePageBytes + kPagesPerUnit, 0);
    if (!region_.init(config, counters_))
      return false;
    PageFallback::Config page_fallback_config;
    page_fallback_config.asked = backing_;
    page_fallback_.init(Refusing::hooks(), page_fallback_config, counters_);
    if (!big_.init(region_, page_fallback_, {uint64_t{64} << 20, true}))
      return false;
    big_objects();
    small_pages(Slice::kSmallBase, true);
    small_pages(Slice::kClass, false);
    return true;
  }

private:
  struct Object {
    unsigned char *p;
    size_t bytes;
    unsigned char value;
  };
  static constexpr size_t kMiB = size_t{1} << 20;

  void stamp(const Object &o) {
    for (size_t i = 0; i < o.bytes; i += 65536)
      o.p[i] = o.value;
    o.p[o.bytes - 1] = o.value;
  }
  static bool holds(const unsigned char *p, size_t bytes, unsigned char value) {
    for (size_t i = 0; i < bytes; i += 65536)
      if (p[i] != value)
        return false;
    return true;
  }
  void allocate(size_t bytes, bool at_first_touch, bool zero) {
    BigRequest request;
    request.bytes = bytes;
    request.superpages_at_first_touch = at_first_touch;
    request.zero = zero;
    auto *p = static_cast<unsigned char *>(big_.allocate(request));
    ASSERT_TRUE(big_.check_invariants());
    if (!p)
      return;
    ASSERT_TRUE(!zero || (holds(p, bytes, 0) && p[bytes - 1] == 0));
    objects_.push_back({p, bytes, static_cast<unsigned char>(objects_.size() + 1)});
    stamp(objects_.back());
  }
  void resize(Object &o, size_t bytes) {
    auto *p = static_cast<unsigned char *>(big_.resize(o.p, bytes));
    ASSERT_TRUE(big_.check_invariants());
    if (p) {
      ASSERT_TRUE(holds(p, min_of(o.bytes, bytes), o.value));
      o.p = p;
      o.bytes = bytes;
      stamp(o);
    }
    ASSERT_TRUE(holds(o.p, o.bytes, o.value));
  }

  void big_objects() {
    allocate(5 * kMiB, true, true);
    allocate(6 * kMiB + 5000, false, true);
    allocate(3 * kMiB, true, false);
    allocate(4 * kMiB, false, false);
    for (Object &o : objects_) {
      big_.promote(big_.find(o.p), price_, 1000000000, 1000000000, false);
      ASSERT_TRUE(big_.check_invariants());
    }
    for (size_t bytes : {7 * kMiB, 3 * kMiB, 9 * kMiB, 10 * kMiB, 3 * kMiB})
      for (Object &o : objects_)
        resize(o, bytes);
    for (size_t i = 0; i < objects_.size(); i += 2) { // kept units of them are used again
      ASSERT_TRUE(big_.release(objects_[i].p));
      objects_[i] = objects_.back();
      objects_.pop_back();
    }
    allocate(3 * kMiB, true, true);
    allocate(3 * kMiB, false, true);
    for (Object &o : objects_) {
      ASSERT_TRUE(holds(o.p, o.bytes, o.value) && o.p[o.bytes - 1] == o.value);
      ASSERT_TRUE(big_.release(o.p));
      ASSERT_TRUE(big_.check_invariants());
    }
    objects_.clear();
    big_.trim();
    ASSERT_TRUE(big_.check_invariants());
    EXPECT_EQ(counters_.superpages_now.get(), 0u);
    EXPECT_EQ(region_.charged_superpages(), 0u);
    EXPECT_EQ(counters_.mappings.get(), 0u);
    EXPECT_EQ(counters_.big_bytes_now.get(), 0u);
    EXPECT_EQ(counters_.big_objects_now.get(), 0u);
    EXPECT_EQ(pending_, 0u);
    EXPECT_TRUE(FakeOs::pooled.empty());
    for (Slice s : {Slice::kBigBase, Slice::kBigSuper}) {
      char *first = Refusing::page(region_.unit_address(s, 0));
      EXPECT_EQ(memchr(first, 1, size_t{region_.slice_units(s)} * kPagesPerUnit), nullptr);
    }
  }

  /// Commits pages as jemalloc does, and writes one page in eight.
  void commit(SmallPages &small, char *p, size_t pages, char value) {
    ASSERT_TRUE(small.commit(p, pages * kBasePageBytes));
    for (size_t i = 0; i < pages * kBasePageBytes; i += 8 * kBasePageBytes) {
      ASSERT_EQ(p[i], 0);
      ASSERT_EQ(p[i + kBasePageBytes - 1], 0);
      p[i] = p[i + kBasePageBytes - 1] = value;
    }
    ASSERT_TRUE(small.check_invariants());
  }
  void decommit(SmallPages &small, char *p, size_t pages) {
    small.decommit(p, pages * kBasePageBytes);
    ASSERT_TRUE(small.check_invariants());
  }
  void small_pages(Slice base, bool at_first_touch) {
    SmallPages small;
    SmallPages::Config config;
    config.base = base;
    config.has_super = config.superpages_at_first_touch = at_first_touch;
    if (!small.init(region_, config))
      return;
    small.lower_reach(0);
    std::vector<char *> unit;
    for (size_t i = 0; i < 8; i++) {
      char *p = small.grow(kSuperpageBytes, kSuperpageBytes, 1);
      if (!p)
        continue;
      unit.push_back(p);
      commit(small, p, kPagesPerUnit, static_cast<char>(unit.size()));
    }
    small.earn(uint64_t{100} * 1500000);
    small.promote(price_, UINT64_MAX, false);
    ASSERT_TRUE(small.check_invariants());
    for (char *p : unit) // one page in eight stays
      for (size_t k = 0; k < kPagesPerUnit; k += 64)
        decommit(small, p + k * kBasePageBytes, 56);
    for (size_t i = 0; i < unit.size(); i++)
      for (size_t k = 56; k < kPagesPerUnit; k += 64)
        ASSERT_EQ(unit[i][k * kBasePageBytes], static_cast<char>(i + 1));
    for (size_t i = 0; i < unit.size(); i += 3)
      commit(small, unit[i], 56, 99);
    small.promote_all(price_);
    ASSERT_TRUE(small.check_invariants());
    for (char *p : unit)
      decommit(small, p, kPagesPerUnit);
    EXPECT_EQ(small.live_bytes(), 0u);
    EXPECT_EQ(pending_, 0u);
    // A refused purge leaves dirty pages, which are cleared before their next use.
    for (char *p : unit)
      commit(small, p, kPagesPerUnit, 5);
    for (char *p : unit)
      decommit(small, p, kPagesPerUnit);
    EXPECT_EQ(pending_, 0u);
  }

  ThpMode thp_;
  PageBacking backing_;
  unsigned pending_ = 0;
  Counters counters_;
  Region region_;
  PageFallback page_fallback_;
  BigObjects big_;
  Price price_;
  std::vector<Object> objects_;
};

class OneRefusal : public testing::TestWithParam<std::tuple<ThpMode, PageBacking, unsigned>> {};

TEST_P(OneRefusal, OfEachCallLeavesNothingBroken) {
  auto [thp, backing, length] = GetParam();
  // Length 1 refuses every call in turn. A greater length also refuses the following calls; these
  // runs take longer steps.
  unsigned step = length == 1 ? 1 : 11, last = 0;
  bool through = false;
  for (unsigned first = 0; !through; first += step) {
    Refusing::calls = 0;
    Refusing::first = first;
    Refusing::length = length;
    Scenario scenario(thp, backing);
    scenario.run();
    ASSERT_FALSE(HasFatalFailure() || HasNonfatalFailure()) << "call " << first;
    through = Refusing::calls <= first;
    last = first;
  }
  EXPECT_GT(last, 150u); // calls of a scenario
  Refusing::length = 0;
}
using Parameters = std::tuple<ThpMode, PageBacking, unsigned>;
INSTANTIATE_TEST_SUITE_P(
    Calls, OneRefusal,
    testing::Values(Parameters{ThpMode::kMadvise, PageBacking::kThp, 1},
                    Parameters{ThpMode::kAlways, PageBacking::kHugetlb, 1},
                    Parameters{ThpMode::kMadvise, PageBacking::kHugetlb, 2},
                    Parameters{ThpMode::kAlways, PageBacking::kThp, 2},
                    Parameters{ThpMode::kMadvise, PageBacking::kThp, UINT32_MAX},
                    Parameters{ThpMode::kAlways, PageBacking::kHugetlb, UINT32_MAX}));
} // namespace
} // namespace smalloc
