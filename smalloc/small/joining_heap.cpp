// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "smalloc/small/joining_heap.h"
#include "smalloc/base/clock.h"
#include "smalloc/base/keep_errno.h"
#include "smalloc/pages/data_limit.h"

#include <malloc.h>
#include <unistd.h>

extern "C" int mallopt(int parameter, int value) noexcept __attribute__((weak));

namespace smalloc {

/// Sets glibc's top pad to one step. Setting one of glibc's parameters ends its adaptation of the
/// others. So M_MMAP_THRESHOLD gets the largest value that the adaptation would reach, and HeapTop
/// sets the trim threshold.
void JoiningHeap::set_step(size_t bytes) {
  step_ = bytes;
  top_.set_pad(bytes);
  if (mallopt)
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
}

/// Moves the break if the program is about to fill the last whole unit below it. Returns the break.
/// The program fills this unit upwards and has reached `p`. A request that does not fit makes
/// malloc move the break now; it writes only the new end of the free memory. While the end of its
/// heap has room, malloc does not join its fast bins. So a request of kJoinsBytes makes it join
/// them, at each look that finds the program higher up.
uintptr_t JoiningHeap::move_break(uintptr_t end, const void *p, size_t bytes,
                                  const NextMalloc &next) {
  const auto at = reinterpret_cast<uintptr_t>(p);
  const uintptr_t last = align_down(end, kSuperpageBytes);
  const bool rises = at > seen_ && at < end,
             fills = rises && at < last && at + kSuperpageBytes >= last;
  seen_ = at;
  rises_ = fills ? rises_ + 1 : 0;
  if (!rises)
    return end;
  // A large object may be the last one seen in the unit.
  const bool moves = rises_ == kMovesAt || (fills && bytes >= kLookBytes && at + 2 * bytes >= last);
  // A larger request has joined them already. Then another would only touch a page in front of the
  // program, which may leave it empty.
  if (!moves && bytes > kMostWithoutJoining)
    return end;
  if (void *q = next.malloc(moves ? end - at : kJoinsBytes))
    next.free(q);
  return reinterpret_cast<uintptr_t>(sbrk(0));
}

bool JoiningHeap::look(const OsHooks &os, const Request &request, bool may_keep,
                       const NextMalloc &next) {
  if (!lock_.try_lock())
    return true;
  KeepErrno keep;
  const void *p = request.p;
  const size_t bytes = request.bytes;
  auto end = reinterpret_cast<uintptr_t>(sbrk(0));
  if (advised_)
    end = move_break(end, p, bytes, next);
  if (!first_ || end < first_)
    first_ = end;
  requested_ += request.requested;
  const auto at = reinterpret_cast<uintptr_t>(p);
  if (!request.written && at < end)
    unproved_to_ = max_of(unproved_to_, at + bytes);
  // glibc's smallest M_MMAP_THRESHOLD, until set_step() raises it.
  constexpr size_t kLeastMappedBytes = size_t{128} << 10;
  const bool outside = p && (bytes < kLeastMappedBytes || step_ != 0) && at >= end;
  if (advised_ == 0 && requested_ >= kLeastBytes) {
    set_step(kStepBytes);
    advised_ = align_up(end, kSuperpageBytes);
    checked_ = advised_;
    highest_ = checkable_ = at < end ? at : first_; // malloc may have mapped the object separately
  } else if (advised_) {
    follow(os, end, at < end ? at + bytes : 0);
    // RLIMIT_DATA counts the memory above the heap, touched or not, so keep the steps small under
    // it.
    if (step_ < kMostStepBytes && data_limit() == UINT64_MAX &&
        end - first_ >= 2 * step_ * kStepsOfHeap)
      set_step(2 * step_);
    const bool large = end - first_ >= HeapTop::kLeastBytes && data_limit() == UINT64_MAX;
    large_.store(large, std::memory_order_relaxed);
    if (!large || !may_keep)
      top_.give_back();
    else if (at < end)
      top_.note_use(os.now_ns(), at + bytes, end, next);
  }
  lock_.unlock();
  return !outside;
}

void JoiningHeap::give_back_top(uint64_t bytes, const NextMalloc &next) {
  if (!top_.keeps() || !lock_.try_lock())
    return;
  top_.give_back(bytes, next);
  lock_.unlock();
}

bool JoiningHeap::give_back_idle_top(const OsHooks &os) {
  if (!top_.keeps() || !lock_.try_lock())
    return top_.keeps();
  const bool keeps = top_.give_back_if_idle(os.now_ns());
  lock_.unlock();
  return keeps;
}

/// True if the program has written most of a unit. `by_contents`: the unit is on a superpage,
/// unless the kernel had none. Then its contents are examined, since all of it is resident.
static bool is_filled(const OsHooks &os, uintptr_t unit, bool by_contents) {
  constexpr size_t kMostOfUnit = kPagesPerUnit - kPagesPerUnit / 8;
  const auto *start = reinterpret_cast<const char *>(unit);
  const size_t pages = os.resident_pages(start, kSuperpageBytes);
  if (pages < kMostOfUnit)
    return false;
  return !by_contents || pages < kPagesPerUnit || os.holds_most_data(start);
}

/// Examines the units that the program has had time to fill. All objects that look() has seen in a
/// unit may be proved to be written: there were eight of them, 256 KiB apart. Then the unit needs
/// no examination. A unit that stays empty ends the advice, until a unit on base pages was filled.
/// If that is the very next one, the program fills its objects with zeros, and the contents of
/// superpages show nothing.
void JoiningHeap::examine(const OsHooks &os) {
  for (; checked_ + kSuperpageBytes <= checkable_; checked_ += kSuperpageBytes) {
    const bool advised = checked_ >= advised_from_ && checked_ < advised_;
    if (advised && checked_ < trusted_end_) // look_ahead() examines it
      continue;
    const bool filled =
        checked_ >= unproved_to_ || is_filled(os, checked_, advised && !holds_zeros_);
    if (filled)
      note_filled(checked_, advised);
    if (!empty_ && !filled) {
      holds_zeros_ = false;
      withdraw(os);
    } else if (empty_ && !advised) {
      if (filled) {
        holds_zeros_ |= !sparse_;
        empty_ = false;
        advised_ = advised_from_ = align_up(highest_, kSuperpageBytes);
      }
      sparse_ |= !filled;
    }
  }
}

/// The program has filled the unit at `unit`, which is on a `superpage` unless the kernel had none.
/// Precondition: lock_ is held.
void JoiningHeap::note_filled(uintptr_t unit, bool superpage) {
  if (superpage) {
    filled_superpages_.add();
    superpages_now_.add();
    peak_superpages_.raise(superpages_now_.get());
  }
  if (unit >= filled_from_ && unit < filled_end_)
    return;
  if (unit != filled_end_)
    filled_from_ = unit;
  filled_end_ = unit + kSuperpageBytes;
}

/// Malloc has trimmed the heap to `end`: memory mapped again has no advice. What the program had
/// filled above is trusted. Precondition: lock_ is held.
void JoiningHeap::note_trim(uintptr_t end) {
  const uintptr_t first = align_up(end, kSuperpageBytes),
                  had = align_down(highest_, kSuperpageBytes);
  // Trimmed again without use between, or used without a look of the helper thread: what is known
  // stays.
  if (had > first && (filled_end_ >= had || late_looks_ >= kTellingLooks)) {
    const bool dense = filled_from_ <= first && filled_end_ + kSuperpageBytes >= had;
    dense_trims_ = dense ? dense_trims_ + 1 : 0;
    trusted_end_ = filled_end_ >= had ? max_of(trusted_end_, filled_end_) : filled_end_;
    trusted_from_ = filled_from_;
  }
  late_looks_ = 0;
  unproved_to_ = min_of(unproved_to_, end);
  if (checked_ > first)
    superpages_now_.sub(
        min_of<uint64_t>(superpages_now_.get(), (checked_ - first) / kSuperpageBytes));
  filled_end_ = min_of(filled_end_, first);
  filled_from_ = min_of(filled_from_, filled_end_);
  highest_ = checkable_ = end;
  checked_ = min_of(checked_, first);
  advised_ = min_of(advised_, first);
  if (late_ != 0 && end < max_of<uintptr_t>(late_ + kSuperpageBytes, given_end_))
    late_ = 0;
  if (dense_trims_ < kTellingTrims)
    trusted_end_ = trusted_from_;
  if (checked_ >= trusted_from_ && checked_ + kLeastTrustedBytes <= trusted_end_) {
    empty_ = false;
    advised_ = advised_from_ = first;
  } else if (empty_ && late_ == 0) { // the next rows are followed, too
    follow_from(first);
  }
}

/// Advises the units in front of the program, as long as it fills what it requests. `top`: end of
/// the newest object. Objects of several pages may stay empty (buffers, stacks, tables of which
/// only a band is used): on superpages all of their memory is resident. So at most the window is
/// advised and not yet seen filled.
void JoiningHeap::follow(const OsHooks &os, uintptr_t end, uintptr_t top) {
  if (end < highest_)
    note_trim(end);
  // Examine what was requested before the last look: the program has had time to write it.
  if (top > highest_ && top <= end) {
    checkable_ = highest_;
    highest_ = top;
  }
  examine(os);
  if (empty_)
    return;
  // Units that the program has reached are on base pages already.
  advised_ = max_of(advised_, align_down(highest_, kSuperpageBytes));
  const bool trusted = advised_ >= trusted_from_ && advised_ < trusted_end_;
  const uintptr_t front = trusted ? trusted_end_ : checked_ + window(end),
                  to = align_down(min_of(end, front), kSuperpageBytes);
  if (to <= advised_)
    return;
  if (trusted) {
    if (late_ == 0) {
      late_ = given_from_ = advised_;
      late_pages_ = 0;
    }
    given_end_ = to;
  }
  // Where contents show nothing, every kProbeEvery-th unit stays on base pages, as a probe.
  if (!trusted && holds_zeros_ && advised_ / kSuperpageBytes % kProbeEvery == 0) {
    advised_ += kSuperpageBytes;
    return;
  }
  auto *first = reinterpret_cast<char *>(advised_);
  advised_ = holds_zeros_ && !trusted ? advised_ + kSuperpageBytes : to;
  os.advise(first, advised_ - reinterpret_cast<uintptr_t>(first), Advice::kSuperpages);
  // If move_break() was in time, the unit of the old break holds only the header that malloc has
  // written. An untouched unit gets its superpage at the first touch.
  constexpr size_t kFewPages = 16;
  const size_t pages = os.resident_pages(first, kSuperpageBytes);
  if (pages != 0 && pages < kFewPages)
    os.collapse(first, kSuperpageBytes);
}

/// Ends the advice in front of the program.
void JoiningHeap::withdraw(const OsHooks &os) {
  const uintptr_t from = align_up(highest_, kSuperpageBytes);
  if (from < advised_)
    os.advise(reinterpret_cast<char *>(from), advised_ - from, Advice::kNoSuperpages);
  advised_ = min_of(advised_, from);
  empty_ = true;
  sparse_ = false;
  follow_from(checked_);
}

/// Lets look_ahead() follow the fill from `unit` on. Precondition: lock_ is held.
void JoiningHeap::follow_from(uintptr_t unit) {
  late_ = unit;
  late_pages_ = 0;
  given_from_ = 0;
  given_end_ = 0;
}

/// True if the program, which fills upwards, has filled the lower half of a unit on base pages.
static bool has_begun(const OsHooks &os, uintptr_t unit) {
  return os.resident_pages(reinterpret_cast<const char *>(unit), kSuperpageBytes / 2) >=
         kPagesPerUnit * 7 / 16;
}

/// Gives superpages to the next units behind the one that the program fills now, where only
/// malloc's headers are.
void JoiningHeap::give_late(const OsHooks &os, FirstTouchCost &cost, uintptr_t last) {
  // Beside malloc's headers. Above, the program has begun with the unit.
  constexpr size_t kMostHeaderPages = kPagesPerUnit / 4;
  const uintptr_t first = max_of<uintptr_t>(late_ + kSuperpageBytes, given_end_),
                  end = min_of(last, late_ + kSuperpageBytes + window(highest_));
  for (uintptr_t unit = first; unit + kSuperpageBytes <= end; unit += kSuperpageBytes) {
    auto *start = reinterpret_cast<char *>(unit);
    const size_t pages = os.resident_pages(start, kSuperpageBytes);
    if (cost.too_expensive() || pages > kMostHeaderPages ||
        os.advise(start, kSuperpageBytes, Advice::kSuperpages) != 0)
      return;
    if (pages != 0) {
      const uint64_t began = clock_ns<CLOCK_THREAD_CPUTIME_ID>();
      if (os.collapse(start, kSuperpageBytes) != 0)
        return;
      cost.account(clock_ns<CLOCK_THREAD_CPUTIME_ID>() - began);
    }
    if (given_end_ != unit)
      given_from_ = unit;
    given_end_ = unit + kSuperpageBytes;
  }
}

bool JoiningHeap::collapse_early(const OsHooks &os) {
  if (early_ == kMostEarly || !lock_.try_lock())
    return false;
  const uintptr_t end = first_ ? first_ : reinterpret_cast<uintptr_t>(sbrk(0));
  bool collapsed = false;
  while (!collapsed && early_ < kMostEarly) {
    auto *unit =
        reinterpret_cast<char *>(align_down(end, kSuperpageBytes) - ++early_ * kSuperpageBytes);
    constexpr size_t kNearlyAll = kPagesPerUnit - kPagesPerUnit / 16;
    if (os.resident_pages(unit, kSuperpageBytes) < kNearlyAll)
      early_ = kMostEarly; // below the start of the heap
    else
      collapsed = os.collapse(unit, kSuperpageBytes) == 0;
  }
  if (collapsed) {
    filled_superpages_.add();
    superpages_now_.add();
    peak_superpages_.raise(superpages_now_.get());
  }
  lock_.unlock();
  return collapsed;
}

unsigned JoiningHeap::look_ahead(const OsHooks &os, FirstTouchCost &cost) {
  if (!waits() || !lock_.try_lock())
    return 0;
  unsigned grown = 0;
  late_looks_++;
  const uintptr_t last =
      align_down(min_of(highest_.load(), reinterpret_cast<uintptr_t>(sbrk(0))), kSuperpageBytes);
  const auto is_given = [&] { return late_ >= given_from_ && late_ < given_end_; };
  // Zeros in a superpage show nothing. But the unit behind the given ones is on base pages.
  const auto is_passed = [&] {
    return is_given() && given_end_ + kSuperpageBytes <= last && has_begun(os, given_end_);
  };
  while (late_ + kSuperpageBytes <= last && (is_filled(os, late_, is_given()) || is_passed())) {
    note_filled(late_, is_given());
    late_ += kSuperpageBytes;
    late_pages_ = 0;
    grown += kUnitParts;
  }
  // The program has also filled what it requested before the heap was followed.
  while (filled_from_ < filled_end_ && filled_from_ + 2 * kLeastBytes > first_ &&
         is_filled(os, filled_from_ - kSuperpageBytes, false))
    filled_from_ -= kSuperpageBytes;
  if (late_ + kSuperpageBytes > last) {
    late_ = 0;
  } else {
    const auto *unit = reinterpret_cast<const char *>(late_.load());
    constexpr size_t kPagesPerPart = kPagesPerUnit / kUnitParts;
    const size_t pages =
        is_given()
            ? static_cast<size_t>(__builtin_popcount(os.parts_with_data(unit))) * kPagesPerPart
            : os.resident_pages(unit, kSuperpageBytes);
    if (pages >= late_pages_ + kPagesPerPart)
      grown += static_cast<unsigned>((pages - late_pages_) / kPagesPerPart);
    late_pages_ = pages;
    // The program fills upwards: the lower half of the unit is filled.
    if (pages >= kPagesPerUnit / 2 && (is_given() || has_begun(os, late_)))
      give_late(os, cost, last);
  }
  lock_.unlock();
  return grown;
}

} // namespace smalloc
