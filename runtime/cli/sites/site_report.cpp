// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// site_report.cpp estimates each site's benefit for sorting and formats its fields.
#include "runtime/cli/sites/site_report.h"

#include "runtime/cli/output.h"
#include "runtime/errors/diagnostics.h"
#include "smalloc/site_order.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <memory>
#include <set>

#include <cxxabi.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace smalloc::cli {
namespace {

using Json = nlohmann::ordered_json;

const char *const kPatterns[] = {"unknown", "none",      "streaming",
                                 "strided", "scattered", "pointer-chasing"};
const char *const kDecisions[] = {"base", "superpage", "runtime"};
const char *const kDeciders[] = {"compiler", "profile", "directive", "validation"};

constexpr uint64_t kSuperpageBytes = uint64_t{2} << 20;

double benefit(const Site &site) {
  return smalloc_site_benefit(static_cast<double>(site.record.saving_cycles_per_access),
                              site.record.spread_pages);
}

Json known(uint64_t number) { return number == SMALLOC_UNKNOWN ? Json() : Json(number); }
Json above_zero(uint32_t number) { return number == 0 ? Json() : Json(number); }

// Returns the shortest decimal that is this float: 0.1f is 0.1, not 0.10000000149.
Json known(float number) {
  if (!(number >= 0) || !std::isfinite(number))
    return Json();
  return Json(std::strtod(fmt::format("{}", number).c_str(), nullptr));
}

Json lines(const std::string &text) {
  Json result = Json::array();
  for (size_t from = 0; from < text.size();) {
    const size_t end = std::min(text.find('\n', from), text.size());
    if (end > from)
      result.push_back(text.substr(from, end - from));
    from = end + 1;
  }
  return result;
}

Json site_json(const Site &site) {
  const struct smalloc_site &r = site.record;
  const unsigned decision = site.decision();
  Json min_bytes;
  if (decision == SMALLOC_DECISION_RUNTIME)
    min_bytes = known(r.min_bytes);
  return Json{
      {"id", fmt::format("{:016x}", r.id)},
      {"context", lines(site.context)},
      {"function", text_or_null(site.function)},
      {"file", text_or_null(site.file)},
      {"line", above_zero(r.line)},
      {"column", above_zero(r.column)},
      {"array", text_or_null(site.array)},
      {"callee", text_or_null(site.callee)},
      {"element_bytes", above_zero(r.element_bytes)},
      {"size_bytes", known(r.size_bytes)},
      {"pattern", kPatterns[r.pattern]},
      {"spread_pages", known(r.spread_pages)},
      {"spread_expr", text_or_null(site.spread_expr)},
      {"misses_per_access", known(r.misses_per_access)},
      {"saving_cycles_per_access", known(r.saving_cycles_per_access)},
      {"first_touch_faults_saved", known(r.first_touch_faults_saved)},
      {"fully_initialised", (r.flags & SMALLOC_SITE_FULLY_INITIALISED) != 0},
      {"partitioned", (r.flags & SMALLOC_SITE_PARTITIONED) != 0},
      {"decision", kDecisions[decision]},
      {"min_bytes", min_bytes},
      {"page_bytes", uint64_t{1} << site.page_shift()},
      {"heap", decision == SMALLOC_DECISION_BASE ? "program" : "superpage"},
      {"decided_by", kDeciders[site.decided_by()]},
      {"rewritten", (r.flags & SMALLOC_SITE_REWRITTEN) != 0},
      {"undecided", (r.flags & SMALLOC_SITE_UNDECIDED) != 0},
      {"escapes", (r.flags & SMALLOC_SITE_ESCAPES) != 0},
      {"small_objects", (r.flags & SMALLOC_SITE_SMALL) != 0},
      {"joined", site.joined},
      {"copies", site.copies},
      {"confidence", r.confidence / 100.0},
      {"why", text_or_null(site.why)},
  };
}

// Returns the value if the whole program has one, else "mixed": units may be compiled for different
// machines.
Json common(const std::set<std::string> &values) {
  if (values.empty())
    return Json();
  return values.size() == 1 ? Json(*values.begin()) : Json("mixed");
}

std::string text_of(const Json &value) {
  if (value.is_null())
    return "?";
  return value.is_string() ? printable(value.get<std::string>()) : value.dump();
}

std::string location(const Json &site) {
  if (site["file"].is_null())
    return "?";
  return fmt::format("{}:{}", text_of(site["file"]), text_of(site["line"]));
}

std::string spread_text(const Json &site) {
  std::string pages;
  if (!site["spread_pages"].is_null()) {
    const auto count = site["spread_pages"].get<uint64_t>();
    pages = fmt::format("{} page{}", count, count == 1 ? "" : "s");
  }
  // Show the expression only if the number is unknown.
  return !pages.empty() ? pages : text_of(site["spread_expr"]);
}

Cell decision_cell(const Json &site) {
  const std::string decision = site["decision"];
  if (decision == "superpage")
    return {fmt::format("superpage {}", readable_bytes(site["page_bytes"])), Style::kGood};
  if (decision == "base")
    return {site["undecided"].get<bool>() ? "base (undecided)" : "base", Style::kFaint};
  if (site["min_bytes"].is_null())
    return {"runtime", Style::kWarn};
  const uint64_t page = site["page_bytes"];
  return {fmt::format("runtime from {}{}{}", readable_bytes(site["min_bytes"]),
                      site["small_objects"].get<bool>() ? " live" : "",
                      page < kSuperpageBytes ? ", pages of " + readable_bytes(page) : ""),
          Style::kWarn};
}

} // namespace

std::string readable_bytes(uint64_t bytes) {
  static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  while (unit + 1 < std::size(units) && value >= 1024) {
    value /= 1024;
    unit++;
  }
  std::string number = fmt::format("{:.1f}", value);
  if (number.size() > 2 && number.ends_with(".0"))
    number.resize(number.size() - 2);
  return number + " " + units[unit];
}

std::string readable_function(const std::string &name) {
  // Demanglers recurse; a longer name is not worth the stack.
  if (name.size() > 4096)
    return name.substr(0, 64) + "...";
  if (name.starts_with("_Z")) {
    int status = 0;
    std::unique_ptr<char, decltype(&std::free)> plain(
        abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), &std::free);
    return status == 0 && plain ? std::string(plain.get()) : name;
  }
  if (name == "_QQmain")
    return "program";
  if (name == "_FortranAAllocatableAllocate")
    return "allocate";
  if (name == "_FortranAPointerAllocate")
    return "allocate (pointer)";
  if (name == "_FortranAAllocatableAllocateSource")
    return "allocate (source)";
  if (name == "_FortranAPointerAllocateSource")
    return "allocate (pointer, source)";
  if (name == "_FortranACopyInAssign")
    return "copy of a section";
  if (name == "_FortranAAssign")
    return "assignment";
  // flang: _QP name, or _QM module P name; the upper-case letters only mark what follows.
  if (name.starts_with("_QP"))
    return name.substr(3);
  if (name.starts_with("_QM")) {
    const size_t procedure = name.find('P', 3);
    if (procedure != std::string::npos)
      return name.substr(3, procedure - 3) + "::" + name.substr(procedure + 1);
  }
  return name;
}

void sort_by_benefit(std::vector<Site> &sites) {
  std::stable_sort(sites.begin(), sites.end(), [](const Site &a, const Site &b) {
    if (const int ra = smalloc_site_rank(a.decision()), rb = smalloc_site_rank(b.decision());
        ra != rb)
      return ra < rb;
    if (benefit(a) != benefit(b))
      return benefit(a) > benefit(b);
    return a.record.id < b.record.id;
  });
}

void merge_copies(std::vector<Site> &sites) {
  const auto shown = [](const Site &site) {
    Json json = site_json(site);
    json.erase("copies");
    return json.dump(-1, ' ', false, Json::error_handler_t::replace); // names may hold any bytes
  };
  std::map<std::string, size_t> first; // shown text of a site -> its index
  std::vector<Site> merged;
  for (Site &site : sites) {
    const auto [at, fresh] = first.emplace(shown(site), merged.size());
    if (fresh)
      merged.push_back(std::move(site));
    else
      merged[at->second].copies += site.copies;
  }
  sites = std::move(merged);
}

Json site_document(const std::vector<Site> &sites, const std::string &path,
                   const std::string &build_id) {
  Json list = Json::array();
  std::set<std::string> models, machines, sources, reaches, bases;
  uint64_t counts[3] = {0, 0, 0}, rewritten = 0, undecided = 0;
  bool joined = false;
  for (const Site &site : sites) {
    const struct smalloc_site &r = site.record;
    list.push_back(site_json(site));
    counts[site.decision()]++;
    undecided += site.decision() == SMALLOC_DECISION_BASE && (r.flags & SMALLOC_SITE_UNDECIDED);
    rewritten += (r.flags & SMALLOC_SITE_REWRITTEN) != 0;
    joined |= site.joined;
    models.insert(r.model == SMALLOC_MODEL_PAPER ? "paper" : "spread");
    if (!site.machine.empty())
      machines.insert(site.machine);
    sources.insert(r.machine_source == SMALLOC_MACHINE_FILE ? "file" : "preset");
    reaches.insert(std::to_string(r.reach_pages));
    bases.insert(std::to_string(r.base_page_shift));
  }
  Json reach, base;
  if (reaches.size() == 1 && sites.front().record.reach_pages)
    reach = sites.front().record.reach_pages;
  if (bases.size() == 1 && sites.front().record.base_page_shift)
    base = uint64_t{1} << sites.front().record.base_page_shift;
  return Json{
      {"schema", "smalloc.sites/1"},
      {"binary", Json{{"path", path}, {"build_id", text_or_null(build_id)}}},
      {"model", common(models)},
      {"joined", joined},
      {"machine", Json{{"name", common(machines)},
                       {"base_page_bytes", base},
                       {"reach_pages", reach},
                       {"source", common(sources)}}},
      {"sites", list},
      {"totals", Json{{"sites", sites.size()},
                      {"superpage", counts[SMALLOC_DECISION_SUPERPAGE]},
                      {"base", counts[SMALLOC_DECISION_BASE]},
                      {"runtime", counts[SMALLOC_DECISION_RUNTIME]},
                      {"undecided", undecided},
                      {"rewritten", rewritten}}},
  };
}

void choose_sites(Json &document, const SiteChoice &choice) {
  const auto named = [&](const Json &site) {
    if (choice.function.empty())
      return true;
    const auto has = [&](const Json &text) {
      return text.is_string() &&
             readable_function(text.get<std::string>()).find(choice.function) != std::string::npos;
    };
    const Json &frames = site["context"];
    return has(site["function"]) || std::any_of(frames.begin(), frames.end(), [&](const Json &f) {
             const auto frame = f.get<std::string>();
             return has(Json(frame.substr(0, frame.rfind(' '))));
           });
  };
  Json chosen = Json::array();
  for (Json &site : document["sites"]) {
    const Json &size = site["size_bytes"];
    if (chosen.size() < choice.most && named(site) &&
        (size.is_null() || size.get<uint64_t>() >= choice.least_bytes))
      chosen.push_back(std::move(site));
  }
  document["sites"] = std::move(chosen);
}

// folded: calls that sites were inlined through are not shown.
static std::string totals_text(const Json &document, bool folded) {
  const Json &totals = document["totals"], &machine = document["machine"];
  const std::string source = text_of(machine["source"]);
  const auto undecided = totals["undecided"].get<uint64_t>();
  const uint64_t shown = document["sites"].size(), all = totals["sites"];
  const std::string note =
      (shown < all ? fmt::format("{} of {} sites shown", shown, all) : "") +
      (shown < all && folded ? "; " : "") +
      (folded ? "--frames shows the calls that sites were inlined through" : "");
  return fmt::format("\n{}{} site{}: {} superpage, {} at run time, {} base{}; {} rewritten\n",
                     note.empty() ? note : note + "\n", totals["sites"].dump(),
                     totals["sites"] == 1 ? "" : "s", totals["superpage"].dump(),
                     totals["runtime"].dump(), totals["base"].get<uint64_t>() - undecided,
                     undecided ? fmt::format(", {} undecided", undecided) : std::string(),
                     totals["rewritten"].dump()) +
         fmt::format("machine: {} ({}), reach {} pages{}; model: {}\n", text_of(machine["name"]),
                     source, text_of(machine["reach_pages"]),
                     machine["base_page_bytes"].is_null()
                         ? std::string()
                         : " of " + readable_bytes(machine["base_page_bytes"]),
                     text_of(document["model"]));
}

std::string site_text(const Json &document, Colour colour, bool frames) {
  // A template's full name would move the columns off the terminal, so it gets its own line.
  constexpr size_t kMostFunctionColumns = 40, kMostArrayColumns = 24, kContinuation = 9;
  const size_t columns = terminal_columns();
  bool folded = false;
  const bool arrays = std::any_of(document["sites"].begin(), document["sites"].end(),
                                  [](const Json &site) { return !site["array"].is_null(); });
  std::vector<std::string> header = {"FUNCTION", "WHERE",  "CALLEE",
                                     "PATTERN",  "SPREAD", "DECISION"};
  if (arrays)
    header.insert(header.begin() + 2, "ARRAY");
  Table table(header);
  for (const Json &site : document["sites"]) {
    const std::string function = printable(
        readable_function(site["function"].is_null() ? "?" : site["function"].get<std::string>()));
    const std::string name = shortened(function, kMostFunctionColumns);
    std::vector<Cell> row = {{name, Style::kBold},
                             {location(site)},
                             {readable_function(text_of(site["callee"]))},
                             {text_of(site["pattern"])},
                             {spread_text(site)},
                             decision_cell(site)};
    if (arrays) {
      const std::string array = site["array"].is_null() ? "" : site["array"].get<std::string>();
      row.insert(row.begin() + 2, Cell{shortened(printable(array), kMostArrayColumns)});
    }
    table.add_row(row);
    const auto line = [&](const std::string &text) {
      table.add_line(wrapped("    " + text, columns, kContinuation), Style::kFaint);
    };
    if (name != function)
      line("in: " + function);
    if (site["copies"] != 1)
      line(fmt::format("{} copies of this call", site["copies"].dump()));
    folded |= !frames && !site["context"].empty();
    if (frames)
      for (const Json &frame : site["context"])
        line("inlined: " + text_of(frame));
    line("why: " + text_of(site["why"]));
  }
  return table.print(colour) + totals_text(document, folded);
}

} // namespace smalloc::cli
