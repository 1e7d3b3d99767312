// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// site_accounts.cpp finds accounts by cell, charges objects to them, estimates from samples, and
// thins the samples when there are too many.
#include "smalloc/sites/site_accounts.h"
#include "smalloc/agent/agent.h"
#include "smalloc/sites/modules.h"

namespace smalloc {

constinit SiteAccounts g_accounts;

namespace {
__thread int64_t t_until_sample __attribute__((tls_model("initial-exec")));

Region *g_tables;
void *table_memory(size_t bytes) { return g_tables->table(align_up(bytes, kBasePageBytes)); }

/// Marks the slot of an unloaded image's cell: lookups continue behind it.
smalloc_cell *const kGone = reinterpret_cast<smalloc_cell *>(uintptr_t{1});

uint64_t next_random(uint64_t &state) { // xorshift64
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state;
}

void store(uint64_t &field, uint64_t value) { __atomic_store_n(&field, value, __ATOMIC_RELAXED); }
uint64_t requested_bytes(const smalloc_cell *cell) {
  return __atomic_load_n(&cell->requested_bytes, __ATOMIC_RELAXED);
}
} // namespace

bool SiteAccounts::start(Region &region, Tracking tracking) {
  region_ = g_tables = &region;
  constexpr Slice kBig[] = {Slice::kBigBase, Slice::kBigSuper};
  for (unsigned i = 0; i < 2; i++) {
    big_notes_[i] =
        static_cast<BigNote *>(table_memory(size_t{region.slice_units(kBig[i])} * sizeof(BigNote)));
    if (!big_notes_[i])
      return false;
  }
  smalloc_live_header &h = g_live.contents().header;
  take_account("", "");
  h.site_count = kNoSite + 1;
  started_ = true;
  if (tracking == Tracking::kBig)
    return true;
  ObjectTable::Config config;
  config.source = table_memory;
  if (tracking == Tracking::kExact)
    config.most_slots = size_t{1} << 26;
  if (objects_.init(config)) {
    tracking_ = tracking;
    h.sample_bytes = tracking == Tracking::kSampled ? kSampleBytes : 1;
    h.tracking = static_cast<uint32_t>(tracking);
    tracks_small_.store(true, std::memory_order_relaxed);
  }
  return true;
}

SiteAccounts::Account SiteAccounts::take_account(const char *function, const char *file) {
  LiveContents &live = g_live.contents();
  uint32_t n = live.header.site_count;
  if (n == SMALLOC_LIVE_SITES)
    return kNoSite;
  live.sites[n].function = g_live.add_string(function);
  live.sites[n].file = g_live.add_string(file);
  return static_cast<Account>(n);
}

SiteAccounts::Account SiteAccounts::account_of(smalloc_cell *cell) {
  if (!cell || !started_)
    return kNoSite;
  auto at = reinterpret_cast<uintptr_t>(cell) / sizeof(smalloc_cell);
  bool places = false;
  for (unsigned i = 0; i < kCellSlots; i++) {
    unsigned slot = static_cast<unsigned>(at + i) % kCellSlots;
    smalloc_cell *there = cells_[slot].load(std::memory_order_acquire);
    if (there == cell) {
      Account account = cell_accounts_[slot].load(std::memory_order_relaxed);
      if (account != kNoSite)
        publish_requested(account, cell);
      return account;
    }
    if (!there)
      return open_account(cell);
    places |= there == kGone;
  }
  return places ? open_account(cell) : kNoSite;
}

bool SiteAccounts::knows(const smalloc_cell *cell) const {
  const auto at = reinterpret_cast<uintptr_t>(cell) / sizeof(smalloc_cell);
  for (unsigned i = 0; i < kCellSlots; i++) {
    const smalloc_cell *there = cells_[(at + i) % kCellSlots].load(std::memory_order_relaxed);
    if (there == cell || !there)
      return there != nullptr;
  }
  return false;
}

void SiteAccounts::publish_requested(Account account, const smalloc_cell *cell) {
  store(g_live.contents().sites[account].requested_bytes,
        requested_before_[account] + requested_bytes(cell));
}

/// Returns the account of the same site of an unloaded image, so that an image that is loaded
/// repeatedly takes one account. Precondition: lock_ is held.
SiteAccounts::Account SiteAccounts::left_account(uint64_t site, uint64_t context) {
  const LiveContents &live = g_live.contents();
  for (Account account = kNoSite + 1; left_ && account < live.header.site_count; account++)
    if (is_left_[account] && live.sites[account].id == site && contexts_[account] == context) {
      is_left_[account] = false;
      left_--;
      return account;
    }
  return kNoSite;
}

SiteAccounts::Account SiteAccounts::open_account(smalloc_cell *cell) {
  auto *site =
      reinterpret_cast<const smalloc_site *>(reinterpret_cast<char *>(cell) + cell->site_offset);
  if (cell->site_offset == 0 || site->magic != SMALLOC_SITE_MAGIC)
    return kNoSite;
  SpinGuard guard(lock_);
  auto at = reinterpret_cast<uintptr_t>(cell) / sizeof(smalloc_cell);
  unsigned place = kCellSlots; // the first free slot
  for (unsigned i = 0; i < kCellSlots; i++) {
    unsigned slot = static_cast<unsigned>(at + i) % kCellSlots;
    smalloc_cell *there = cells_[slot].load(std::memory_order_acquire);
    if (there == cell)
      return cell_accounts_[slot].load(std::memory_order_relaxed);
    if ((!there || there == kGone) && place == kCellSlots)
      place = slot;
    if (!there)
      break;
  }
  if (place == kCellSlots)
    return kNoSite;
  LiveContents &live = g_live.contents();
  const uint64_t context = context_hash(site_string(site, site->context));
  Account account = left_account(site->id, context);
  if (account == kNoSite)
    account = take_account(site_string(site, site->function), site_string(site, site->file));
  if (account != kNoSite && account == live.header.site_count) {
    if (g_agent.active()) {
      directives_[account] = g_directives.find(site->id, context);
      show_decision(account);
    }
    contexts_[account] = context;
    live.sites[account].id = site->id;
    live.sites[account].line = site->line;
    __atomic_store_n(&live.header.site_count, account + 1u, __ATOMIC_RELEASE);
  }
  cell_accounts_[place].store(account, std::memory_order_relaxed);
  cells_[place].store(cell, std::memory_order_release);
  return account;
}

void SiteAccounts::publish_live(Account account) {
  smalloc_live_site &s = g_live.contents().sites[account];
  uint64_t live =
      big_live_[account] + small_weight_[account] * g_live.contents().header.sample_bytes;
  store(s.live_bytes, live);
  if (live > s.peak_bytes)
    store(s.peak_bytes, live);
}

/// `bytes`: of big objects. Precondition: lock_ is held.
void SiteAccounts::charge(Account account, int64_t bytes, int64_t objects, int64_t superpages) {
  smalloc_live_site &s = g_live.contents().sites[account];
  big_live_[account] += static_cast<uint64_t>(bytes);
  store(s.live_objects, s.live_objects + static_cast<uint64_t>(objects));
  store(s.superpages, s.superpages + static_cast<uint64_t>(superpages));
  if (s.superpages > s.superpages_peak)
    store(s.superpages_peak, s.superpages);
  publish_live(account);
}

void SiteAccounts::show_decision(Account account) {
  const Directives::Entry *entry = directives_[account];
  if (!entry)
    return;
  smalloc_live_site &s = g_live.contents().sites[account];
  s.superpages_predicted = entry->superpages;
  s.page_shift = entry->page_shift;
  __atomic_store_n(&s.agent, static_cast<uint32_t>(entry->decision), __ATOMIC_RELAXED);
}

void SiteAccounts::show_decisions() {
  for (Account a = 0; a < count(); a++)
    show_decision(a);
}

SiteAccounts::Footprint SiteAccounts::footprint(const Directives::Entry *entry) const {
  Footprint f;
  for (Account a = 0; a < count(); a++) {
    if (directives_[a] != entry)
      continue;
    const smalloc_live_site &s = site(a);
    f.seen = true;
    f.superpages += __atomic_load_n(&big_live_[a], __ATOMIC_RELAXED) / kSuperpageBytes;
    f.live_bytes_peak += s.peak_bytes;
    f.superpages_peak += s.superpages_peak;
    f.small_seen |= s.small_seen != 0 || (s.peak_bytes == 0 && s.requested_bytes != 0);
  }
  return f;
}

SiteAccounts::BigNote *SiteAccounts::big_note(const void *p) const {
  Slice slice = region_->slice_of(p);
  if (!started_ || (slice != Slice::kBigBase && slice != Slice::kBigSuper))
    return nullptr;
  return &big_notes_[slice == Slice::kBigSuper][region_->unit_of(slice, p)];
}

void SiteAccounts::note_big_allocated(const void *p, Account account, uint64_t bytes,
                                      uint32_t superpages) {
  BigNote *note = big_note(p);
  if (!note)
    return;
  SpinGuard guard(lock_);
  *note = {superpages, account, true, true};
  charge(account, static_cast<int64_t>(bytes), 1, superpages);
}

void SiteAccounts::note_why_less(Account account, uint32_t why) {
  if (started_)
    __atomic_store_n(&g_live.contents().sites[account].why_less, why, __ATOMIC_RELAXED);
}

void SiteAccounts::note_big_freed(const void *p, uint64_t bytes) {
  BigNote *note = big_note(p);
  if (!note)
    return;
  SpinGuard guard(lock_);
  charge(note->account, -static_cast<int64_t>(bytes), -1, -int64_t{note->superpages});
  note->superpages = 0;
  note->live = false;
}

void SiteAccounts::big_promoted(const void *p, uint32_t superpages) {
  BigNote *note = big_note(p);
  if (!note)
    return;
  SpinGuard guard(lock_);
  if (!note->live) // freed while it was promoted
    return;
  charge(note->account, 0, 0, int64_t{superpages} - note->superpages);
  note->superpages = superpages;
}

bool SiteAccounts::big_account(const void *p, Account &account) const {
  const BigNote *note = big_note(p);
  if (!note || !note->ever)
    return false;
  account = note->account;
  return true;
}

/// Returns how many sample points `bytes` pass. Distances are uniform on [1, 2 x mean]. Any
/// stationary process of that mean gives unbiased estimates; this one needs no logarithm.
uint32_t SiteAccounts::sample_points(size_t bytes) {
  t_until_sample -= static_cast<int64_t>(bytes);
  if (SMALLOC_LIKELY(t_until_sample > 0))
    return 0;
  uint32_t points = 0;
  SpinGuard guard(lock_);
  while (t_until_sample <= 0) {
    points++;
    t_until_sample += static_cast<int64_t>(
        next_random(random_) % (2 * g_live.contents().header.sample_bytes) + 1);
  }
  return points;
}

void SiteAccounts::note_small_allocated(const void *p, size_t bytes, Account account) {
  if (!tracks_small())
    return;
  bool all = tracking_ == Tracking::kExact;
  ObjectNote note;
  note.account = account;
  note.weight = all ? static_cast<uint32_t>(bytes) : sample_points(bytes);
  if (!all && note.weight == 0)
    return;
  if (!objects_.insert(reinterpret_cast<uintptr_t>(p), note)) {
    if (all) { // no memory to record every object: no answer is better than a wrong one
      tracks_small_.store(false, std::memory_order_relaxed);
      g_live.contents().header.tracking = SMALLOC_LIVE_BIG;
      return;
    }
    thin_samples();
    if (!objects_.insert(reinterpret_cast<uintptr_t>(p), note))
      return; // this sample is lost
  }
  SpinGuard guard(lock_);
  smalloc_live_site &s = g_live.contents().sites[account];
  s.small_seen = 1;
  small_weight_[account] += note.weight;
  if (all)
    store(s.live_objects, s.live_objects + 1);
  publish_live(account);
}

bool SiteAccounts::note_small_freed(const void *p, ObjectNote &note) {
  bool all = tracking_ == Tracking::kExact;
  if (!tracks_small())
    return true;
  if (!objects_.remove(reinterpret_cast<uintptr_t>(p), note)) {
    if (!all)
      note = ObjectNote{}; // the note of an earlier object there: this one is no sample
    return !all;
  }
  SpinGuard guard(lock_);
  // A thinning between the two locks may have counted it differently.
  small_weight_[note.account] -= min_of<uint64_t>(note.weight, small_weight_[note.account]);
  if (all) {
    smalloc_live_site &s = g_live.contents().sites[note.account];
    store(s.live_objects, s.live_objects - 1);
  }
  publish_live(note.account);
  return true;
}

void SiteAccounts::small_kept(const void *p, const ObjectNote &note) {
  if (tracking_ == Tracking::kExact)
    note_small_allocated(p, note.weight, note.account);
  else if (note.weight && tracks_small() && objects_.insert(reinterpret_cast<uintptr_t>(p), note)) {
    SpinGuard guard(lock_);
    small_weight_[note.account] += note.weight;
    publish_live(note.account);
  }
}

void SiteAccounts::small_resized(const void *p, size_t bytes, size_t before, size_t after,
                                 ObjectNote note) {
  if (tracking_ == Tracking::kExact)
    return note_small_allocated(p, bytes, note.account);
  // The weight of a sample scales with the size; an object without a sample stays without one.
  if (!note.weight || !before)
    return;
  uint64_t left;
  {
    SpinGuard guard(lock_);
    left = next_random(random_) % before;
  }
  const uint64_t scaled =
      (uint64_t{note.weight} * min_of<size_t>(after, UINT32_MAX) + left) / before;
  note.weight = static_cast<uint32_t>(min_of<uint64_t>(scaled, UINT32_MAX));
  small_kept(p, note);
}

/// Drops each sample point with probability 1/2 and doubles the weight of the others.
void SiteAccounts::thin_samples() {
  SpinGuard guard(lock_);
  uint64_t &distance = g_live.contents().header.sample_bytes;
  if (distance >= kMostSampleBytes)
    return;
  store(distance, distance * 2);
  for (uint64_t &weight : small_weight_)
    weight = 0;
  objects_.rework(
      [](const ObjectNote &note, void *data) {
        auto &self = *static_cast<SiteAccounts *>(data);
        uint32_t kept = 0;
        for (uint32_t left = note.weight; left; left--)
          kept += next_random(self.random_) >> 63;
        self.small_weight_[note.account] += kept;
        return kept;
      },
      this);
  for (Account a = 0; a < g_live.contents().header.site_count; a++)
    publish_live(a);
}

void SiteAccounts::read_cells() {
  modules_for_each_site(
      [](const smalloc_site *, smalloc_cell *cell, void *data) {
        auto &self = *static_cast<SiteAccounts *>(data);
        if (requested_bytes(cell) == 0)
          return;
        self.account_of(cell);
      },
      this);
}

void SiteAccounts::forget(const smalloc_module &module) {
  for_each_site_of(
      module,
      [](const smalloc_site *, smalloc_cell *cell, void *data) {
        auto &self = *static_cast<SiteAccounts *>(data);
        // A cell without requests may be known all the same. Remove it: another image's cell may
        // lie there next.
        if (requested_bytes(cell) == 0 && !self.knows(cell))
          return;
        const Account account = self.account_of(cell);
        SpinGuard guard(self.lock_);
        if (account != kNoSite && !self.is_left_[account]) {
          self.requested_before_[account] += requested_bytes(cell);
          store(g_live.contents().sites[account].requested_bytes, self.requested_before_[account]);
          self.is_left_[account] = true;
          self.left_++;
        }
        for (std::atomic<smalloc_cell *> &slot : self.cells_)
          if (slot.load(std::memory_order_relaxed) == cell)
            slot.store(kGone, std::memory_order_release);
      },
      this);
}

} // namespace smalloc
