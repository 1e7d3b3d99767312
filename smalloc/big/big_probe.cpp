// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// big_probe.cpp finds out how far the program has filled a big object (big_ahead.cpp). Before the
// probe the contents tell it: a superpage given ahead is resident from its first touch, and a part
// that holds data is filled. The probe and the units behind it are on base pages, so their resident
// pages tell it. Fill times of both kinds of unit are compared, to learn whether superpages help.
#include "smalloc/big/big_objects.h"

namespace smalloc {
namespace {
/// Growth of a probe on base pages from which it measures the program's speed and the order of its
/// writes. The next units must be given before the program reaches them.
constexpr size_t kMeasuredPages = 48;
/// Resident pages from which a probe that fills in order shows that the units given in front of it
/// are filled, too.
constexpr size_t kNearlyPages = kPagesPerUnit * 3 / 4;
/// New pages of a probe between two looks that show a fill.
constexpr size_t kGrowthPages = 4;
/// A unit that takes longer is not filled continuously.
constexpr uint64_t kLongestFillNs = 20000000;
} // namespace

/// True if the `pages` resident pages of the unit lie side by side, with gaps of an eighth of them
/// at most. Then a loop fills the unit upwards, perhaps except for the border of a grid.
bool BigObjects::fills_in_order(const char *unit, size_t pages) const {
  const auto resident = [&](size_t from, size_t to) {
    return region_->os().resident_pages(unit + from * kBasePageBytes, (to - from) * kBasePageBytes);
  };
  if (resident(0, pages) == pages)
    return true;
  size_t end = pages + 1, most = kPagesPerUnit; // end of the last resident page
  while (end < most) {
    const size_t middle = (end + most) / 2;
    if (resident(0, middle) == pages)
      most = middle;
    else
      end = middle + 1;
  }
  const size_t span = min_of(end, pages + pages / 8);
  return resident(end - span, end) == pages;
}

/// True if the program has left pages of the probe out and fills the next unit: the probe has
/// `pages` pages and gets no more.
bool BigObjects::is_passed(const Area &a, UnitIndex head, const BigObject &o, size_t pages) const {
  const UnitIndex next = head + o.probe + 1;
  if (pages < kPagesPerUnit / 2 || o.probe + 1 >= o.whole_units || is_superpage(a, next))
    return false;
  const size_t begun = region_->os().resident_pages(address(a, next), kSuperpageBytes);
  return begun >= kMeasuredPages && fills_in_order(address(a, next), begun);
}

/// Compares the fill time of units given ahead, `took_ns` each, with that of the object's units on
/// base pages. Both include the program's own work. A longer pause of the program excludes the
/// measurement. While several objects fill at once, the time of one contains the page faults of the
/// others, so nothing is accounted.
void BigObjects::compare_with_base(const BigObject &o, uint64_t took_ns) {
  if (filling_ <= 1 && took_ns && took_ns < kLongestFillNs && o.base_ns &&
      o.base_ns < kLongestFillNs && config_.first_touch)
    config_.first_touch->account(took_ns, o.base_ns);
}

/// True if a loop has filled a unit; `with_data` has a bit for each part that holds data. The last
/// part has data, or the loop has begun with the next unit. A quarter of the parts may hold zeros.
bool BigObjects::is_filled(unsigned with_data, bool next_begun) {
  return OsHooks::are_most(with_data) && (next_begun || with_data >> (kUnitParts - 1));
}

/// Counts the units given ahead that now hold the program's data: the same amount may be given in
/// their place. Units filled with zeros are unknown until the program reaches the probe. Returns
/// the newly filled parts. Precondition: promotion_lock_ is held.
unsigned BigObjects::note_filled(Area &a, UnitIndex head, BigObject &o) {
  unsigned data[kMostAhead], begun = 0; // leading units that hold any data
  while (begun < min_of(o.ahead_units, kMostAhead) &&
         (data[begun] = region_->os().parts_with_data(
              address(a, head + o.probe - o.ahead_units + begun))) != 0)
    begun++;
  UnitIndex filled = 0;
  while (filled < begun && is_filled(data[filled], filled + 1 < begun))
    filled++;
  unsigned parts = 0;
  for (UnitIndex i = filled; i < begun; i++)
    parts += static_cast<unsigned>(__builtin_popcount(data[i]));
  const unsigned lacked = o.ahead_units * kUnitParts - o.ahead_filled,
                 lacks = (o.ahead_units - filled) * kUnitParts - parts;
  if (lacks >= lacked)
    return 0;
  const uint64_t now = program_ns();
  if (filled && o.filled_ns)
    compare_with_base(o, (now - o.filled_ns) / filled);
  SpinGuard guard(lock_);
  parts_ahead_ -= lacked - lacks;
  o.ahead_units -= filled;
  o.ahead_filled = static_cast<uint16_t>(parts);
  if (filled) {
    o.shows_data = true;
    o.filled_ns = o.ahead_units ? now : 0; // else the program continues on base pages
  }
  return lacked - lacks;
}

/// True if the program has reached the end of the object: a page behind the last whole unit is
/// resident.
bool BigObjects::reaches_tail(const Area &a, UnitIndex head, const BigObject &o) const {
  return o.units > o.whole_units &&
         region_->os().resident_pages(address(a, head + o.whole_units), kBasePageBytes) != 0;
}

/// True if the program fills the probe upwards, and the units in front of it are surely filled or
/// none. The probe has `pages` resident pages and is not filled. Precondition: promotion_lock_ is
/// held.
bool BigObjects::look_at_probe(Area &a, UnitIndex head, BigObject &o, size_t pages,
                               unsigned &grown) {
  const uint64_t now = program_ns();
  if (pages && !o.probe_pages) { // the program has filled the units in front of the probe
    if (o.ahead_units && o.given_ns)
      compare_with_base(o, (now - o.given_ns) / o.ahead_units);
    o.begun_ns = now;
    o.begun_pages = static_cast<uint16_t>(pages);
  }
  const bool grows = pages >= o.probe_pages + kGrowthPages;
  const size_t least = o.ahead_units ? kNearlyPages : o.begun_pages + kMeasuredPages;
  const bool measured = grows && pages >= least,
             in_order = measured && fills_in_order(address(a, head + o.probe), pages);
  if (measured && !in_order)
    __atomic_store_n(&o.any_order, true, __ATOMIC_RELAXED);
  if (grows) {
    // A fill in any order (a hash table) fills all units at once: frequent looks would find nothing
    // to give, so its growth does not ask for them.
    if (in_order || !measured)
      grown += static_cast<unsigned>((pages - o.probe_pages) / (kPagesPerUnit / kUnitParts) + 1);
    o.looks_without_growth = 0;
  } else if (o.looks_without_growth < kStillLooks)
    o.looks_without_growth++;
  o.probe_pages = static_cast<uint16_t>(pages);
  return in_order;
}

/// Returns how many pages of the unit the program has filled; all of them if it is a superpage.
size_t BigObjects::filled_pages(const Area &a, UnitIndex unit) const {
  return is_superpage(a, unit) ? kPagesPerUnit
                               : region_->os().resident_pages(address(a, unit), kSuperpageBytes);
}

/// Returns the unit of the object from which on superpages help. The program may have filled more
/// than the probe since the last look, and is filling a unit now.
UnitIndex BigObjects::front_of_fill(const Area &a, UnitIndex head, const BigObject &o) const {
  UnitIndex front = o.probe + 1;
  for (; front < o.whole_units; front++)
    if (const size_t pages = filled_pages(a, head + front); pages < kDensePages)
      return pages >= kBegunPages ? front + 1 : front;
  return front;
}

/// True if the program has filled the rest of an object that is about to be freed. A few of the
/// units behind the probe are examined, the last among them. The units before one that was given
/// ahead were filled. A superpage from the allocation on is resident from its first touch, so its
/// contents are examined. Precondition: promotion_lock_ is held if the object may be promoted.
bool BigObjects::ends_filled(const Area &a, UnitIndex head, const BigObject &o) const {
  constexpr UnitIndex kAsked = 8;
  const UnitIndex left = o.whole_units - min_of(o.probe, o.whole_units),
                  step = max_of<UnitIndex>(left / kAsked, 1);
  if (left == 0) // all units are given: look_at() has recorded the fill, or the last unit shows it
    return o.ahead_units != 0 && region_->os().holds_data(address(a, head + o.whole_units - 1));
  for (UnitIndex i = 0; i < left; i += step) {
    const UnitIndex unit = head + o.whole_units - 1 - i;
    if (is_superpage(a, unit)
            ? !o.watched && !region_->os().holds_data(address(a, unit))
            : region_->os().resident_pages(address(a, unit), kSuperpageBytes) < kDensePages)
      return false;
  }
  return true;
}

} // namespace smalloc
