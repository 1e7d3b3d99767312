// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// big_objects_fuzz: runs sequences of allocations, resizes, releases and promotions, in which the
// system may refuse any call. Big objects must not overlap, lose bytes, or leave memory behind. The
// input is a header of two bytes (the region's configuration) and operations of five: operation,
// refusals meanwhile, a size, an argument.
// //
// The fake system keeps the real protection of every page, so a touch of released memory ends the
// process. It also keeps its own record of committed memory.
#include "smalloc/big/big_objects.h"
#include "tests/fuzz/fuzz.h"

#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <vector>

using namespace smalloc;

namespace {

constexpr size_t kMostBytes = size_t{4} << 30;
constexpr size_t kMostObjects = 24;

/// Calls that the system refuses during one operation.
enum Refusal : uint8_t {
  kRefuseCommit = 1,
  kCommitHalf = 2, ///< a refused commit leaves its first half committed
  kRefuseMove = 4,
  kRefuseHugetlb = 8,
  kSparse = 16,
  kRefuseCollapse = 32, ///< with one of four reasons, by the top two bits
};

struct System {
  static inline char *reserved = nullptr;
  static inline uint8_t refusals = 0;
  static inline uint64_t clock_ns = 0;
  static inline std::vector<char> committed = std::vector<char>(kMostBytes / kBasePageBytes);

  static void reset() {
    if (!reserved) {
      void *p = mmap(nullptr, kMostBytes + kSuperpageBytes, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      FUZZ_CHECK(p != MAP_FAILED);
      reserved =
          reinterpret_cast<char *>(align_up(reinterpret_cast<uintptr_t>(p), kSuperpageBytes));
    }
    forget(reserved, kMostBytes);
    refusals = 0;
    clock_ns = 1000;
  }
  static void forget(void *p, size_t n) {
    if (n == 0) // a shrink to whole units
      return;
    FUZZ_CHECK(
        mmap(p, n, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == p);
    memset(pages(p, n), 0, n / kBasePageBytes);
  }
  /// Returns the record of a range, which must be one of whole pages in the reservation.
  static char *pages(const void *p, size_t n) {
    const size_t offset = static_cast<size_t>(static_cast<const char *>(p) - reserved);
    FUZZ_CHECK(offset <= kMostBytes && n <= kMostBytes - offset);
    FUZZ_CHECK(offset % kBasePageBytes == 0 && n % kBasePageBytes == 0);
    return committed.data() + offset / kBasePageBytes;
  }
  static bool all(const void *p, size_t n, char value) {
    const char *page = pages(p, n);
    return n == 0 || (page[0] == value && !memcmp(page, page + 1, n / kBasePageBytes - 1));
  }
  static void open(void *p, size_t n) {
    // Pages that are not fresh would not read as zero.
    FUZZ_CHECK(all(p, n, 0));
    FUZZ_CHECK(mprotect(p, n, PROT_READ | PROT_WRITE) == 0);
    memset(pages(p, n), 1, n / kBasePageBytes);
  }
  static void whole_units(const void *p, size_t n) {
    FUZZ_CHECK(reinterpret_cast<uintptr_t>(p) % kSuperpageBytes == 0 && n % kSuperpageBytes == 0);
    FUZZ_CHECK(all(p, n, 1));
  }

  static int commit(void *p, size_t n) {
    pages(p, n);
    if (!(refusals & kRefuseCommit)) {
      open(p, n);
      return 0;
    }
    const size_t half = align_down(n / 2, kBasePageBytes);
    if ((refusals & kCommitHalf) && half)
      open(p, half);
    return ENOMEM;
  }
  static int collapse(void *p, size_t n) {
    FUZZ_CHECK(n == kSuperpageBytes);
    whole_units(p, n);
    clock_ns += 1500000;
    static constexpr int kReasons[] = {EINVAL, EAGAIN, ENOMEM, EBUSY};
    return refusals & kRefuseCollapse ? kReasons[refusals >> 6] : 0;
  }
  static int move(void *from, void *to, size_t n) {
    FUZZ_CHECK(all(from, n, 1) && all(to, n, 1));
    if (refusals & kRefuseMove)
      return EFAULT;
    // By remapping: the fake must not touch unwritten memory. EFAULT: more than one mapping.
    if (mremap(from, n, n, MREMAP_MAYMOVE | MREMAP_FIXED, to) != to)
      return EFAULT;
    FUZZ_CHECK(mmap(from, n, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == from);
    return 0;
  }
  static int map_hugetlb(void *p, size_t n, size_t) {
    whole_units(p, n);
    return refusals & kRefuseHugetlb ? ENOMEM : 0;
  }
  static int unmap_hugetlb(void *p, size_t n) {
    whole_units(p, n);
    forget(p, n);
    return 0;
  }
};

const OsHooks kSystem = {
    [](size_t bytes) -> void * { return bytes <= kMostBytes ? System::reserved : nullptr; },
    System::commit,
    [](void *p, size_t n) {
      System::forget(p, n);
      return 0;
    },
    [](void *p, size_t n) {
      FUZZ_CHECK(System::all(p, n, 1));
      return madvise(p, n, MADV_DONTNEED);
    },
    [](void *p, size_t n, Advice) {
      System::pages(p, n);
      return 0;
    },
    System::collapse,
    [](const void *p, size_t n) -> size_t {
      System::pages(p, n);
      return System::refusals & kSparse ? 3 : n / kBasePageBytes;
    },
    System::move,
    [](size_t) { return 0; },
    System::map_hugetlb,
    System::unmap_hugetlb,
    [] { return System::clock_ns += 100; },
    [](const char *, char *, size_t) -> long { return -1; },
    [](const char *, size_t) {},
    [](void *p, void *) {
      System::whole_units(p, kSuperpageBytes);
      return 0;
    },
    [] { return 0; },
    [] { return false; },
    [](void *, size_t) { return 0; },
    [](void *, size_t) -> uint64_t { return System::clock_ns / 100 % 3 == 0 ? 4500000 : 100000; },
    []() -> uint64_t { return 600000; },
    [](const void *) -> unsigned { return System::clock_ns / 100 % 2 == 0 ? 0xffff : 0x3f; },
    [](void *p, size_t n) {
      System::pages(p, n);
      return System::clock_ns / 100 % 5 != 0;
    },
    [](const void *) { return UnitPages::kSuperpage; },
};

struct Object {
  char *p;
  size_t bytes; // as requested
  char value;
};

/// One byte in each MiB, and the last one.
void stamp(const Object &o) {
  for (size_t i = 0; i < o.bytes; i += size_t{1} << 20)
    o.p[i] = o.value;
  o.p[o.bytes - 1] = o.value;
}
bool stamped(const char *p, size_t bytes, char value) {
  for (size_t i = 0; i < bytes; i += size_t{1} << 20)
    if (p[i] != value)
      return false;
  return true;
}
bool stamped(const Object &o) {
  return stamped(o.p, o.bytes, o.value) && o.p[o.bytes - 1] == o.value;
}

class Session {
public:
  bool start(fuzz::Input &in) {
    System::reset();
    const uint8_t how = in.byte(), how_large = in.byte();
    static constexpr uint64_t kBudgets[] = {0, 3, 20, 90};
    Region::Config c;
    c.os = &kSystem;
    c.bytes = (size_t{512} << 20) << how_large % 4;
    c.thp = how & 1 ? ThpMode::kAlways : ThpMode::kMadvise;
    c.superpages_allowed = !(how & 2);
    c.budget.bytes = kBudgets[how >> 2 & 3] * kSuperpageBytes;
    c.mapping_limit = how & 16 ? 8 * 12 : 65530;
    c.pending = &waiting_;
    if (!region_.init(c, counters_))
      return false;
    PageFallback::Config l; // no /sys: only a pool is available
    l.asked = how & 64 ? PageBacking::kHugetlb : PageBacking::kBase;
    page_fallback_.init(kSystem, l, counters_);
    first_touch_.init(kSystem);
    BigObjects::Config b{how & 32 ? 0 : uint64_t{64} << 20};
    b.first_touch = &first_touch_;
    return big_.init(region_, page_fallback_, b);
  }

  void step(fuzz::Input &in) {
    const uint8_t what = in.byte();
    System::refusals = in.byte();
    const size_t bytes = size_t{in.word()} * 2048;
    const uint8_t argument = in.byte();
    switch (what & 7) {
    case 0:
    case 1:
      allocate(what, bytes, argument);
      break;
    case 2:
      if (Object *o = pick(argument))
        resize(*o, what & 0x80 ? bytes : bytes % (2 * o->bytes));
      break;
    case 3:
      if (Object *o = pick(argument))
        release(o);
      break;
    case 4:
      if (Object *o = pick(argument))
        promote(big_.find(o->p + bytes % o->bytes), bytes, what);
      break;
    case 5:
      big_.trim();
      break;
    case 6:
      promote(big_.next_pending(cursor_), bytes, what);
      break;
    case 7:
      if (Object *o = pick(argument))
        probe(*o, bytes % o->bytes);
      break;
    }
    System::refusals = 0;
    FUZZ_CHECK(big_.check_invariants());
    FUZZ_CHECK(waiting_ == big_.pending());
    FUZZ_CHECK(counters_.big_objects_now.get() == live_.size());
  }

  void finish() {
    while (!live_.empty())
      release(&live_.back());
    big_.trim();
    FUZZ_CHECK(big_.check_invariants());
    FUZZ_CHECK(waiting_ == 0);
    FUZZ_CHECK(counters_.big_bytes_now.get() == 0);
    FUZZ_CHECK(counters_.superpages_now.get() == 0);
    FUZZ_CHECK(region_.charged_superpages() == 0);
    FUZZ_CHECK(counters_.mappings.get() == 0);
    for (Slice s : {Slice::kBigBase, Slice::kBigSuper})
      FUZZ_CHECK(System::all(region_.unit_address(s, 0),
                             size_t{region_.slice_units(s)} * kSuperpageBytes, 0));
  }

private:
  Object *pick(uint8_t n) { return live_.empty() ? nullptr : &live_[n % live_.size()]; }

  void allocate(uint8_t what, size_t bytes, uint8_t argument) {
    if (live_.size() == kMostObjects)
      return;
    BigRequest r;
    r.bytes = bytes + argument % 16;
    r.alignment = size_t{16} << (argument >> 3 < 27 ? argument >> 3 : 0);
    r.superpages_at_first_touch = what & 8;
    r.if_cheap = argument & 4;
    r.promotable = !(what & 16);
    r.zero = what & 32;
    r.whole_superpages = what & 64;
    auto *p = static_cast<char *>(big_.allocate(r));
    if (!p)
      return;
    FUZZ_CHECK(r.bytes > 0 && reinterpret_cast<uintptr_t>(p) % r.alignment == 0);
    FUZZ_CHECK(big_.usable_bytes(p) >= r.bytes);
    const Object o{p, r.bytes, next_value()};
    for (const Object &other : live_)
      FUZZ_CHECK(p + r.bytes <= other.p || other.p + other.bytes <= p);
    FUZZ_CHECK(!r.zero || (stamped(p, r.bytes, 0) && p[r.bytes - 1] == 0));
    stamp(o);
    live_.push_back(o);
  }

  void resize(Object &o, size_t bytes) {
    auto *q = static_cast<char *>(big_.resize(o.p, bytes));
    if (!q) {
      FUZZ_CHECK(stamped(o));
      return;
    }
    FUZZ_CHECK(bytes > 0 && big_.usable_bytes(q) >= bytes);
    FUZZ_CHECK(stamped(q, min_of(o.bytes, bytes), o.value));
    FUZZ_CHECK(bytes < o.bytes || q[o.bytes - 1] == o.value);
    o.p = q;
    o.bytes = bytes;
    for (const Object &other : live_)
      FUZZ_CHECK(&other == &o || q + bytes <= other.p || other.p + other.bytes <= q);
    o.value = next_value();
    stamp(o);
  }

  void release(Object *o) {
    FUZZ_CHECK(stamped(*o));
    char *p = o->p;
    FUZZ_CHECK(big_.release(p));
    FUZZ_CHECK(!big_.find(p) && !big_.release(p));
    *o = live_.back();
    live_.pop_back();
  }

  void promote(BigObjects::Handle handle, size_t credit, uint8_t what) {
    if (handle)
      big_.promote(handle, price_, uint64_t{credit} * 64, what & 8 ? 2000000 : 1000000000,
                   what & 16);
  }

  void probe(const Object &o, size_t inside) {
    const auto h = big_.find(o.p + inside);
    FUZZ_CHECK(h && big_.usable_bytes(o.p + inside) == big_.usable_bytes(o.p) - inside);
    FUZZ_CHECK(inside == 0 || !big_.release(o.p + inside));
    FUZZ_CHECK(!big_.resize(o.p, 0) && !big_.resize(o.p, SIZE_MAX));
  }

  char next_value() { return value_ = static_cast<char>(value_ % 100 + 1); }

  unsigned waiting_ = 0;
  Counters counters_;
  Region region_;
  PageFallback page_fallback_;
  FirstTouchCost first_touch_;
  BigObjects big_;
  Price price_;
  UnitIndex cursor_ = 0;
  std::vector<Object> live_;
  char value_ = 0;
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
