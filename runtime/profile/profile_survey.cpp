// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// profile_survey.cpp reads each trace and its ancestors in one pass, counts accesses by category,
// and takes the categories' names from the records.
#include "runtime/profile/profile_survey.h"
#include "runtime/errors/diagnostics.h"
#include "runtime/profile/trace_follower.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

namespace smalloc::cli {

using benefit::CategoryKind;
using benefit::PageSize;

namespace {

SiteName name_of_site(const trace::Event &e) {
  SiteName name;
  if (e.kind == trace::kCompilerSite) {
    const size_t newline = std::min(e.text.find('\n'), e.text.size());
    name.function = e.text.substr(0, newline);
    std::string place(e.text.substr(std::min(newline + 1, e.text.size())));
    if (const size_t end = place.find('\n');
        end != std::string::npos) { // earlier versions wrote no pattern
      const std::string_view pattern = std::string_view(place).substr(end + 1);
      name.overlaps = pattern == "streaming" || pattern == "strided" || pattern == "scattered";
      place.resize(end);
    }
    if (const size_t colon = place.rfind(':'); colon != std::string::npos) {
      name.line = static_cast<unsigned>(std::strtoul(place.c_str() + colon + 1, nullptr, 10));
      place.resize(colon);
    }
    name.file = place;
    name.steerable = true;
  } else {
    const size_t slash = e.text.rfind('/');
    name.function = fmt::format(
        "{}+{:#x}", e.text.substr(slash == std::string_view::npos ? 0 : slash + 1), e.offset);
    name.file = e.text;
  }
  return name;
}

void warn_of_damage(const trace::Reader &reader, const TraceSummary &summary) {
  if (!summary.complete)
    print_warning(
        "truncated trace", summary.path,
        fmt::format("its end is missing: {} of {} bytes could be read, {} allocations and {:.0f} "
                    "accesses in {:.3f} s. {}",
                    summary.read_bytes, summary.file_bytes, summary.allocations, summary.accesses,
                    summary.seconds,
                    // A piece is written at once, whole unless there is no room for it.
                    reader.skipped_bytes()
                        ? "Its last chunk is incomplete: the disk was full, or the file was cut"
                        : "The process was killed, aborted, called exec or still runs, or the disk "
                          "was full"));
  else if (reader.skipped_bytes())
    print_warning(
        "damaged trace", summary.path,
        fmt::format("{} of {} bytes could be read", summary.read_bytes, summary.file_bytes));
  // A few events are always lost if threads still run when the program ends.
  if (summary.lost * 100 > summary.events)
    print_warning("events are missing", summary.path,
                  fmt::format("the trace has {} events and lacks {}: those of threads that still "
                              "ran when the program ended, or of signal handlers",
                              summary.events, summary.lost));
  if (reader.bad_records())
    print_warning("damaged trace", summary.path,
                  fmt::format("{} invalid records were skipped", reader.bad_records()));
  warn_of_left_out(reader, summary.path);
}

// Returns a text that a trace shares with its copies, and with no other recording: process,
// machine, time and size.
std::string identity_of(const trace::Reader &reader) {
  std::string words = fmt::format("{} {}", reader.file_bytes(), reader.chunks());
  for (const auto &[key, value] : reader.header())
    words += fmt::format("\n{}={}", key, value);
  return words;
}

} // namespace

bool asks_for(const ProfileOptions &options, PageSize size) {
  return std::find(options.pages.begin(), options.pages.end(), size) != options.pages.end();
}

void Survey::read(trace::Reader &reader, size_t trace, const char *what,
                  const std::function<void(const trace::Event &)> &visit) const {
  const double share = 1.0 / static_cast<double>(paths.size());
  reader.read(visit, [&](uint64_t done, uint64_t all) {
    if (progress_)
      progress_(share *
                    (static_cast<double>(trace) +
                     static_cast<double>(done) / static_cast<double>(std::max<uint64_t>(all, 1))),
                what);
  });
}

void Survey::find_parents() {
  if (paths.size() < 2)
    return;
  // host, process, start_ns
  using Recording = std::tuple<std::string, std::string, std::string>;
  std::map<Recording, std::string> recordings;
  std::vector<std::pair<Recording, std::string>> parents; // with the time of the fork
  for (const std::string &path : paths) {
    const trace::Header header = header_of_trace(path);
    const auto word = [&](const char *key) { return header.word(key); };
    recordings.emplace(Recording(word("host"), word("pid"), word("start_ns")), path);
    parents.emplace_back(Recording(word("host"), word("parent"), word("parent_start_ns")),
                         word("forked"));
  }
  // Parents first, since they name the sites. Headers written by hand may make a circle.
  std::vector<size_t> generations(paths.size()), order(paths.size());
  for (size_t i = 0; i < paths.size(); i++) {
    const auto &[parent, forked] = parents[i];
    const auto found = recordings.find(parent);
    if (!forked.empty() && found != recordings.end())
      forks_[paths[i]] = {found->second, std::strtoull(forked.c_str(), nullptr, 10)};
  }
  for (size_t i = 0; i < paths.size(); i++) {
    order[i] = i;
    for (auto at = forks_.find(paths[i]); at != forks_.end(); at = forks_.find(at->second.parent))
      if (++generations[i] > paths.size())
        throw Failure{"cannot analyze the trace",
                      paths[i],
                      "the headers of the traces name their parents in a circle",
                      {},
                      kFailed};
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return generations[a] < generations[b]; });
  std::vector<std::string> sorted;
  for (const size_t i : order)
    sorted.push_back(paths[i]);
  paths = std::move(sorted);
}

void Survey::read_inherited(size_t trace,
                            const std::function<void(const trace::Event &)> &visit) const {
  std::vector<const Fork *> forks; // the trace's own first
  for (auto at = forks_.find(paths[trace]); at != forks_.end(); at = forks_.find(at->second.parent))
    forks.push_back(&at->second);
  for (auto fork = forks.rbegin(); fork != forks.rend(); ++fork)
    open_trace((*fork)->parent)->read(visit, {}, (*fork)->ns);
}

// Returns what the trace's header and its forks tell. Throws if its pages are not of 4 KiB.
TraceSummary Survey::summary_of(const trace::Reader &reader, const std::string &path) const {
  const trace::Header &header = reader.header();
  TraceSummary summary;
  summary.path = path;
  summary.build_id = header.word("build_id");
  summary.program = header.word("program");
  summary.input = header.word("input");
  if (!header.word("parent_start_ns").empty()) // earlier versions do not identify the parent
    summary.parent = header.word("parent");
  for (auto at = forks_.find(path); at != forks_.end(); at = forks_.find(summary.root)) {
    summary.began += static_cast<double>(at->second.ns) / 1e9;
    summary.root = at->second.parent;
  }
  summary.rate = reader.rate();
  if (const std::string bytes = header.word("base_page_bytes");
      !bytes.empty() && bytes != std::to_string(benefit::kBasePageBytes))
    throw Failure{"cannot analyze the trace", path,
                  fmt::format("its base pages have {} bytes, and those of the analysis {}",
                              printable(bytes), benefit::kBasePageBytes),
                  "record it on a machine with base pages of 4 KiB", kFailed};
  summary.misses = header.word("samples") == "tlb-misses";
  summary.faults = header.word("samples") == "faults";
  if (summary.misses)
    summary.weight = std::max(std::strtod(header.word("period").c_str(), nullptr), 1.0);
  summary.file_bytes = reader.file_bytes();
  summary.read_bytes = reader.file_bytes() - reader.skipped_bytes();
  return summary;
}

// Keeps the names of sites, contexts and static data.
void Survey::note_names(const trace::Event &e) {
  if (e.type == trace::Type::kAllocate && e.context)
    copies[e.site].insert(e.context);
  if (e.type == trace::Type::kSite && e.kind == trace::kInlineChain)
    chains[e.site] = std::string(e.text);
  else if (e.type == trace::Type::kSite)
    names[{CategoryKind::kSite, e.site, 0}] = name_of_site(e);
  if (e.type == trace::Type::kSegment)
    names[{CategoryKind::kStatic, segment_id(e.text), 0}] = {"static data", std::string(e.text), 0,
                                                             false, false};
}

void Survey::read_one(trace::Reader &reader) {
  const size_t t = traces.size();
  TraceSummary summary = summary_of(reader, paths[t]);
  std::unordered_set<uint64_t> regions;
  uint64_t last_ns = 0;
  TraceFollower *current = nullptr;
  TraceFollower follower(
      objects(), true, reader.limits(),
      [&](uint64_t address, benefit::Objects::Place place, uint64_t repeats, bool, uint64_t) {
        regions.insert(address >> 21);
        const double n = static_cast<double>(repeats + 1) * summary.weight / summary.rate;
        summary.accesses += n;
        if (place.category != benefit::Objects::kNone)
          current->objects().categories()[place.category].accesses += n;
        else
          summary.nobodys += n;
      });
  current = &follower;
  benefit::ThreadTlbs threads;
  read_inherited(t, [&](const trace::Event &e) { follower.inherit(e); });
  read(reader, t, "reading", [&](const trace::Event &e) {
    last_ns = std::max(last_ns, e.time_ns);
    // A PMU's samples are too few to be assigned to threads.
    if (e.type == trace::Type::kAccess && !summary.misses && !summary.faults)
      threads.accesses(e.thread, e.time_ns);
    summary.allocations += e.type == trace::Type::kAllocate || e.type == trace::Type::kReallocate;
    summary.events++;
    summary.complete |= e.type == trace::Type::kEnd;
    summary.lost += e.type == trace::Type::kEnd ? e.lost : 0;
    note_names(e);
    follower.event(e);
  });
  summary.seconds = static_cast<double>(last_ns) / 1e9;
  warn_of_damage(reader, summary);
  count(follower.objects());
  summary.regions = regions.size();
  threads.settle(std::strtoull(reader.header().word("processors").c_str(), nullptr, 10));
  summary.tlbs = threads.count();
  // Threads that take turns on a core share its time.
  thread_seconds +=
      std::max(summary.seconds, std::min(threads.seconds(), summary.seconds * threads.count()));
  tlbs.push_back(std::move(threads));
  has_accesses |= summary.accesses > 0;
  traces.push_back(std::move(summary));
}

void Survey::read_all() {
  find_parents();
  std::map<std::string, std::string> seen; // identity, path
  for (size_t t = 0; t < paths.size();) {
    const auto reader = open_trace(paths[t]);
    const auto [first, fresh] = seen.emplace(identity_of(*reader), paths[t]);
    if (!fresh) {
      print_warning("a trace is named twice", paths[t],
                    first->second == paths[t] ? "it is counted once"
                                              : "it holds the same recording as " + first->second +
                                                    ", and is counted once");
      paths.erase(paths.begin() + static_cast<ptrdiff_t>(t));
      continue;
    }
    read_one(*reader);
    t++;
  }
}

double Survey::scaled(size_t trace, uint64_t repeats) const {
  const TraceSummary &summary = traces[trace];
  return static_cast<double>(repeats + 1) * summary.weight / summary.rate;
}

void Survey::count(const benefit::Objects &objects) {
  numbers.emplace_back();
  for (const benefit::Category &c : objects.categories()) {
    numbers.back().push_back({c.kind, c.id, c.context});
    CategoryTotal &total = totals[{c.kind, c.id, c.context}];
    total.accesses += c.accesses;
    total.heap_bytes = std::max(total.heap_bytes, c.heap_bytes);
    total.gib_pages = std::max(total.gib_pages, c.gib_pages);
    total.peak_bytes = std::max(total.peak_bytes, c.peak_bytes);
  }
}

void Survey::recount() {
  totals.clear();
  numbers.clear();
  for (size_t t = 0; t < paths.size(); t++) {
    TraceFollower *current = nullptr;
    const auto reader = open_trace(paths[t]);
    TraceFollower follower(
        objects(), true, reader->limits(),
        [&](uint64_t, benefit::Objects::Place place, uint64_t repeats, bool, uint64_t) {
          if (place.category != benefit::Objects::kNone)
            current->objects().categories()[place.category].accesses += scaled(t, repeats);
        });
    current = &follower;
    read_inherited(t, [&](const trace::Event &e) { follower.inherit(e); });
    read(*reader, t, "counting", [&](const trace::Event &e) { follower.event(e); });
    count(follower.objects());
  }
}

benefit::Objects Survey::objects() const {
  return benefit::Objects(options_.grouping, asks_for(options_, PageSize::kGigantic), &clusters);
}

bool Survey::overlaps(const CategoryKey &key) const {
  const auto does = [this](uint64_t site) {
    const auto name = names.find({CategoryKind::kSite, site, 0});
    return name != names.end() && name->second.overlaps;
  };
  if (const auto cluster = members.find(std::get<1>(key));
      std::get<0>(key) == CategoryKind::kCluster && cluster != members.end())
    return std::all_of(cluster->second.begin(), cluster->second.end(),
                       [&](const ClusterMember &m) { return does(m.id); });
  return does(std::get<1>(key));
}

} // namespace smalloc::cli
