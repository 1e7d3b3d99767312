// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// site_accounts.h charges libsmalloc's objects to their allocation sites.
// - Objects of 2 MiB and more: always and exactly. Their allocation is a slow path anyway.
// - Small objects: only on demand, sampled or exactly.
// Sampled (stats:exit, stats:sites): an object is recorded when the bytes allocated by its thread
// pass a sample point. Points lie 16 KiB apart on average. When the table is full, half of the
// points are dropped and the distance doubles. An estimate of L live bytes has the relative
// standard error sqrt(sample_bytes / L). For a site with a tenth of the live bytes that is at most
// 3 % once the heap has 200 MiB.
// Exact (debug:on, abort:true): every object is recorded.
// While small objects are charged, malloc and free leave their fast paths: no site is marked
// direct, and g_range.main_heap_bytes is 0. Otherwise charging costs nothing there.
#ifndef SMALLOC_SITES_SITE_ACCOUNTS_H
#define SMALLOC_SITES_SITE_ACCOUNTS_H

#include "smalloc/agent/directives.h"
#include "smalloc/big/object_table.h"
#include "smalloc/include/smalloc/site.h"
#include "smalloc/sites/live_page.h"

namespace smalloc {

enum class Tracking : uint8_t { kBig, kSampled, kExact }; // like enum smalloc_live_tracking

class SiteAccounts {
public:
  using Account = uint16_t;
  static constexpr Account kNoSite = 0;
  static constexpr uint64_t kSampleBytes = uint64_t{16} << 10;
  /// A larger distance gives no information.
  static constexpr uint64_t kMostSampleBytes = uint64_t{1} << 40;

  /// Allocates the tables. False: no memory for them; then no object is charged.
  bool start(Region &region, Tracking tracking);
  /// True if small objects are recorded.
  bool tracks_small() const { return tracks_small_.load(std::memory_order_relaxed); }
  bool exact() const { return tracking_ == Tracking::kExact && tracks_small(); }

  /// Returns the site's account, which is opened at the first use. kNoSite: `cell` is nullptr, or
  /// all accounts are taken.
  Account account_of(smalloc_cell *cell);

  /// Records why the account's objects got fewer superpages; see smalloc_live_site::why_less.
  void note_why_less(Account account, uint32_t why);
  void note_big_allocated(const void *p, Account account, uint64_t bytes, uint32_t superpages);
  void note_big_freed(const void *p, uint64_t bytes);
  /// Records the new number of superpages of a live object.
  void big_promoted(const void *p, uint32_t superpages);
  /// Stores the account of the last object that started at `p`. False: none ever did.
  bool big_account(const void *p, Account &account) const;

  void note_small_allocated(const void *p, size_t bytes, Account account);
  /// Records that an object is about to be freed. False, with exact tracking only: no live object
  /// starts at `p`; note.freed is true if one did.
  bool note_small_freed(const void *p, ObjectNote &note);
  /// Reverts note_small_freed(): the object was not freed.
  void small_kept(const void *p, const ObjectNote &note);
  /// Records that an object was resized to `bytes` and is now at `p`; its usable size changed from
  /// `before` to `after`. It stays with its site.
  void small_resized(const void *p, size_t bytes, size_t before, size_t after, ObjectNote note);

  const smalloc_live_site &site(Account account) const { return g_live.contents().sites[account]; }
  /// True if all accounts are taken: sites without one are not observed.
  bool all_taken() const { return count() == SMALLOC_LIVE_SITES; }
  Account count() const {
    return static_cast<Account>(
        __atomic_load_n(&g_live.contents().header.site_count, __ATOMIC_ACQUIRE));
  }
  /// Returns the directive for the account's site; nullptr: there is none.
  Directives::Entry *directive(Account account) const { return directives_[account]; }
  /// Whole superpages of the live big objects of all sites of a directive, and their peak.
  struct Footprint {
    uint64_t superpages = 0, live_bytes_peak = 0, superpages_peak = 0;
    bool small_seen = false, seen = false;
  };
  Footprint footprint(const Directives::Entry *entry) const;
  /// Publishes the agent's new decisions in the statistics page.
  void show_decisions();
  /// Takes over the counts of the sites' cells.
  void read_cells();
  /// Removes the cells of an image that is unloaded. The accounts stay.
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
  struct BigNote { ///< per unit of the big slices
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
  /// For unloaded images: the counts of their cells, and the accounts that wait for the image to be
  /// loaded again.
  uint64_t contexts_[SMALLOC_LIVE_SITES] = {}, requested_before_[SMALLOC_LIVE_SITES] = {};
  bool is_left_[SMALLOC_LIVE_SITES] = {};
  unsigned left_ = 0;
  std::atomic<smalloc_cell *> cells_[kCellSlots] = {};
  std::atomic<Account> cell_accounts_[kCellSlots] = {};
  ObjectTable objects_;
  SpinLock lock_; ///< guards the accounts; taken before the table's lock
  uint64_t random_ = 1;
};

/// The only instance.
extern SiteAccounts g_accounts;

} // namespace smalloc
#endif
