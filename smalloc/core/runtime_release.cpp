// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// runtime_release.cpp frees and resizes objects of libsmalloc. A resized object stays in place or
// moves to another heap. Wrong pointers are refused with a report.
#include "smalloc/agent/agent.h"
#include "smalloc/base/keep_errno.h"
#include "smalloc/core/debug.h"
#include "smalloc/core/runtime.h"
#include "smalloc/sites/object_placement.h"
#include "smalloc/small/node_heaps.h"
#include <errno.h>
#include <stdlib.h>

namespace smalloc {
namespace {
/// A big object shrunk below this releases its unit.
constexpr size_t kBackToMallocBytes = size_t{64} << 10;
/// Bytes of the largest object that is copied to get superpages. The copy of a larger one costs
/// more than it gains, and both exist at once.
constexpr size_t kMostCopied = size_t{16} << 20;
} // namespace

void Runtime::release(void *p) {
  const size_t offset = g_range.offset(p);
  if (SMALLOC_UNLIKELY(g_bitmap_heap.owns(offset)))
    return g_bitmap_heap.release(p);
  if (SMALLOC_LIKELY(offset < g_range.main_heap_bytes.load(std::memory_order_relaxed))) {
    g_small.release(p);
    return;
  }
  auto at = reinterpret_cast<uintptr_t>(p);
  if (at < region_.slice_start(Slice::kBigBase)) {
    ObjectNote note;
    if (g_accounts.tracks_small() && !may_end("free", p, note))
      return;
    if (at < region_.slice_start(Slice::kClass))
      g_small.release(p);
    else if (at < region_.slice_start(Slice::kNode))
      g_small.class_release(p);
    else
      g_node_heaps.release(p);
    return;
  }
  KeepErrno keep;
  BigObjects::Handle h = big_.find(p);
  if (!h || region_.unit_address(h.slice, h.head) + h.object->offset != p) {
    refuse("free", p);
    return;
  }
  // Before the release: afterwards another thread may own the units.
  uint64_t bytes = h.object->usable_bytes();
  g_accounts.note_big_freed(p, bytes);
  SiteAccounts::Account account = SiteAccounts::kNoSite;
  if (SMALLOC_UNLIKELY(g_agent.active()))
    g_accounts.big_account(p, account);
  if (!big_.release(p))
    refuse("free", p);
  else if (SMALLOC_UNLIKELY(account != SiteAccounts::kNoSite))
    agent_charged(account);
}

/// Marks a small object freed or resized. False: no live object starts at `p`, which has been
/// reported.
bool Runtime::may_end(const char *call, const void *p, ObjectNote &note) {
  if (g_accounts.note_small_freed(p, note))
    return true;
  BadPointerReport report;
  report.call = call;
  report.pointer = p;
  report.kind = note.freed ? BadPointer::kFreedBefore : BadPointer::kNoObject;
  report.site_known = note.freed;
  report.account = note.account;
  report.bytes = note.weight;
  report_bad_pointer(report, options_.abort_on_error);
  return false;
}

/// Reports a wrong pointer among the big objects, whose table costs nothing. Like glibc it ends the
/// program, unless the settings say otherwise. Returns false.
bool Runtime::refuse(const char *call, const void *p) {
  const bool stops = options_.abort_on_error || !(options_.debug || options_.abort_given);
  BadPointerReport report;
  report.call = call;
  report.pointer = p;
  BigObjects::Handle h = big_.find(p);
  const char *start = h ? region_.unit_address(h.slice, h.head) + h.object->offset : nullptr;
  // Bytes in front of a staggered object belong to no object.
  if (h && p >= start) {
    report.kind = BadPointer::kInside;
    report.bytes = h.object->usable_bytes();
    report.offset = static_cast<uint64_t>(static_cast<const char *>(p) - start);
    report.site_known = g_accounts.big_account(start, report.account);
  } else if (g_accounts.big_account(p, report.account)) {
    report.kind = BadPointer::kFreedBefore;
    report.site_known = true;
  }
  report_bad_pointer(report, stops);
  return false;
}

size_t Runtime::usable_bytes(const void *p) {
  if (g_bitmap_heap.owns(g_range.offset(p)))
    return g_bitmap_heap.usable_bytes(p);
  if (reinterpret_cast<uintptr_t>(p) < region_.slice_start(Slice::kBigBase))
    return g_small.usable_bytes(p);
  return big_.usable_bytes(p);
}

void *Runtime::resize_big(void *p, size_t bytes) {
  SiteAccounts::Account account = SiteAccounts::kNoSite;
  BigObjects::Handle h = big_.find(p);
  if (!h || !g_accounts.big_account(p, account))
    return big_.resize(p, bytes);
  // Before the resize: another thread may own the old units as soon as the pages have moved.
  g_accounts.note_big_freed(p, h.object->usable_bytes());
  void *r = big_.resize(p, bytes);
  charge_big(r ? r : p, account);
  return r;
}

/// True if an object on base pages that the program enlarges gets superpages by a copy (heap:auto):
/// it is being filled. False for a large object, whose copy costs more than it gains.
bool Runtime::grows_out_of_base_pages(Slice slice, const void *p, size_t bytes) {
  if (strategy_ != HeapStrategy::kAuto || slice != Slice::kBigBase || bytes < 2 * kSuperpageBytes ||
      !region_.thp_allowed())
    return false;
  const size_t before = big_.usable_bytes(p);
  return bytes > before && before <= kMostCopied;
}

/// Allocates a big object that replaces a smaller one of the same contents (heap:auto). The program
/// is filling it. A large one is observed nevertheless, unless the contents fill half of it: then
/// the program fills it upwards, so that superpages waste at most the last one.
void *Runtime::grown_allocate(size_t bytes, smalloc_cell *cell, const void *caller,
                              bool half_filled) {
  BigRequest request;
  request.bytes = bytes;
  request.superpages_at_first_touch = request.if_cheap = true;
  request.promotable = options_.promote != PromotePolicy::kOff;
  request.ahead = !half_filled && bytes >= kLeastAheadBytes && request.promotable;
  request.history = FillHistory::key(cell ? static_cast<const void *>(cell) : caller, bytes);
  request.placement = cell ? g_placement.of(cell) : numa::Placement();
  return big_allocate(request, g_accounts.account_of(cell));
}

/// The next allocator would take a page fault for each 4 KiB of the new part. Superpages of a
/// budget belong to the sites that a profile has named.
bool Runtime::takes_over(size_t bytes) {
  if (bytes < kSuperpageBytes || bytes > PTRDIFF_MAX || is_off() ||
      (!running() && !outgrows_program_malloc(bytes)))
    return false;
  options();
  return strategy_ == HeapStrategy::kAuto && ready() && sites_served_ && region_.thp_allowed() &&
         !(g_directives.any() && (options_.budget_bytes || options_.budget_percent));
}

void *Runtime::take_over(const void *p, size_t had, size_t bytes, smalloc_cell *cell,
                         const void *caller) {
  if (had > kMostCopied)
    return nullptr;
  const auto start = reinterpret_cast<uintptr_t>(p), first = align_up(start, kBasePageBytes),
             end = align_down(start + had, kBasePageBytes);
  const size_t whole = end > first ? end - first : 0,
               resident = region_.os().resident_pages(reinterpret_cast<void *>(first), whole);
  // Most of a sparse object would become resident by the copy.
  if (resident * kBasePageBytes < whole - whole / 8)
    return nullptr;
  void *r = grown_allocate(bytes, cell, caller, had >= bytes / 2);
  if (r)
    memcpy(r, p, had);
  return r;
}

/// Allocates the copy of a big object that could not be resized: same site, same request.
void *Runtime::copy_of_big(const void *p, size_t bytes) {
  SiteAccounts::Account account = SiteAccounts::kNoSite;
  g_accounts.big_account(p, account);
  BigRequest request = big_.like(p, bytes);
  request.superpages_at_first_touch |= grows_out_of_base_pages(region_.slice_of(p), p, bytes);
  // More new memory than the program has filled so far: predict it like a new object.
  request.ahead = strategy_ == HeapStrategy::kAuto && request.history && request.promotable &&
                  bytes / 2 > big_.usable_bytes(p);
  request.superpages_at_first_touch &= !first_touch_cost_.too_expensive();
  return big_allocate(request, account);
}

/// Resizes an object of the heap that joins neighbours; nullptr: another heap serves the new size.
void *Runtime::resize_in_bitmap_heap(void *p, size_t bytes) {
  if (void *r = g_bitmap_heap.resize(p, bytes))
    return r;
  void *r = bytes <= BitmapHeap::kMostBytes && JoiningHeap::takes(bytes) && g_bitmap_heap.is_open()
                ? g_bitmap_heap.allocate(bytes)
                : nullptr;
  if (r) {
    memcpy(r, p, min_of(g_bitmap_heap.usable_bytes(p), bytes));
    g_bitmap_heap.release(p);
  }
  return r;
}

/// Copies the object at `p` in `slice`, which its heap could not resize, to new memory of `bytes`
/// bytes and frees it. nullptr: no memory; the object is unchanged. The others are resize()'s
/// parameters.
void *Runtime::move_to_other_memory(void *p, size_t bytes, Slice slice, bool keeps_kind,
                                    smalloc_cell *cell) {
  const bool was_big = slice == Slice::kBigBase || slice == Slice::kBigSuper;
  void *r = nullptr;
  if (bytes >= kSuperpageBytes && was_big)
    r = copy_of_big(p, bytes);
  else if (bytes >= kSuperpageBytes && strategy_ == HeapStrategy::kAuto && !keeps_kind)
    r = grown_allocate(bytes, cell, this, false);
  else if (bytes >= kSuperpageBytes)
    r = big_allocate(
        bytes, 16, false,
        (keeps_kind ? slice != Slice::kClass && slice != Slice::kNode : serves_process())
            ? FirstTouch::kSuperpages
            : FirstTouch::kBase,
        false, cell, slice == Slice::kNode ? g_node_heaps.placement_of(p) : numa::Placement());
  else if (keeps_kind && (slice == Slice::kBigBase || slice == Slice::kClass))
    r = class_allocate(bytes, 16, false);
  else if (keeps_kind || serves_process() || (slice == Slice::kClass && g_small.class_frozen()))
    r = small_allocate(bytes, 16, false);
  if (!r)
    r = g_next.malloc(bytes);
  if (!r) // keeping the object in place also serves a shrinking realloc
    return was_big && bytes < kBackToMallocBytes ? resize_big(p, bytes) : nullptr;
  if (bytes >= kLeastAheadBytes && SMALLOC_UNLIKELY(__smalloc_v1_pending))
    wake_helper();
  memcpy(r, p, min_of(usable_bytes(p), bytes));
  release(p);
  return r;
}

void *Runtime::resize(void *p, size_t bytes, bool keeps_kind, smalloc_cell *cell) {
  int saved = errno;
  if (bytes > PTRDIFF_MAX) {
    errno = ENOMEM;
    return nullptr;
  }
  Slice slice = region_.slice_of(p);
  bool was_big = slice == Slice::kBigBase || slice == Slice::kBigSuper;
  void *r = nullptr;
  if (was_big) {
    if (!big_.starts_at(p)) {
      refuse("realloc", p);
      errno = ENOMEM;
      return nullptr;
    }
    if (bytes >= kBackToMallocBytes && !grows_out_of_base_pages(slice, p, bytes))
      r = resize_big(p, bytes);
  } else {
    ObjectNote note;
    const bool in_span = g_bitmap_heap.owns(g_range.offset(p)),
               tracked = g_accounts.tracks_small() && !in_span;
    if (tracked && !may_end("realloc", p, note)) {
      errno = ENOMEM;
      return nullptr;
    }
    const size_t before = tracked && note.weight ? usable_bytes(p) : 0;
    if (in_span)
      r = resize_in_bitmap_heap(p, bytes);
    else if (bytes < kSuperpageBytes)
      r = slice == Slice::kClass  ? g_small.class_resize(p, bytes)
          : slice == Slice::kNode ? g_node_heaps.resize(p, bytes)
                                  : g_small.resize(p, bytes);
    if (tracked && r)
      g_accounts.small_resized(r, bytes, before, usable_bytes(r), note);
    else if (tracked)
      g_accounts.small_kept(p, note);
  }
  if (!r && !(r = move_to_other_memory(p, bytes, slice, keeps_kind, cell))) {
    errno = ENOMEM;
    return nullptr;
  }
  errno = saved;
  return r;
}

} // namespace smalloc
