// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// profile.cpp decides the passes over the traces: first what there is (objects, accesses, names), then every base mapping
// at once, then the chosen set jointly, because categories share the TLB and savings do not add up.
#include "runtime/cli/profile.h"
#include "runtime/benefit/clusters.h"
#include "runtime/benefit/evaluation.h"
#include "runtime/cli/diagnostics.h"
#include "runtime/cli/trace_follower.h"
#include "runtime/trace/reader.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <set>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

namespace smalloc::cli {
namespace {

using benefit::CategoryKind;
using benefit::PageSize;
using CategoryKey = std::tuple<CategoryKind, uint64_t, uint64_t>; // kind, id, context

struct Name {
  std::string function, file;
  unsigned line = 0;
  bool steerable = false;
  bool overlaps = false; ///< loops reach its objects by addresses that wait for no other access
};

constexpr size_t kMostClustered = 256; // sites: likenesses are counted for each pair
constexpr double kLeastWindow = 64;    // runs of accesses

// Everything summed over the traces.
struct Total {
  double accesses = 0, misses_base = 0, faults_base = 0;
  uint64_t heap_bytes = 0, gib_pages = 0, peak_bytes = 0;
  std::vector<SizeResult> sizes; ///< in the order of ProfileOptions::pages
};

uint64_t pages_of(uint64_t bytes, PageSize size) {
  return (bytes + benefit::page_bytes(size) - 1) >> benefit::page_shift(size);
}

bool asks_for(const ProfileOptions &options, PageSize size) {
  return std::find(options.pages.begin(), options.pages.end(), size) != options.pages.end();
}

std::string value_of(const trace::Reader &reader, const char *key) {
  const auto at = reader.header().find(key);
  return at == reader.header().end() ? std::string() : at->second;
}

Name name_of_site(const trace::Event &e) {
  Name name;
  if (e.kind == trace::kCompilerSite) {
    const size_t newline = std::min(e.text.find('\n'), e.text.size());
    name.function = e.text.substr(0, newline);
    std::string place(e.text.substr(std::min(newline + 1, e.text.size())));
    if (const size_t end = place.find('\n');
        end != std::string::npos) { // earlier versions said no more
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
                    // Pieces are written at once, each whole unless there is no room for it.
                    reader.skipped_bytes()
                        ? "Its last piece is not whole: a full disk leaves that, and a file that "
                          "was cut"
                        : "A killed process leaves that, one that still runs, and a full disk"));
  else if (reader.skipped_bytes())
    print_warning(
        "damaged trace", summary.path,
        fmt::format("{} of {} bytes could be read", summary.read_bytes, summary.file_bytes));
  if (reader.bad_records())
    print_warning("damaged trace", summary.path,
                  fmt::format("{} records make no sense and were skipped", reader.bad_records()));
}

// What is the same of a trace and a copy of it, and of no two recordings: process, machine, time; and how much there is.
std::string identity_of(const trace::Reader &reader) {
  std::string words = fmt::format("{} {}", reader.file_bytes(), reader.chunks());
  for (const auto &[key, value] : reader.header())
    words += fmt::format("\n{}={}", key, value);
  return words;
}

benefit::Sample sample_of(const TraceSummary &trace) {
  if (trace.accesses == 0)
    return {};
  return {trace.rate, trace.weight, trace.misses};
}

class Analysis {
public:
  Analysis(const ProfileOptions &options, const benefit::CostModel &costs,
           const std::function<void(double, const char *)> &progress)
      : options_(options), costs_(costs), progress_(progress) {}

  Profile run() {
    survey();
    if (options_.grouping == benefit::Grouping::kDynamic)
      cluster();
    rank();
    if (std::count_if(profile_.mappings.begin(), profile_.mappings.end(),
                      [](const RankedMapping &m) { return m.mapping.chosen; }) > 1)
      evaluate_jointly();
    return std::move(profile_);
  }

private:
  CategoryKey key_of(const benefit::Category &c) const { return {c.kind, c.id, c.context}; }

  void read(trace::Reader &reader, size_t trace, const char *what,
            const std::function<void(const trace::Event &)> &visit) {
    const double share = 1.0 / static_cast<double>(paths_.size());
    reader.read(visit, [&](uint64_t done, uint64_t all) {
      if (progress_)
        progress_(share *
                      (static_cast<double>(trace) +
                       static_cast<double>(done) / static_cast<double>(std::max<uint64_t>(all, 1))),
                  what);
    });
  }

  // What there is, and which traces hold accesses.
  void survey() {
    std::map<std::string, std::string> seen; // identity, path
    paths_ = options_.traces;
    for (size_t t = 0; t < paths_.size();) {
      const auto reader = open_trace(paths_[t]);
      const auto [first, fresh] = seen.emplace(identity_of(*reader), paths_[t]);
      if (!fresh) {
        print_warning("a trace is named twice", paths_[t],
                      first->second == paths_[t] ? "it is counted once"
                                                 : "it holds the same recording as " +
                                                       first->second + ", and is counted once");
        paths_.erase(paths_.begin() + static_cast<ptrdiff_t>(t));
        continue;
      }
      TraceSummary summary;
      summary.path = paths_[t];
      summary.build_id = value_of(*reader, "build_id");
      summary.program = value_of(*reader, "program");
      summary.input = value_of(*reader, "input");
      summary.rate = reader->rate();
      summary.misses = value_of(*reader, "samples") == "tlb-misses";
      summary.faults = value_of(*reader, "samples") == "faults";
      if (summary.misses)
        summary.weight = std::max(std::strtod(value_of(*reader, "period").c_str(), nullptr), 1.0);
      summary.file_bytes = reader->file_bytes();
      summary.read_bytes = reader->file_bytes() - reader->skipped_bytes();
      std::unordered_set<uint64_t> regions;
      uint64_t last_ns = 0;
      TraceFollower follower(
          objects(), true,
          [&](uint64_t address, benefit::Objects::Place place, uint64_t repeats, bool) {
            regions.insert(address >> 21);
            const double n = static_cast<double>(repeats + 1) * summary.weight / summary.rate;
            summary.accesses += n;
            if (place.category != benefit::Objects::kNone)
              follower_->objects().categories()[place.category].accesses += n;
            else
              summary.nobodys += n;
          });
      follower_ = &follower;
      read(*reader, t, "reading", [&](const trace::Event &e) {
        last_ns = std::max(last_ns, e.time_ns);
        summary.allocations +=
            e.type == trace::Type::kAllocate || e.type == trace::Type::kReallocate;
        summary.complete |= e.type == trace::Type::kEnd;
        if (e.type == trace::Type::kAllocate && e.context)
          copies_[e.site].insert(e.context);
        if (e.type == trace::Type::kSite && e.kind == trace::kInlineChain)
          chains_[e.site] = std::string(e.text);
        else if (e.type == trace::Type::kSite)
          names_[{CategoryKind::kSite, e.site, 0}] = name_of_site(e);
        if (e.type == trace::Type::kSegment)
          names_[{CategoryKind::kStatic, segment_id(e.text), 0}] = {
              "static data", std::string(e.text), 0, false, false};
        follower.event(e);
      });
      summary.seconds = static_cast<double>(last_ns) / 1e9;
      warn_of_damage(*reader, summary);
      count(follower.objects());
      summary.regions = regions.size();
      seconds_ += summary.seconds;
      profile_.has_accesses |= summary.accesses > 0;
      profile_.traces.push_back(std::move(summary));
      t++;
    }
    profile_.categories = totals_.size();
    if (options_.seconds > 0)
      seconds_ = options_.seconds;
  }

  // In the whole program.
  double scaled(size_t trace, uint64_t repeats) const {
    const TraceSummary &summary = profile_.traces[trace];
    return static_cast<double>(repeats + 1) * summary.weight / summary.rate;
  }

  void count(const benefit::Objects &objects) {
    numbers_.emplace_back();
    for (const benefit::Category &c : objects.categories()) {
      numbers_.back().push_back(key_of(c));
      Total &total = totals_[key_of(c)];
      total.accesses += c.accesses;
      total.heap_bytes = std::max(total.heap_bytes, c.heap_bytes);
      total.gib_pages = std::max(total.gib_pages, c.gib_pages);
      total.peak_bytes = std::max(total.peak_bytes, c.peak_bytes);
    }
  }

  // Joins sites that are accessed alike (benefit/clusters.h), and counts again by what they are joined to. A window is as long
  // as the base pages' TLB reaches: sites that take turns within it need it at the same time.
  void cluster() {
    std::vector<CategoryKey> sites;
    for (const auto &[key, total] : totals_)
      if (std::get<0>(key) == CategoryKind::kSite && total.accesses > 0)
        sites.push_back(key);
    std::stable_sort(sites.begin(), sites.end(), [&](const CategoryKey &a, const CategoryKey &b) {
      return totals_[a].accesses > totals_[b].accesses;
    });
    if (sites.size() > kMostClustered)
      sites.resize(kMostClustered); // the rest is hardly accessed, and stays apart
    benefit::Affinity affinity(sites.size());
    for (size_t t = 0; t < paths_.size(); t++) {
      std::vector<size_t> members(numbers_[t].size(), SIZE_MAX);
      for (size_t i = 0; i < members.size(); i++)
        if (const auto at = std::find(sites.begin(), sites.end(), numbers_[t][i]);
            at != sites.end())
          members[i] = static_cast<size_t>(at - sites.begin());
      const double reach = static_cast<double>(costs_.base().entries) * profile_.traces[t].rate;
      const auto window = static_cast<size_t>(std::max(reach, kLeastWindow));
      size_t runs = 0;
      TraceFollower follower(
          objects(), true, [&](uint64_t, benefit::Objects::Place place, uint64_t repeats, bool) {
            if (place.category < members.size() && members[place.category] != SIZE_MAX)
              affinity.access(members[place.category], scaled(t, repeats));
            if (++runs % window == 0)
              affinity.end_window();
          });
      const auto reader = open_trace(paths_[t]);
      read(*reader, t, "clustering", [&](const trace::Event &e) { follower.event(e); });
      affinity.end_window();
    }
    std::vector<double> bytes;
    std::vector<int> apart; // what directives can reach, and what they cannot
    for (const CategoryKey &key : sites) {
      bytes.push_back(static_cast<double>(totals_[key].peak_bytes));
      apart.push_back(names_[key].steerable);
    }
    const std::vector<size_t> clusters = benefit::clusters_of(affinity, bytes, apart);
    std::map<size_t, std::vector<CategoryKey>> members;
    for (size_t i = 0; i < sites.size(); i++)
      members[clusters[i]].push_back(sites[i]);
    for (auto &[number, keys] : members) {
      if (keys.size() == 1)
        continue;
      std::string ids;
      for (const CategoryKey &key : std::set<CategoryKey>(keys.begin(), keys.end()))
        ids += fmt::format("{:016x}", std::get<1>(key));
      const uint64_t id = segment_id(ids); // the same for the same sites
      for (const CategoryKey &key : keys) {
        clusters_[std::get<1>(key)] = id;
        const Name &name = names_[key];
        members_[id].push_back({std::get<1>(key), name.function, name.file, name.line,
                                name.steerable, totals_[key].accesses, totals_[key].heap_bytes});
      }
    }
    recount();
  }

  // The same objects, by cluster.
  void recount() {
    totals_.clear();
    numbers_.clear();
    for (size_t t = 0; t < paths_.size(); t++) {
      TraceFollower follower(
          objects(), true, [&](uint64_t, benefit::Objects::Place place, uint64_t repeats, bool) {
            if (place.category != benefit::Objects::kNone)
              follower_->objects().categories()[place.category].accesses += scaled(t, repeats);
          });
      follower_ = &follower;
      const auto reader = open_trace(paths_[t]);
      read(*reader, t, "counting", [&](const trace::Event &e) { follower.event(e); });
      count(follower.objects());
    }
    profile_.categories = totals_.size();
  }

  benefit::Objects objects() const {
    return benefit::Objects(options_.grouping, asks_for(options_, PageSize::kGigantic), &clusters_);
  }

  // Of a cluster: if those of all its sites do.
  bool overlaps(const CategoryKey &key) const {
    const auto does = [this](uint64_t site) {
      const auto name = names_.find({CategoryKind::kSite, site, 0});
      return name != names_.end() && name->second.overlaps;
    };
    if (const auto members = members_.find(std::get<1>(key));
        std::get<0>(key) == CategoryKind::kCluster && members != members_.end())
      return std::all_of(members->second.begin(), members->second.end(),
                         [&](const ClusterMember &m) { return does(m.id); });
    return does(std::get<1>(key));
  }

  // Each category of a mapping with its page size; all others are on base pages.
  using Sizes = std::map<CategoryKey, PageSize>;

  // Evaluates mappings on every trace; take(evaluation) collects.
  void evaluate(const std::vector<Sizes> &mappings, bool all_last, const char *what,
                const std::function<void(const benefit::Evaluation &)> &take) {
    for (size_t t = 0; t < paths_.size(); t++) {
      const auto reader = open_trace(paths_[t]);
      const std::vector<CategoryKey> &numbers = numbers_[t];
      std::vector<benefit::Evaluation::Pages> lanes;
      for (const Sizes &mapping : mappings) {
        benefit::Evaluation::Pages lane(numbers.size());
        for (size_t i = 0; i < numbers.size(); i++)
          if (const auto at = mapping.find(numbers[i]); at != mapping.end())
            lane[i] = at->second;
        lanes.push_back(std::move(lane));
      }
      if (all_last)
        lanes.emplace_back(numbers.size(), PageSize::kSuper);
      std::vector<bool> overlap;
      for (const CategoryKey &key : numbers)
        overlap.push_back(overlaps(key));
      benefit::Evaluation evaluation(costs_, std::move(lanes), sample_of(profile_.traces[t]),
                                     options_.threads, std::move(overlap));
      TraceFollower follower(
          objects(), profile_.traces[t].accesses > 0,
          [&](uint64_t address, benefit::Objects::Place place, uint64_t repeats, bool write) {
            evaluation.access(address, place.packed, place.category, repeats, place.in_gib, write);
          },
          [&](uint64_t start, uint64_t end, uint32_t category) {
            evaluation.given_back(start, end, category);
          });
      double faults = 0;
      read(*reader, t, what, [&](const trace::Event &e) {
        if (e.type == trace::Type::kFault)
          faults = std::max(faults, static_cast<double>(e.minor));
        follower.event(e);
      });
      // Where the faults themselves were recorded, the second ones are among them.
      evaluation.finish(profile_.traces[t].accesses > 0 && !profile_.traces[t].faults ? faults : 0);
      take(evaluation);
    }
  }

  // The smallest page that the next larger ones are not clearly better than: they are harder to get, and take more memory
  // where objects are not full.
  size_t best_of(const std::vector<SizeResult> &sizes, double most) const {
    size_t best = 0;
    for (size_t i = 1; i < sizes.size(); i++)
      if (sizes[i].saved_cycles - sizes[best].saved_cycles >
          options_.least_pmb_percent / 100 * most)
        best = i;
    return best;
  }

  void rank() {
    std::vector<CategoryKey> keys;
    for (const auto &[key, total] : totals_)
      keys.push_back(key);
    const auto weight = [&](const CategoryKey &key) {
      const Total &t = totals_[key];
      return profile_.has_accesses ? t.accesses : static_cast<double>(t.peak_bytes);
    };
    std::stable_sort(keys.begin(), keys.end(), [&](const CategoryKey &a, const CategoryKey &b) {
      return weight(a) > weight(b);
    });
    while (!keys.empty() && (keys.size() > options_.most_mappings || weight(keys.back()) == 0))
      keys.pop_back();

    std::vector<Sizes> mappings = {{}};
    for (const CategoryKey &key : keys) {
      Total &total = totals_[key];
      for (PageSize size : options_.pages) {
        // Without a whole GiB in any object, 1 GiB pages are 2 MiB pages.
        if (size == PageSize::kGigantic && total.gib_pages == 0) {
          if (asks_for(options_, PageSize::kSuper))
            continue;
          size = PageSize::kSuper;
        }
        SizeResult result;
        result.page = size;
        result.page_count =
            size == PageSize::kGigantic ? total.gib_pages : pages_of(total.heap_bytes, size);
        total.sizes.push_back(result);
        mappings.push_back({{key, size}});
      }
    }
    benefit::Counts base;
    double miss_cycles = 0;
    evaluate(mappings, true, "evaluating", [&](const benefit::Evaluation &e) {
      const benefit::Counts all_base = e.counts(0);
      base.tlb_misses += all_base.tlb_misses;
      base.page_faults += all_base.page_faults;
      base.cycles += all_base.cycles;
      miss_cycles +=
          all_base.cycles - all_base.page_faults * costs_.fault_cycles(benefit::kBasePageBytes);
      size_t lane = 0;
      for (const CategoryKey &key : keys) {
        Total &total = totals_[key];
        total.misses_base += all_base.tlb_misses;
        total.faults_base += all_base.page_faults;
        for (SizeResult &result : total.sizes) {
          const benefit::Counts counts = e.counts(++lane);
          const auto saving = e.saving(0, lane);
          result.tlb_misses += counts.tlb_misses;
          result.page_faults += counts.page_faults;
          result.saved_cycles += saving.cycles;
          result.saved_cycles_low += saving.low;
          result.saved_cycles_high += saving.high;
        }
      }
      profile_.saved_all += e.saving(0, lane + 1).cycles;
    });
    profile_.cycles_base = base.cycles;
    if (seconds_ > 0) {
      profile_.rates.tlb_misses_per_second = base.tlb_misses / seconds_;
      profile_.rates.page_faults_per_second = base.page_faults / seconds_;
      const double translation_seconds =
          (miss_cycles + base.page_faults * costs_.fault_cycles(benefit::kBasePageBytes)) /
          costs_.frequency_hz();
      profile_.rates.translation_share = std::min(1.0, translation_seconds / seconds_);
      profile_.rates.translation_seconds =
          translation_seconds / static_cast<double>(std::max<size_t>(paths_.size(), 1));
    }
    profile_.significant = benefit::significant(profile_.rates, options_.rule);

    double most = 0;
    for (const CategoryKey &key : keys)
      for (const SizeResult &result : totals_[key].sizes)
        most = std::max(most, result.saved_cycles);
    std::vector<benefit::Mapping> ranked;
    for (size_t i = 0; i < keys.size(); i++) {
      Total &total = totals_[keys[i]];
      for (SizeResult &result : total.sizes)
        result.pmb_percent = most > 0 ? 100 * std::max(result.saved_cycles, 0.0) / most : 0;
      const SizeResult &best = total.sizes[best_of(total.sizes, most)];
      ranked.push_back({i, pages_of(total.heap_bytes, PageSize::kSuper), best.saved_cycles,
                        best.saved_cycles_low, best.saved_cycles_high, 0, false});
    }
    benefit::rank_mappings(ranked);
    if (profile_.significant)
      profile_.superpages_chosen = benefit::choose(
          ranked,
          options_.budget_bytes == UINT64_MAX ? UINT64_MAX
                                              : options_.budget_bytes / benefit::kSuperpageBytes,
          !options_.other_input, options_.least_pmb_percent);
    for (const benefit::Mapping &mapping : ranked) {
      const CategoryKey &key = keys[mapping.category];
      const Total &total = totals_[key];
      RankedMapping m;
      m.mapping = mapping;
      std::tie(m.kind, m.id, m.context) = key;
      m.walks_overlap = costs_.knows_overlapped() && overlaps(key);
      if (const auto chain = chains_.find(m.context); m.context && chain != chains_.end())
        m.chain = chain->second;
      if (const auto copies = copies_.find(m.id);
          m.kind == CategoryKind::kSite && copies != copies_.end())
        m.copies = copies->second.size();
      const CategoryKind named =
          m.kind == CategoryKind::kSiteContext ? CategoryKind::kSite : m.kind;
      if (const auto name = names_.find({named, m.id, 0}); name != names_.end()) {
        m.function = name->second.function;
        m.file = name->second.file;
        m.line = name->second.line;
        m.steerable = name->second.steerable;
      } else if (m.kind == CategoryKind::kCluster) {
        m.members = members_[m.id];
        m.steerable = m.members.front().steerable; // all of them, or none
        m.function = fmt::format("{} sites", m.members.size());
      } else if (m.kind == CategoryKind::kSizeClass) {
        static const char *const kPaper[] = {"static", "small dynamic", "large dynamic"};
        m.function = kPaper[std::min<uint64_t>(m.id, 2)];
      }
      m.accesses = total.accesses;
      m.footprint_bytes = total.peak_bytes;
      m.tlb_misses_base = total.misses_base;
      m.page_faults_base = total.faults_base;
      m.sizes = total.sizes;
      m.best = best_of(total.sizes, most);
      m.mapping.pmb_percent = m.result().pmb_percent;
      if (mapping.chosen)
        profile_.saved_additive += mapping.saved_cycles;
      profile_.mappings.push_back(std::move(m));
    }
    profile_.saved_joint = profile_.saved_additive; // of none or one
    for (const RankedMapping &m : profile_.mappings)
      if (m.mapping.chosen && m.steerable)
        profile_.saved_steerable += m.mapping.saved_cycles;
  }

  void evaluate_jointly() {
    Sizes chosen, steerable;
    for (const RankedMapping &m : profile_.mappings) {
      if (!m.mapping.chosen)
        continue;
      chosen[{m.kind, m.id, m.context}] = m.result().page;
      if (m.steerable)
        steerable[{m.kind, m.id, m.context}] = m.result().page;
    }
    profile_.saved_joint = profile_.saved_steerable = 0;
    evaluate({{}, chosen, steerable}, false, "checking the choice",
             [&](const benefit::Evaluation &e) {
               profile_.saved_joint += e.saving(0, 1).cycles;
               profile_.saved_steerable += e.saving(0, 2).cycles;
             });
  }

  const ProfileOptions &options_;
  const benefit::CostModel &costs_;
  const std::function<void(double, const char *)> &progress_;
  std::vector<std::string> paths_; ///< of the traces, each recording once
  // By trace: its categories in the order in which they appear, the same in every pass.
  std::vector<std::vector<CategoryKey>> numbers_;
  std::map<CategoryKey, Total> totals_;
  std::map<CategoryKey, Name> names_;
  std::map<uint64_t, std::string> chains_;                            ///< by context
  std::unordered_map<uint64_t, std::unordered_set<uint64_t>> copies_; ///< by site: contexts
  double seconds_ = 0;
  Profile profile_;
  TraceFollower *follower_ = nullptr;                      // of the survey
  benefit::Objects::Clusters clusters_;                    ///< by site; empty: none were asked for
  std::map<uint64_t, std::vector<ClusterMember>> members_; ///< by cluster, most accesses first
};

} // namespace

Profile analyse(const ProfileOptions &options, const benefit::CostModel &costs,
                const std::function<void(double, const char *)> &progress) {
  return Analysis(options, costs, progress).run();
}

} // namespace smalloc::cli
