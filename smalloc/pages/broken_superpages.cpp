// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "smalloc/pages/broken_superpages.h"
#include "smalloc/base/keep_errno.h"

namespace smalloc {
namespace {
/// A child that is about to run another program is gone after the first pause. A child that writes
/// a snapshot takes seconds.
constexpr uint64_t kFirstPauseNs = 50000000, kLongestPauseNs = 256000000000;
} // namespace

void BrokenSuperpages::forked(bool in_child, bool in_handler) {
  if (in_child || in_handler)
    without_helper_.store(true, std::memory_order_relaxed);
  if (in_child) // another thread of the parent may have held the lock
    lock_.unlock();
  if (!region_ || region_->counters().superpages_now.get() == 0)
    return;
  forks_.fetch_add(1, std::memory_order_relaxed);
  due_ns_.store(region_->os().now_ns() + kFirstPauseNs, std::memory_order_relaxed);
  if (!waits_.exchange(true))
    region_->add_pending(1);
}

bool BrokenSuperpages::due() const {
  return waits() && region_->os().now_ns() >= due_ns_.load(std::memory_order_relaxed);
}

/// Ends the rounds. Locked.
void BrokenSuperpages::stop() {
  ledger_ = {};
  if (waits_.exchange(false))
    region_->add_pending(-1);
}

/// Ends a round at time `now` and schedules the next one if units are still shared. Locked.
void BrokenSuperpages::end_round(uint64_t now) {
  region_->counters().superpages_broken.set(broken_);
  const bool again = shared_ != 0;
  from_ = broken_ = shared_ = 0;
  if (forks_.load(std::memory_order_relaxed) != forks_seen_)
    return; // mend() starts a new round after the first pause
  pause_ns_ *= 2;
  if (!again || pause_ns_ > kLongestPauseNs)
    stop();
  else
    due_ns_.store(now + pause_ns_, std::memory_order_relaxed);
}

void BrokenSuperpages::mend(uint64_t credit_ns, uint64_t pause_ns, Price &price) {
  if (!due() || !lock_.try_lock())
    return;
  const OsHooks &os = region_->os();
  const uint64_t began = os.now_ns();
  if (const uint64_t forks = forks_.load(std::memory_order_relaxed); forks != forks_seen_) {
    forks_seen_ = forks;
    pause_ns_ = kFirstPauseNs;
    from_ = broken_ = shared_ = 0;
  }
  ledger_.earn(credit_ns);
  uint64_t now = began, before;
  do {
    before = now;
    if (!ledger_.covers(price.ns()) || heaps_.forks())
      break;
    char *unit = heaps_.next(from_);
    if (!unit) {
      end_round(now);
      break;
    }
    const UnitPages pages = os.unit_pages(unit);
    if (pages == UnitPages::kSharedSuperpage) {
      shared_++;
    } else if (pages == UnitPages::kSharedBasePages) {
      shared_++;
      broken_++;
    } else if (pages == UnitPages::kBasePages || pages == UnitPages::kOwn) {
      const int error = os.collapse(unit, kSuperpageBytes);
      const uint64_t took = os.now_ns() - before;
      region_->counters().collapse_ns.add(took);
      if (error != 0) {
        shared_++;
        broken_ += pages == UnitPages::kBasePages;
      } else if (!heaps_.counts(unit)) { // freed or demoted meanwhile
        os.split(unit, nullptr);
      } else if (pages == UnitPages::kBasePages) {
        price.measured(took);
        region_->counters().superpages_mended.add();
      }
    }
    now = os.now_ns();
    ledger_.pay(now - before);
  } while (now - began < pause_ns);
  lock_.unlock();
}

void BrokenSuperpages::count() {
  if (!region_ || (!waits() && region_->counters().superpages_broken.get() == 0))
    return;
  KeepErrno keep;
  uint64_t from = 0, broken = 0;
  while (char *unit = heaps_.next(from)) {
    const UnitPages pages = region_->os().unit_pages(unit);
    broken += pages == UnitPages::kSharedBasePages || pages == UnitPages::kBasePages;
  }
  region_->counters().superpages_broken.set(broken);
}

} // namespace smalloc
