// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// profile_report.cpp writes the lines of a profile.
#include "runtime/cli/machine/profile_report.h"

#include "runtime/cli/sites/site_report.h"
#include "runtime/errors/diagnostics.h"

#include <fmt/format.h>

namespace smalloc::cli {
namespace {

const char *source_text(const format::Number &number) {
  return number.value ? number.source.c_str() : "unknown";
}

std::string number_text(const format::Number &n, const char *unit) {
  if (!n.value)
    return "?";
  std::string text = fmt::format("{:g}{}", *n.value, unit);
  if (n.low && n.high)
    text += fmt::format(" ({:g} to {:g})", *n.low, *n.high);
  return text;
}

std::string cycles_text(const format::MachineProfile &p, const format::Number &n) {
  std::string text = number_text(n, " cycles");
  if (n.value && p.frequency_hz)
    text += fmt::format(", {:.3g} ns", *n.value / *p.frequency_hz * 1e9);
  return text;
}

} // namespace

std::optional<format::MachineProfile> profile_in(const std::string &document) {
  std::string why;
  return format::read_machine(document, why);
}

std::vector<ProfileRow> profile_rows(const format::MachineProfile &p) {
  std::vector<ProfileRow> rows;
  if (p.frequency_hz)
    rows.push_back({"clock rate", fmt::format("{:.3g} GHz", *p.frequency_hz / 1e9), "profile"});
  for (const format::TlbLevel &level : p.tlb) {
    std::string sizes;
    for (uint64_t bytes : level.page_bytes)
      sizes += (sizes.empty() ? "" : ", ") + readable_bytes(bytes);
    const std::string ways = !level.ways.value        ? "ways unknown"
                             : *level.ways.value == 0 ? "fully associative"
                                                      : number_text(level.ways, "-way");
    rows.push_back({fmt::format("TLB level {}, {}", level.level, sizes),
                    number_text(level.entries, " entries") + ", " + ways,
                    source_text(level.entries)});
  }
  rows.push_back(
      {"second-level hit", cycles_text(p, p.l2_hit_cycles), source_text(p.l2_hit_cycles)});
  for (const auto &[what, walks] :
       {std::pair("walk", &p.walk_cost), std::pair("overlapped walk", &p.overlapped_walk_cost),
        std::pair("overlapped walk near data", &p.overlapped_near_walk_cost)})
    for (const format::WalkCost &cost : *walks)
      rows.push_back(
          {fmt::format("{}, {}{}", what, readable_bytes(cost.page_bytes),
                       cost.pages ? fmt::format(", {} pages", *cost.pages) : std::string()),
           cycles_text(p, cost.cycles), source_text(cost.cycles)});
  for (const format::PerPage &touch : p.first_touch_ns)
    rows.push_back({"first touch, " + readable_bytes(touch.page_bytes),
                    number_text(touch.value, " ns"), source_text(touch.value)});
  if (p.read_first_ns.value)
    rows.push_back({"first touch, read before written: more", number_text(p.read_first_ns, " ns"),
                    source_text(p.read_first_ns)});
  if (p.collapse_ns.value)
    rows.push_back({"collapse", number_text(p.collapse_ns, " ns"), source_text(p.collapse_ns)});
  for (const format::PerPage &rate : p.bandwidth_bytes_per_second)
    rows.push_back({"read bandwidth, " + readable_bytes(rate.page_bytes),
                    rate.value.value
                        ? readable_bytes(static_cast<uint64_t>(*rate.value.value)) + "/s"
                        : std::string("?"),
                    source_text(rate.value)});
  if (p.backing_page_bytes.value)
    rows.push_back({"backing of superpages",
                    readable_bytes(static_cast<uint64_t>(*p.backing_page_bytes.value)) + " pages",
                    source_text(p.backing_page_bytes)});
  rows.push_back({"prefetched stride",
                  p.prefetch_max_stride_bytes.value
                      ? "up to " + number_text(p.prefetch_max_stride_bytes, " bytes")
                      : "?",
                  source_text(p.prefetch_max_stride_bytes)});
  return rows;
}

std::string profile_title(const format::MachineProfile &p) {
  return fmt::format("{}: reach {} pages of {} ({})", printable(p.name), p.reach(),
                     readable_bytes(p.base_page_bytes),
                     readable_bytes(p.reach() * p.base_page_bytes));
}

std::string profile_text(const format::MachineProfile &p, Colour colour) {
  Table table({"WHAT", "VALUE", "SOURCE"});
  for (const ProfileRow &row : profile_rows(p))
    table.add_row({{row.what}, {row.value}, {row.source}});
  std::string text = profile_title(p) + "\n\n" + table.print(colour);
  for (const std::string &line : p.disagreements)
    text += "note: " + printable(line) + "\n";
  return text;
}

} // namespace smalloc::cli
