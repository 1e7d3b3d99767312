// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// run_view.cpp reads the numbers of each source. Numbers with the same meaning get the same name.
#include "runtime/cli/history/run_view.h"

#include "runtime/cli/history/document_row.h"
#include "runtime/cli/history/history_report.h"
#include "runtime/cli/history/history_store.h"
#include "runtime/cli/input_file.h"
#include "runtime/cli/sites/site_report.h"
#include "runtime/errors/diagnostics.h"
#include "runtime/trace/reader.h"

#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace smalloc::cli {
namespace {

using nlohmann::json;

const char *const kWanted =
    "a trace, a JSON document of smalloc, or the number of a run (smalloc db show)";

std::string text(const json &object, const char *key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_string() ? at->get<std::string>() : std::string();
}

void take_numbers(const json &object, std::map<std::string, double> &numbers) {
  for (const auto &[key, value] : object.items())
    if (value.is_number())
      numbers[key] = value.get<double>();
}

std::string place(const json &object) {
  const std::string function = text(object, "function"), file = text(object, "file");
  std::string name = function.empty() ? std::string() : readable_function(function);
  if (!file.empty() && object.contains("line") && object["line"].is_number())
    name += (name.empty() ? "" : " ") + fmt::format("{}:{}", file, object["line"].dump());
  return name;
}

std::string file_name(const std::string &path) { return path.substr(path.rfind('/') + 1); }

// Removes numbers that identify a run and do not describe it.
void drop_identity(RunView &view) {
  for (const char *key : {"id", "pid", "started_ns", "sample_bytes"})
    view.numbers.erase(key);
}

void read_site_list(const json &list, RunView &view) {
  if (!list.is_array())
    return;
  for (const json &site : list) {
    if (!site.is_object())
      continue;
    const json &named = site.contains("category") ? site["category"] : site;
    std::string id = text(named, "id");
    if (id.empty())
      id = text(named, "site");
    if (id.empty())
      continue;
    SiteView &to = view.sites[id];
    to.name = place(named);
    take_numbers(site, to.numbers);
    to.numbers.erase("line");
  }
}

RunView view_of_document(const json &document, const std::string &name) {
  RunView view;
  view.label = name;
  view.kind = text(document, "schema");
  if (!view.kind.starts_with("smalloc."))
    throw Failure{"cannot compare the run", name, "it is no document of smalloc", kWanted, kFailed};
  const std::string path = text(document, "path"); // of a run; its "program" is a build-id
  view.program = file_name(path.empty() ? text(document, "program") : path);
  take_numbers(document, view.numbers);
  for (const char *part : {"counters", "totals", "chosen", "significance", "events"})
    if (const auto at = document.find(part); at != document.end() && at->is_object())
      take_numbers(*at, view.numbers);
  for (const char *list : {"sites", "mappings", "directives"})
    if (const auto at = document.find(list); at != document.end())
      read_site_list(*at, view);
  drop_identity(view);
  return view;
}

// Fills a view from the events of a trace.
class TraceNumbers {
public:
  explicit TraceNumbers(RunView &view) : view_(view) {}
  void add(const trace::Event &e);
  void finish();

private:
  struct Live {
    uint64_t site, bytes;
  };
  struct Bytes {
    double now = 0, peak = 0;
    void add(double bytes) {
      now += bytes;
      peak = std::max(peak, now);
    }
  };
  SiteView &site_of(uint64_t id) { return view_.sites[fmt::format("{:016x}", id)]; }
  void name_site(const trace::Event &e);
  void add_object(const trace::Event &e);
  void drop_object(uint64_t address);

  RunView &view_;
  std::unordered_map<uint64_t, Live> live_; // by address
  std::map<uint64_t, Bytes> by_site_;
  Bytes all_;
  uint64_t last_ns_ = 0, faults_ = 0;
};

void TraceNumbers::name_site(const trace::Event &e) {
  const size_t newline = e.text.find('\n');
  std::string name(e.text.substr(0, newline));
  if (newline != std::string_view::npos)
    name = readable_function(name) + " " + std::string(e.text.substr(newline + 1));
  site_of(e.site).name = name;
}

void TraceNumbers::add_object(const trace::Event &e) {
  drop_object(e.address);
  live_[e.address] = {e.site, e.bytes};
  all_.add(static_cast<double>(e.bytes));
  by_site_[e.site].add(static_cast<double>(e.bytes));
  view_.numbers["allocations"]++;
  site_of(e.site).numbers["allocations"]++;
  site_of(e.site).numbers["requested_bytes"] += static_cast<double>(e.bytes);
}

void TraceNumbers::drop_object(uint64_t address) {
  if (const auto at = live_.find(address); at != live_.end()) {
    by_site_[at->second.site].now -= static_cast<double>(at->second.bytes);
    all_.now -= static_cast<double>(at->second.bytes);
    live_.erase(at);
  }
}

void TraceNumbers::add(const trace::Event &e) {
  last_ns_ = std::max(last_ns_, e.time_ns);
  switch (e.type) {
  case trace::Type::kSite:
    name_site(e);
    break;
  case trace::Type::kReallocate:
    drop_object(e.old_address);
    [[fallthrough]];
  case trace::Type::kAllocate:
    add_object(e);
    break;
  case trace::Type::kFree:
    drop_object(e.address);
    view_.numbers["frees"]++;
    break;
  case trace::Type::kAccess:
    for (const trace::AccessRun &run : e.accesses)
      view_.numbers["accesses"] +=
          static_cast<double>(e.weight) * static_cast<double>(run.repeats + 1);
    break;
  case trace::Type::kFault:
    faults_ = std::max(faults_, e.minor + e.major);
    break;
  default:
    break;
  }
}

void TraceNumbers::finish() {
  for (const auto &[site, bytes] : by_site_)
    site_of(site).numbers["peak_bytes"] = bytes.peak;
  view_.numbers["seconds"] = static_cast<double>(last_ns_) / 1e9;
  view_.numbers["live_bytes_peak"] = all_.peak;
  view_.numbers["page_faults"] = static_cast<double>(faults_);
}

RunView view_of_trace(const std::string &path) try {
  trace::Reader reader(path);
  RunView view;
  view.label = path;
  view.kind = "smalloc.trace/1";
  view.program = file_name(reader.header().word("program"));
  TraceNumbers numbers(view);
  reader.read([&](const trace::Event &e) { numbers.add(e); });
  numbers.finish();
  return view;
} catch (const trace::TraceError &error) {
  throw Failure{"cannot compare the run", path, error.what(), kWanted, kFailed};
}

RunView view_of_number(int64_t id, const std::string &name, const std::string &place_of_database) {
  try {
    auto history = open_history(place_of_database, database::Access::kReadOnly);
    const auto run = history.run(id);
    if (!run)
      throw Failure{"cannot compare the run", name, "the history has no run of that number",
                    "smalloc db show ./app", kFailed};
    json document = json::parse(run_json(*run).dump());
    document["schema"] = "smalloc.run/1";
    RunView view = view_of_document(document, "run " + name);
    return view;
  } catch (const database::DatabaseError &error) {
    throw failure_of(error);
  }
}

} // namespace

RunView view_of_run(const std::string &name, const std::string &database) {
  if (!name.empty() && name.size() < 18 &&
      std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; }))
    return view_of_number(std::stoll(name), name, database);
  const auto bytes = read_file(name, "cannot compare the run", {"{"}, kWanted);
  const auto first =
      std::find_if(bytes.begin(), bytes.end(), [](unsigned char c) { return c > ' '; });
  if (first == bytes.end() || *first != '{')
    return view_of_trace(name);
  const json document = json::parse(last_document(name, bytes), nullptr, false);
  if (!document.is_object())
    throw Failure{"cannot compare the run", name, "it is no whole JSON document", kWanted, kFailed};
  return view_of_document(document, name);
}

} // namespace smalloc::cli
