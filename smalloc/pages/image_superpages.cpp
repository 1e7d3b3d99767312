// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// image_superpages.cpp tries for each superpage of an image to collapse it in place, then to copy
// it, and warns about failures.
#include "smalloc/pages/image_superpages.h"
#include "smalloc/base/units.h"
#include "smalloc/pages/budget.h"
#include "smalloc/pages/page_fallback.h"

#include <errno.h>
#include <string.h>

namespace smalloc {
namespace {

// Limit for a stack without RLIMIT_STACK: enough for deep recursion and Fortran's automatic arrays.
constexpr size_t kMostStackBytes = size_t{256} << 20;

char *up(char *p) {
  return reinterpret_cast<char *>(align_up(reinterpret_cast<uintptr_t>(p), kSuperpageBytes));
}
char *down(char *p) {
  return reinterpret_cast<char *>(align_down(reinterpret_cast<uintptr_t>(p), kSuperpageBytes));
}

void note(ImagePages &pages, uint64_t &done, int error, uint64_t units) {
  if (error) {
    pages.last_error = error;
    pages.refused_units += units;
  } else {
    done += units;
    pages.units_left -= units;
  }
}

uint64_t units_between(char *start, char *end) {
  return start < end ? static_cast<uint64_t>(end - start) / kSuperpageBytes : 0;
}

/// Copies in one piece: separate copies of neighbours would be separate mappings.
void copy_run(char *start, char *end, bool executable, ImagePages &pages, uint64_t &done) {
  uint64_t units = min_of(units_between(start, end), pages.units_left);
  if (units)
    note(pages, done, pages.copy(start, units * kSuperpageBytes, executable), units);
}

void put_text(char *start, char *end, ImagePages &pages) {
  char *run = start; // start of the superpages that the kernel could not collapse in place
  for (char *unit = start; unit < end && pages.units_left; unit += kSuperpageBytes) {
    // Works only if file offset and address agree modulo 2 MiB (linked with -z
    // max-page-size=2097152) and the kernel supports it (CONFIG_READ_ONLY_THP_FOR_FS).
    if (pages.os->collapse(unit, kSuperpageBytes) != 0)
      continue;
    note(pages, pages.text_units, 0, 1);
    copy_run(run, unit, true, pages, pages.text_units);
    run = unit + kSuperpageBytes;
  }
  copy_run(run, end, true, pages, pages.text_units);
}

void put_anonymous(char *start, char *end, ImagePages &pages) {
  uint64_t units = min_of(units_between(start, end), pages.units_left);
  if (units == 0)
    return;
  int error = pages.os->advise(start, units * kSuperpageBytes, Advice::kSuperpages);
  note(pages, pages.static_units, error, units);
  // Collapse units that the loader has touched already: no page fault gives them a superpage.
  for (uint64_t i = 0; i < units && !error; i++) {
    char *unit = start + i * kSuperpageBytes;
    if (pages.os->resident_pages(unit, kSuperpageBytes))
      pages.os->collapse(unit, kSuperpageBytes);
  }
}

} // namespace

void put_on_superpages(const ImageSegment &s, const Options &options, ImagePages &pages) {
  if (s.executable) {
    if (options.text_on_superpages && !s.writable)
      put_text(up(s.start), down(s.end), pages);
    return;
  }
  if (!s.writable || !options.static_on_superpages)
    return;
  // A superpage that contains the border between file and .bss belongs to the copied part.
  char *anonymous = up(s.anonymous > s.start ? s.anonymous : s.start);
  char *end = down(s.end);
  char *file = up(s.start);
  if (anonymous > end)
    anonymous = end;
  if (pages.may_copy_data)
    copy_run(file, anonymous, false, pages, pages.static_units);
  else if (units_between(file, anonymous))
    note(pages, pages.static_units, EBUSY, units_between(file, anonymous));
  if (anonymous < end)
    put_anonymous(anonymous, end, pages);
}

void put_stack(const StackRange &stack, ImagePages &pages) {
  if (!stack.start) {
    note(pages, pages.stack_units, stack.refused_bytes ? ENOMEM : 0,
         stack.refused_bytes / kSuperpageBytes);
    return;
  }
  char *start = up(stack.start), *end = down(stack.end);
  const uint64_t units = min_of(units_between(start, end), pages.units_left);
  if (units == 0)
    return;
  // Take the upper superpages: the program uses them first.
  start = end - units * kSuperpageBytes;
  note(pages, pages.stack_units,
       pages.os->advise(start, units * kSuperpageBytes, Advice::kSuperpages), units);
}

void image_superpages_at_start(const Options &o, const OsHooks &os, Counters &counters,
                               void (*warn)(Text)) {
  if (!o.static_on_superpages && !o.text_on_superpages && !o.stack_on_superpages)
    return;
  TextBuffer<256> line;
  line.put("program: ");
  ThpMode thp = thp_mode(os, o.sysfs);
  const bool disabled = os.superpages_disabled();
  if (thp == ThpMode::kAbsent || (thp == ThpMode::kNever && !o.force) || disabled) {
    line.put(disabled                  ? PageFallback::kDisabled
             : thp == ThpMode::kAbsent ? "this kernel has no transparent huge pages"
                                       : "transparent huge pages are switched off (echo madvise > "
                                         "/sys/kernel/mm/transparent_hugepage/enabled)");
    warn(line.text());
    return;
  }
  struct Visit {
    const Options &options;
    ImagePages pages;
  } visit = {o, {}};
  ImagePages &pages = visit.pages;
  pages.os = &os;
  pages.copy = copy_to_superpages;
  pages.may_copy_data = thread_count() == 1;
  pages.units_left = Budget::most_bytes(o.budget_bytes, o.budget_percent) / kSuperpageBytes;
  for_each_segment(
      [](const ImageSegment &segment, void *data) {
        auto &v = *static_cast<Visit *>(data);
        put_on_superpages(segment, v.options, v.pages);
      },
      &visit);
  if (o.stack_on_superpages)
    put_stack(lengthen_main_stack(kMostStackBytes), pages);
  counters.static_superpages.set(pages.static_units);
  counters.text_superpages.set(pages.text_units);
  counters.stack_superpages.set(pages.stack_units);
  if (pages.refused_units) {
    line.number(pages.refused_units).put(" superpages refused, the last time: ");
    line.put(pages.last_error == EBUSY
                 ? "other threads run already, so .data cannot move to superpages"
                 : strerror(pages.last_error));
    warn(line.text());
  }
}

} // namespace smalloc
