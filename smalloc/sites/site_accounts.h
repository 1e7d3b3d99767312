// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// site_accounts.h decides which site an object of ours is charged to, and what that costs:
//  - objects of 2 MiB and more always, exactly: their allocation is a slow path anyway;
//  - small ones only on demand. Sampled (stats:exit, stats:sites): an object is recorded when the
//    bytes allocated by its thread pass a sample point; points lie 16 KiB apart on average, farther
//    when the table is full (then half of the points are forgotten). An estimate of L live bytes has
//    the relative standard error sqrt(sample_bytes / L), at most 3 % for a site with a tenth of
//    the live bytes. Exact (debug:on, abort:true): every object is recorded.
// While small objects are charged, malloc and free leave their fast paths (no site is marked
// direct, g_range.main_heap_bytes is 0); otherwise they cost what they cost without us.
#ifndef SMALLOC_SITES_SITE_ACCOUNTS_H
#define SMALLOC_SITES_SITE_ACCOUNTS_H

#include "smalloc/agent/directives.h"
#include "smalloc/big/object_table.h"
#include "smalloc/include/smalloc/site.h"
#include "smalloc/sites/live_page.h"

namespace smalloc {

enum class Tracking : uint8_t { kBig, kSampled, kExact }; // as enum smalloc_live_tracking

class SiteAccounts {
public:
  using Account = uint16_t;
  static constexpr Account kNoSite = 0;
  static constexpr uint64_t kSampleBytes = uint64_t{16} << 10;
  static constexpr uint64_t kMostSampleBytes = uint64_t{1} << 40; ///< more tells nothing

  /// False: no memory for the tables; nothing is charged then.
  bool start(Region &region, Tracking tracking);
  /// Small objects are recorded.
  bool tracks_small() const { return tracks_small_.load(std::memory_order_relaxed); }
  bool exact() const { return tracking_ == Tracking::kExact && tracks_small(); }

  /// The site's account, opened at its first use; kNoSite for nullptr, and when there are too many.
  Account account_of(smalloc_cell *cell);

  /// As smalloc_live_site::why_less.
  void note_why_less(Account account, uint32_t why);
  void big_born(const void *p, Account account, uint64_t bytes, uint32_t superpages);
  void big_died(const void *p, uint64_t bytes);
  /// The number of superpages under a live object has changed.
  void big_promoted(const void *p, uint32_t superpages);
  /// Of the last object that started there. False: none ever did.
  bool big_account(const void *p, Account &account) const;

  void small_born(const void *p, size_t bytes, Account account);
  /// Before the object is freed. False, exact tracking only: no live object starts at p; note.freed
  /// tells whether one did.
  bool small_died(const void *p, ObjectNote &note);
  /// It was not freed after all.
  void small_kept(const void *p, const ObjectNote &note);
  /// It has become p, by request of so many bytes; it had so many that could be used before and has so many after. Of its site still.
  void small_resized(const void *p, size_t bytes, size_t before, size_t after, ObjectNote note);

  const smalloc_live_site &site(Account account) const { return g_live.contents().sites[account]; }
  /// Of a site that has none now nobody knows what it has done.
  bool all_taken() const { return count() == SMALLOC_LIVE_SITES; }
  Account count() const {
    return static_cast<Account>(
        __atomic_load_n(&g_live.contents().header.site_count, __ATOMIC_ACQUIRE));
  }
  /// The directive that speaks of the account's site; nullptr: none does.
  Directives::Entry *directive(Account account) const { return directives_[account]; }
  /// Whole superpages of the live big objects of all sites that a directive speaks of; and the most that there were.
  struct Footprint {
    uint64_t superpages = 0, live_bytes_peak = 0, superpages_peak = 0;
    bool small_seen = false, seen = false;
  };
  Footprint footprint(const Directives::Entry *entry) const;
  /// The agent has decided anew: what the page shows of it.
  void show_decisions();
  /// Takes over what the sites' cells have counted.
  void read_cells();
  /// An image goes, and its sites' cells with it: the accounts stay.
  void forget(const smalloc_module &module);

  bool lock_comes_free() { return lock_.comes_free(); }
  void lock() {
    lock_.lock();
    objects_.lock();
  }
  void unlock() {
    objects_.unlock();
    lock_.unlock();
  }

private:
  static constexpr unsigned kCellSlots = 2 * SMALLOC_LIVE_SITES;
  struct BigNote { ///< by unit of the big slices
    uint32_t superpages;
    Account account;
    bool ever, live;
  };
  BigNote *big_note(const void *p) const;
  Account open_account(smalloc_cell *cell);
  Account left_account(uint64_t site, uint64_t context);
  void publish_requested(Account account, const smalloc_cell *cell);
  bool knows(const smalloc_cell *cell) const;
  Account take_account(const char *function, const char *file);
  void charge(Account account, int64_t bytes, int64_t objects, int64_t superpages);
  void publish_live(Account account);
  void show_decision(Account account);
  void thin_samples();
  uint32_t sample_points(size_t bytes);

  Region *region_ = nullptr;
  Tracking tracking_ = Tracking::kBig;
  std::atomic<bool> tracks_small_{false};
  bool started_ = false;
  BigNote *big_notes_[2] = {};
  uint64_t big_live_[SMALLOC_LIVE_SITES] = {}, small_weight_[SMALLOC_LIVE_SITES] = {};
  Directives::Entry *directives_[SMALLOC_LIVE_SITES] = {};
  /// Of images that have gone: what their cells had counted, and whose accounts wait for the image to come again.
  uint64_t contexts_[SMALLOC_LIVE_SITES] = {}, requested_before_[SMALLOC_LIVE_SITES] = {};
  bool is_left_[SMALLOC_LIVE_SITES] = {};
  unsigned left_ = 0;
  std::atomic<smalloc_cell *> cells_[kCellSlots] = {};
  std::atomic<Account> cell_accounts_[kCellSlots] = {};
  ObjectTable objects_;
  SpinLock lock_; ///< accounts; taken before the table's
  uint64_t random_ = 1;
};

/// The process has one.
extern SiteAccounts g_accounts;

} // namespace smalloc
#endif
