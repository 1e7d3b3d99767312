// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// small_pages_fuzz: runs sequences of growths, commits, decommits, promotions and demotions of the
// heap of small objects, in which the system may refuse any call. No used page may lose a byte,
// fresh pages must be zero, and counts must be right. The input is a header of one byte (the heap's
// configuration) and operations of six: operation, refusals meanwhile, a unit, a page, a number of
// pages (two).
// //
// The test checks one word of each page against a model.
#include "smalloc/small/small_pages.h"
#include "tests/fuzz/fuzz.h"

#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <vector>

using namespace smalloc;

namespace {

constexpr size_t kBytes = size_t{2} << 30;
constexpr size_t kMostUnits = 96;

enum Refusal : uint8_t {
  kRefuseCommit = 1, ///< of address space
  kRefusePurge = 2,  ///< locked memory
  kRefuseCollapse = 4,
  kRefuseAdvice = 8,
  kRefuseSplit = 16,
  kSparse = 32,
};

struct System {
  static inline char *reserved = nullptr;
  static inline uint8_t refusals = 0;
  static inline uint64_t clock_ns = 0;

  static void reset() {
    if (!reserved) {
      void *p = mmap(nullptr, kBytes + kSuperpageBytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      FUZZ_CHECK(p != MAP_FAILED);
      reserved =
          reinterpret_cast<char *>(align_up(reinterpret_cast<uintptr_t>(p), kSuperpageBytes));
    }
    FUZZ_CHECK(madvise(reserved, kBytes, MADV_DONTNEED) == 0);
    refusals = 0;
    clock_ns = 1000;
  }
  static void in_range(const void *p, size_t n) {
    const size_t offset = static_cast<size_t>(static_cast<const char *>(p) - reserved);
    FUZZ_CHECK(offset <= kBytes && n <= kBytes - offset);
    FUZZ_CHECK(offset % kBasePageBytes == 0 && n % kBasePageBytes == 0);
  }
  static int answer(Refusal what, int error) { return refusals & what ? error : 0; }
};

const OsHooks kSystem = {
    [](size_t bytes) -> void * { return bytes <= kBytes ? System::reserved : nullptr; },
    [](void *p, size_t n) {
      System::in_range(p, n);
      return System::answer(kRefuseCommit, ENOMEM);
    },
    [](void *p, size_t n) {
      System::in_range(p, n);
      return madvise(p, n, MADV_DONTNEED);
    },
    [](void *p, size_t n) {
      System::in_range(p, n);
      FUZZ_CHECK(n != 0);
      return System::refusals & kRefusePurge ? EINVAL : madvise(p, n, MADV_DONTNEED);
    },
    [](void *p, size_t n, Advice) {
      System::in_range(p, n);
      return System::answer(kRefuseAdvice, EINVAL);
    },
    [](void *p, size_t n) {
      System::in_range(p, n);
      FUZZ_CHECK(n == kSuperpageBytes && reinterpret_cast<uintptr_t>(p) % n == 0);
      System::clock_ns += 1500000;
      return System::answer(kRefuseCollapse, EAGAIN);
    },
    [](const void *p, size_t n) -> size_t {
      System::in_range(p, n);
      return System::refusals & kSparse ? 3 : n / kBasePageBytes;
    },
    [](void *, void *, size_t) { return EFAULT; },
    [](size_t) { return ENOENT; },
    [](void *, size_t, size_t) { return ENOMEM; },
    [](void *, size_t) { return 0; },
    [] { return System::clock_ns += 1000; },
    [](const char *, char *, size_t) -> long { return -1; },
    [](const char *, size_t) {},
    [](void *p, void *idle_page) {
      System::in_range(p, kSuperpageBytes);
      if (idle_page) // its contents may be lost
        memset(idle_page, 0, kBasePageBytes);
      return System::answer(kRefuseSplit, EINVAL);
    },
    [] { return 0; },
    [] { return false; },
    [](void *, size_t) { return 0; },
    [](void *, size_t) -> uint64_t { return System::clock_ns / 100 % 3 == 0 ? 4500000 : 100000; },
    []() -> uint64_t { return 600000; },
    [](const void *) -> unsigned { return System::clock_ns / 100 % 2 == 0 ? 0xffff : 0x3f; },
    [](void *, size_t) { return true; },
    [](const void *) { return UnitPages::kSuperpage; },
};

class Session {
public:
  bool start(fuzz::Input &in) {
    System::reset();
    const uint8_t how = in.byte();
    static constexpr uint64_t kBudgets[] = {0, 3, 20, 90};
    Region::Config c;
    c.os = &kSystem;
    c.bytes = kBytes;
    c.thp = how & 1 ? ThpMode::kAlways : ThpMode::kMadvise;
    c.superpages_allowed = !(how & 2);
    c.budget.bytes = kBudgets[how >> 2 & 3] * kSuperpageBytes;
    c.mapping_limit = how & 16 ? 8 * 12 : 65530;
    c.pending = &waiting_;
    SmallPages::Config s;
    s.base = how & 32 ? Slice::kClass : Slice::kSmallBase;
    s.has_super = !(how & 32);
    s.superpages_at_first_touch = how & 64;
    s.idle_percent = how & 128 ? 0 : 10;
    first_touch_.init(kSystem);
    s.first_touch = how & 16 ? &first_touch_ : nullptr;
    if (!region_.init(c, counters_) || !pages_.init(region_, s))
      return false;
    pages_.lower_reach(how & 2 ? kSuperpageBytes * 4 : 0);
    return true;
  }

  void step(fuzz::Input &in) {
    const uint8_t what = in.byte();
    System::refusals = in.byte();
    const uint8_t unit = in.byte(), page = in.byte();
    const uint16_t count = in.word();
    switch (what & 7) {
    case 0:
      grow(1 + page % 4, unit % 3);
      break;
    case 1:
    case 2:
      use(unit, size_t{page} * 2, 1 + count % (what & 8 ? 1200 : 24));
      break;
    case 3:
    case 4:
      give_back(unit, size_t{page} * 2, 1 + count % (what & 8 ? 1200 : 24));
      break;
    case 5:
      pages_.earn(uint64_t{count} * 1000000);
      pages_.promote(price_, what & 8 ? 2000000 : UINT64_MAX, what & 16);
      break;
    case 6:
      pages_.promote_all(price_);
      break;
    case 7:
      System::clock_ns += uint64_t{count} * 100000;
      pages_.earn_time();
      break;
    }
    System::refusals = 0;
    check();
  }

  void finish() {
    for (size_t u = 0; u < runs_.size(); u++)
      give_back(static_cast<uint8_t>(u), 0, runs_[u].pages);
    check();
    FUZZ_CHECK(pages_.live_bytes() == 0);
    FUZZ_CHECK(waiting_ == 0);
  }

private:
  struct Run { // as returned by the heap's growth
    char *start;
    size_t pages;
    std::vector<uint32_t> value; ///< of the first word; 0: not in use
  };

  void grow(size_t units, size_t shared) {
    if (runs_.size() >= kMostUnits / 4)
      return;
    char *p = pages_.grow(units * kSuperpageBytes, kBasePageBytes, static_cast<unsigned>(shared));
    if (!p)
      return;
    System::in_range(p, units * kSuperpageBytes);
    for (const Run &r : runs_)
      FUZZ_CHECK(p + units * kSuperpageBytes <= r.start || r.start + r.pages * kBasePageBytes <= p);
    runs_.push_back({p, units * kPagesPerUnit, std::vector<uint32_t>(units * kPagesPerUnit)});
  }
  static uint32_t &word(const Run &r, size_t page) {
    return *reinterpret_cast<uint32_t *>(r.start + page * kBasePageBytes);
  }
  /// jemalloc commits only unused pages.
  void use(uint8_t which, size_t first, size_t count) {
    if (runs_.empty())
      return;
    Run &r = runs_[which % runs_.size()];
    first %= r.pages;
    size_t n = 0;
    while (n < count && first + n < r.pages && r.value[first + n] == 0)
      n++;
    if (n == 0)
      return;
    FUZZ_CHECK(pages_.commit(r.start + first * kBasePageBytes, n * kBasePageBytes));
    for (size_t i = first; i < first + n; i++) {
      FUZZ_CHECK(word(r, i) == 0);
      word(r, i) = r.value[i] = ++stamp_;
    }
  }
  void give_back(uint8_t which, size_t first, size_t count) {
    if (runs_.empty())
      return;
    Run &r = runs_[which % runs_.size()];
    first %= r.pages;
    count = min_of(count, r.pages - first);
    pages_.decommit(r.start + first * kBasePageBytes, count * kBasePageBytes);
    for (size_t i = first; i < first + count; i++)
      r.value[i] = 0;
  }
  void check() {
    size_t live = 0;
    for (const Run &r : runs_)
      for (size_t i = 0; i < r.pages; i++)
        if (r.value[i]) {
          live++;
          FUZZ_CHECK(word(r, i) == r.value[i]);
        }
    FUZZ_CHECK(pages_.live_bytes() == live * kBasePageBytes);
    FUZZ_CHECK(pages_.check_invariants());
    FUZZ_CHECK(waiting_ <= 1);
  }

  unsigned waiting_ = 0;
  uint32_t stamp_ = 0;
  Counters counters_;
  Region region_;
  FirstTouchCost first_touch_;
  SmallPages pages_;
  Price price_;
  std::vector<Run> runs_;
};

} // namespace

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz::Input in(data, size);
  Session session;
  if (!session.start(in))
    return 0;
  while (!in.empty())
    session.step(in);
  session.finish();
  return 0;
}
