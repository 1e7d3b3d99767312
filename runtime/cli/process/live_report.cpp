// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// live_report.cpp formats the statistics of a process.
#include "runtime/cli/process/live_report.h"

#include "runtime/cli/output.h"
#include "runtime/cli/sites/site_report.h"
#include "runtime/errors/diagnostics.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace smalloc::cli {
namespace {

using Json = nlohmann::ordered_json;

const char *const kStrategies[] = {"auto", "off", "superpage", "migrate", "guest"};
const char *const kPolicies[] = {"", "same-input", "other-input", "base"};
const char *const kDirectives[] = {"", "base", "taken", "deferred"};
const char *const kTracking[] = {"big", "sampled", "exact"};
constexpr size_t kMostFunctionColumns = 48;

template <size_t n> Json choice(const char *const (&names)[n], uint32_t i) {
  return i < n ? Json(names[i]) : Json();
}

// Returns a share with three decimals, like the program's own document; null: nothing is resident.
Json share(uint64_t part, uint64_t whole) {
  if (whole == 0)
    return Json();
  return Json(std::floor(static_cast<double>(part) * 1000 / static_cast<double>(whole)) / 1000);
}

Json optional_number(const std::optional<uint64_t> &number) {
  return number ? Json(*number) : Json();
}

std::string bytes_text(const Json &number) {
  return number.is_null() ? "?" : readable_bytes(number.get<uint64_t>());
}
std::string percent_text(const Json &number) {
  return number.is_null() ? "" : fmt::format("{:.0f} %", number.get<double>() * 100);
}

uint64_t counter(const Json &document, const char *name) {
  const Json &counters = document["counters"];
  return counters.contains(name) ? counters[name].get<uint64_t>() : 0;
}

std::string where(const Json &site, const std::string &folder) {
  if (site["file"].is_null())
    return site["id"].is_null() ? "" : "?";
  std::string file = printable(site["file"].get<std::string>());
  if (!folder.empty() && file.starts_with(folder + "/"))
    file.erase(0, folder.size() + 1);
  return fmt::format("{}:{}", file, site["line"].dump());
}

Table heap_table(const Json &document) {
  Table table({"HEAP", "RESIDENT", "ON SUPERPAGES", "COVERAGE"});
  for (const Json &heap : document["heaps"])
    if (heap["resident_bytes"].is_null() || heap["resident_bytes"] != 0)
      table.add_row({{printable(heap["name"].get<std::string>())},
                     {bytes_text(heap["resident_bytes"])},
                     {bytes_text(heap["superpage_bytes"])},
                     {percent_text(heap["coverage"])}});
  table.add_row({{"all", Style::kBold},
                 {bytes_text(document["resident_bytes"])},
                 {bytes_text(document["superpage_bytes"])},
                 {percent_text(document["coverage"])}});
  return table;
}

bool is_counted(const LiveSite &site) { return site.peak_bytes != 0 || site.requested_bytes == 0; }

std::string counted_text(const Json &site, const char *key) {
  if (site[key].is_null())
    return "not counted";
  return (site["estimated"].get<bool>() ? "about " : "") + bytes_text(site[key]);
}

Table site_table(const Json &document, const std::string &folder) {
  const bool agent = !document["agent"].is_null();
  std::vector<std::string> header = {"SITE", "WHERE", "REQUESTED", "LIVE", "PEAK", "SUPERPAGES"};
  if (agent)
    header.insert(header.end(), {"PAGES OF", "DIRECTIVE", "PREDICTED"});
  Table table(header);
  for (const Json &site : document["sites"]) {
    const bool no_site = site["id"].is_null();
    const std::string function =
        no_site ? "(no site: by size, or by the C interface)"
        : site["function"].is_null()
            ? "?"
            : shortened(printable(readable_function(site["function"].get<std::string>())),
                        kMostFunctionColumns);
    std::vector<Cell> row({{function, Style::kBold},
                           {where(site, folder)},
                           {no_site ? "" : bytes_text(site["requested_bytes"])},
                           {counted_text(site, "live_bytes")},
                           {counted_text(site, "peak_bytes")},
                           {site["superpages"] == 0 ? "" : site["superpages"].dump()}});
    if (agent) {
      row.push_back({site["directive"].is_null() ? "" : bytes_text(site["page_bytes_directed"])});
      row.push_back({site["directive"].is_null() ? "" : site["directive"].get<std::string>()});
      row.push_back({site["directive"].is_null() ? "" : site["superpages_predicted"].dump()});
    }
    table.add_row(std::move(row));
  }
  return table;
}

std::string work_text(const Json &document) {
  const auto n = [&](const char *name) { return counter(document, name); };
  const uint64_t failed = n("promotions_failed_einval") + n("promotions_failed_eagain") +
                          n("promotions_failed_enomem") + n("promotions_failed_other");
  return fmt::format("big objects: {} live, {}, peak {}; small objects: {} of pages, peak {}\n",
                     n("big_objects_now"), readable_bytes(n("big_bytes_now")),
                     readable_bytes(n("big_bytes_peak")),
                     readable_bytes(n("small_bytes_now") + n("class_bytes_now")),
                     readable_bytes(n("small_bytes_peak") + n("class_bytes_peak"))) +
         fmt::format(
             "superpages: {} at first touch; {} promoted in {} ms, {} refused; {} migration{} in "
             "{} ms; {} now, peak {}, {} broken by a fork, {} made again\n",
             n("superpages_at_first_touch"), n("promotions"), n("promotion_ns") / 1000000, failed,
             n("migrations"), n("migrations") == 1 ? "" : "s", n("migration_ns") / 1000000,
             n("superpages_now") - std::min(n("superpages_broken"), n("superpages_now")),
             n("superpages_peak"), n("superpages_broken"), n("superpages_mended")) +
         fmt::format("fallbacks to malloc: {}; mappings: {} of libsmalloc, {} in the process\n",
                     n("fallbacks"), document["mappings"]["libsmalloc"].dump(),
                     document["mappings"]["process"].dump());
}

} // namespace

Json live_document(const LiveView &view, int pid, const std::string &program, uint64_t now_ns) {
  uint64_t resident = 0, superpages = 0;
  Json heaps = Json::array(), counters = Json::object(), sites = Json::array();
  for (const LiveHeap &heap : view.heaps) {
    resident += heap.resident_bytes.value_or(0);
    superpages += heap.superpage_bytes.value_or(0);
    heaps.push_back(Json{
        {"name", heap.name},
        {"resident_bytes", optional_number(heap.resident_bytes)},
        {"superpage_bytes", optional_number(heap.superpage_bytes)},
        {"coverage", share(heap.superpage_bytes.value_or(0), heap.resident_bytes.value_or(0))}});
  }
  for (const auto &[name, value] : view.counters)
    if (!name.empty())
      counters[name] = value;
  for (const LiveSite &site : view.sites)
    sites.push_back(Json{
        {"id", site.id ? Json(fmt::format("{:016x}", site.id)) : Json()},
        {"function", text_or_null(site.function)},
        {"file", text_or_null(site.file)},
        {"line", site.id ? Json(site.line) : Json()},
        {"requested_bytes", site.requested_bytes},
        // null: the program's malloc has its objects
        {"live_bytes", is_counted(site) ? Json(site.live_bytes) : Json()},
        {"peak_bytes", is_counted(site) ? Json(site.peak_bytes) : Json()},
        {"live_objects", site.live_objects},
        {"superpages", site.superpages},
        {"superpages_peak", site.superpages_peak},
        {"directive", site.directive ? choice(kDirectives, site.directive) : Json()},
        {"page_bytes_directed", site.directive ? Json(uint64_t{1} << site.page_shift) : Json()},
        {"superpages_predicted", site.directive ? Json(site.superpages_predicted) : Json()},
        {"estimated", site.small_seen && view.tracking == 1}});
  return Json{
      {"schema", "smalloc.stats/1"},
      {"pid", pid},
      {"program", program},
      {"state", "running"},
      {"strategy", choice(kStrategies, view.strategy)},
      {"thp", text_or_null(view.thp)},
      {"machine", text_or_null(view.machine)},
      {"seconds",
       now_ns > view.started_ns ? (now_ns - view.started_ns) / 1000000000u : uint64_t{0}},
      {"tracking", choice(kTracking, view.tracking)},
      {"sample_bytes", view.sample_bytes ? Json(view.sample_bytes) : Json()},
      {"resident_bytes", resident},
      {"superpage_bytes", superpages},
      {"coverage", share(superpages, resident)},
      {"mappings", Json{{"libsmalloc", view.mappings_of_heaps}, {"process", view.mappings_all}}},
      {"heaps", heaps},
      {"agent", view.policy ? Json{{"policy", choice(kPolicies, view.policy)},
                                   {"bar_percent", share(view.bar_thousandths, 1000)},
                                   {"superpages_supply", view.superpages_supply},
                                   {"superpages_claimed_by_others", view.superpages_claimed},
                                   {"superpages_taken", view.superpages_taken},
                                   {"phases", view.phases}}
                            : Json()},
      {"counters", counters},
      {"sites", sites}};
}

std::string live_text(const Json &document, Colour colour, const std::string &folder) {
  const auto text = [](const Json &value) {
    return value.is_null() ? std::string("?") : printable(value.get<std::string>());
  };
  std::string out =
      fmt::format("{} (process {}): heaps running for {} s, strategy {}, THP {}, machine {}\n\n",
                  text(document["program"]), document["pid"].dump(), document["seconds"].dump(),
                  text(document["strategy"]), text(document["thp"]), text(document["machine"]));
  out += heap_table(document).print(colour) + "\n" + work_text(document);
  if (const Json &agent = document["agent"]; !agent.is_null())
    out += fmt::format("agent: {}; superpages: {} expected, {} claimed by other processes (least "
                       "PMB: {:.1f} %), {} "
                       "taken; decisions changed while running: {}\n",
                       text(agent["policy"]), agent["superpages_supply"].dump(),
                       agent["superpages_claimed_by_others"].dump(),
                       agent["bar_percent"].get<double>(), agent["superpages_taken"].dump(),
                       agent["phases"].dump());
  if (!document["sites"].empty())
    out += "\n" + site_table(document, folder).print(colour);
  if (document["tracking"] == "big")
    out += "\nsites: objects of 2 MiB and more; to count small objects, start the program with "
           "SMALLOC_CONF=stats:sites\n";
  else if (document["tracking"] == "sampled")
    out += fmt::format("\nsmall objects are sampled, one per {}: live bytes L are known to "
                       "sqrt({} / L)\n",
                       bytes_text(document["sample_bytes"]), bytes_text(document["sample_bytes"]));
  return out;
}

} // namespace smalloc::cli
