// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// profile.cpp evaluates the traces in passes. The first finds what there is (profile_survey.h), the
// second evaluates all base mappings at once. The last evaluates the chosen set jointly, because
// categories share the TLB and savings do not add up.
#include "runtime/profile/profile.h"
#include "runtime/benefit/evaluation.h"
#include "runtime/errors/diagnostics.h"
#include "runtime/profile/profile_clusters.h"
#include "runtime/profile/profile_survey.h"
#include "runtime/profile/trace_follower.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

namespace smalloc::cli {
namespace {

using benefit::CategoryKind;
using benefit::PageSize;

uint64_t pages_of(uint64_t bytes, PageSize size) {
  return (bytes + benefit::page_bytes(size) - 1) >> benefit::page_shift(size);
}

benefit::Sample sample_of(const TraceSummary &trace) {
  if (trace.accesses == 0)
    return {};
  return {trace.rate, trace.weight, trace.misses};
}

double runs_of(const std::vector<TraceSummary> &traces) {
  const auto runs = std::count_if(traces.begin(), traces.end(),
                                  [](const TraceSummary &t) { return !t.forked(); });
  return std::max(static_cast<double>(runs), 1.0);
}

double run_seconds_of(const std::vector<TraceSummary> &traces) {
  std::map<std::string, double> ends; // by root trace
  for (const TraceSummary &t : traces) {
    double &end = ends[t.forked() ? t.root : t.path];
    end = std::max(end, t.began + t.seconds);
  }
  double seconds = 0;
  for (const auto &[root, end] : ends)
    seconds += end;
  return seconds;
}

std::vector<uint64_t> heap_bytes_of(const benefit::Objects &objects) {
  std::vector<uint64_t> bytes;
  for (const benefit::Category &category : objects.categories())
    bytes.push_back(category.heap_bytes);
  return bytes;
}

class Analysis {
public:
  Analysis(const ProfileOptions &options, const benefit::CostModel &costs,
           const std::function<void(double, const char *)> &progress)
      : options_(options), costs_(costs), survey_(options, progress) {}

  Profile run() {
    survey_.read_all();
    if (options_.grouping == benefit::Grouping::kDynamic)
      cluster(survey_, costs_);
    profile_.has_accesses = survey_.has_accesses;
    profile_.categories = survey_.totals.size();
    profile_.plugin_sites =
        static_cast<size_t>(std::count_if(survey_.names.begin(), survey_.names.end(),
                                          [](const auto &n) { return n.second.steerable; }));
    const std::vector<CategoryKey> keys = evaluated_categories();
    evaluate_each(keys);
    rank(keys);
    if (std::count_if(profile_.mappings.begin(), profile_.mappings.end(),
                      [](const RankedMapping &m) { return m.mapping.chosen; }) > 1)
      evaluate_jointly();
    profile_.traces = std::move(survey_.traces);
    return std::move(profile_);
  }

private:
  // Page size of each category of a mapping; all others are on base pages.
  using Sizes = std::map<CategoryKey, PageSize>;

  // Returns the page size of each category of a trace, by mapping.
  static std::vector<benefit::Evaluation::Pages> lanes_of(const std::vector<Sizes> &mappings,
                                                          const std::vector<CategoryKey> &numbers) {
    std::vector<benefit::Evaluation::Pages> lanes;
    for (const Sizes &mapping : mappings) {
      benefit::Evaluation::Pages lane(numbers.size());
      for (size_t i = 0; i < numbers.size(); i++)
        if (const auto at = mapping.find(numbers[i]); at != mapping.end())
          lane[i] = at->second;
      lanes.push_back(std::move(lane));
    }
    return lanes;
  }

  // Evaluates the mappings on every trace, and calls take(evaluation) for each.
  void evaluate(const std::vector<Sizes> &mappings, bool all_last, const char *what,
                const std::function<void(const benefit::Evaluation &)> &take) {
    for (size_t t = 0; t < survey_.paths.size(); t++) {
      const auto reader = open_trace(survey_.paths[t]);
      const TraceSummary &trace = survey_.traces[t];
      const std::vector<CategoryKey> &numbers = survey_.numbers[t];
      std::vector<benefit::Evaluation::Pages> lanes = lanes_of(mappings, numbers);
      if (all_last)
        lanes.emplace_back(numbers.size(), PageSize::kSuper);
      std::vector<bool> overlap;
      for (const CategoryKey &key : numbers)
        overlap.push_back(survey_.overlaps(key));
      const benefit::ThreadTlbs &tlbs = survey_.tlbs[t];
      uint64_t last_thread = UINT64_MAX; // accesses of one thread come in runs
      uint32_t tlb = 0;
      benefit::Evaluation evaluation(costs_, std::move(lanes), sample_of(trace), options_.threads,
                                     {std::move(overlap), tlbs.count()});
      TraceFollower follower(
          survey_.objects(), trace.accesses > 0, reader->limits(),
          [&](uint64_t address, benefit::Objects::Place place, uint64_t repeats, bool write,
              uint64_t thread) {
            if (thread != last_thread)
              tlb = tlbs.of(last_thread = thread);
            evaluation.access(address, place, repeats, write, tlb);
          },
          [&](uint64_t start, uint64_t end, uint32_t category) {
            evaluation.given_back(start, end, category);
          });
      double faults = 0;
      std::vector<uint64_t> inherited_bytes;
      if (trace.forked() && !trace.empty()) {
        survey_.read_inherited(t, [&](const trace::Event &e) { follower.event(e); });
        evaluation.start_counting();
        inherited_bytes = heap_bytes_of(follower.objects());
      }
      survey_.read(*reader, t, what, [&](const trace::Event &e) {
        if (e.type == trace::Type::kFault)
          faults = std::max(faults, static_cast<double>(e.minor));
        follower.event(e);
      });
      if (follower.untouched() && warned_of_touches_.insert(t).second)
        print_warning("not all of the trace is used", trace.path,
                      fmt::format("its {} bytes describe more than {} MiB of memory: the first "
                                  "touches of {} objects are left out",
                                  reader->file_bytes(), reader->limits().blocks >> 4,
                                  follower.untouched()));
      // If the faults themselves were recorded, the second ones are among them. In a child of fork
      // each first write is one.
      evaluation.finish(trace.accesses > 0 && !trace.faults && !trace.forked() ? faults : 0,
                        heap_bytes_of(follower.objects()), std::move(inherited_bytes));
      take(evaluation);
    }
  }

  // Returns the categories to evaluate: those with the most accesses, or without recorded accesses
  // those with the most memory.
  std::vector<CategoryKey> evaluated_categories() const {
    std::vector<CategoryKey> keys;
    for (const auto &[key, total] : survey_.totals)
      keys.push_back(key);
    const auto weight = [&](const CategoryKey &key) {
      const CategoryTotal &t = survey_.totals.at(key);
      return profile_.has_accesses ? t.accesses : static_cast<double>(t.peak_bytes);
    };
    std::stable_sort(keys.begin(), keys.end(), [&](const CategoryKey &a, const CategoryKey &b) {
      return weight(a) > weight(b);
    });
    while (!keys.empty() && (keys.size() > options_.most_mappings || weight(keys.back()) == 0))
      keys.pop_back();
    return keys;
  }

  // Returns a base mapping for each category and page size, in that order, after the one without
  // superpages.
  std::vector<Sizes> base_mappings(const std::vector<CategoryKey> &keys) {
    std::vector<Sizes> mappings = {{}};
    for (const CategoryKey &key : keys) {
      CategoryTotal &total = survey_.totals[key];
      for (PageSize size : options_.pages) {
        // If no object has a whole GiB, 1 GiB pages are 2 MiB pages.
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
    return mappings;
  }

  void evaluate_each(const std::vector<CategoryKey> &keys) {
    benefit::Counts base;
    evaluate(base_mappings(keys), true, "evaluating", [&](const benefit::Evaluation &e) {
      const benefit::Counts all_base = e.counts(0);
      base.tlb_misses += all_base.tlb_misses;
      base.page_faults += all_base.page_faults;
      base.cycles += all_base.cycles;
      base.touch_cycles += all_base.touch_cycles;
      size_t lane = 0;
      for (const CategoryKey &key : keys) {
        CategoryTotal &total = survey_.totals[key];
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
    profile_.tlb_misses_base = base.tlb_misses;
    profile_.page_faults_base = base.page_faults;
    const double recorded = run_seconds_of(survey_.traces);
    const double seconds =
        options_.seconds > 0 ? options_.seconds * runs_of(survey_.traces) : recorded;
    if (seconds > 0) {
      profile_.rates.tlb_misses_per_second = base.tlb_misses / seconds;
      profile_.rates.page_faults_per_second = base.page_faults / seconds;
      // The cycles are those of all threads, and so is the time of which they are a share.
      const double threads = recorded > 0 ? survey_.thread_seconds / recorded : 1;
      const auto share = [&](double cycles) {
        return std::min(1.0, cycles / costs_.frequency_hz() / (seconds * threads));
      };
      profile_.rates.translation_share = share(base.cycles - base.touch_cycles);
      profile_.rates.first_touch_share = share(base.touch_cycles);
      profile_.rates.lost_seconds = base.cycles / costs_.frequency_hz() / runs_of(survey_.traces);
    }
    profile_.significant = benefit::significant(profile_.rates, options_.rule);
  }

  // Returns the index of the smallest page size that the larger ones are not clearly better than.
  // Larger pages are harder to get, and take more memory where objects are not full.
  size_t best_of(const std::vector<SizeResult> &sizes, double most) const {
    size_t best = 0;
    for (size_t i = 1; i < sizes.size(); i++)
      if (sizes[i].saved_cycles - sizes[best].saved_cycles >
          options_.least_pmb_percent / 100 * most)
        best = i;
    return best;
  }

  void rank(const std::vector<CategoryKey> &keys) {
    double most = 0;
    for (const CategoryKey &key : keys)
      for (const SizeResult &result : survey_.totals[key].sizes)
        most = std::max(most, result.saved_cycles);
    std::vector<benefit::Mapping> ranked;
    for (size_t i = 0; i < keys.size(); i++) {
      CategoryTotal &total = survey_.totals[keys[i]];
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
    profile_.tlb_misses_steerable = profile_.tlb_misses_base;
    profile_.page_faults_steerable = profile_.page_faults_base;
    for (const benefit::Mapping &mapping : ranked) {
      profile_.mappings.push_back(described(keys[mapping.category], mapping, most));
      if (!mapping.chosen)
        continue;
      profile_.saved_additive += mapping.saved_cycles;
      if (profile_.mappings.back().steerable) {
        profile_.saved_steerable += mapping.saved_cycles;
        profile_.tlb_misses_steerable = profile_.mappings.back().result().tlb_misses;
        profile_.page_faults_steerable = profile_.mappings.back().result().page_faults;
      }
    }
    profile_.saved_joint = profile_.saved_additive; // none or one is chosen
  }

  RankedMapping described(const CategoryKey &key, const benefit::Mapping &mapping,
                          double most) const {
    const CategoryTotal &total = survey_.totals.at(key);
    RankedMapping m;
    m.mapping = mapping;
    std::tie(m.kind, m.id, m.context) = key;
    if (m.kind == CategoryKind::kObject)
      std::swap(m.object, m.context);
    m.walks_overlap = costs_.knows_overlapped() && survey_.overlaps(key);
    m.accesses = total.accesses;
    m.footprint_bytes = total.peak_bytes;
    m.tlb_misses_base = total.misses_base;
    m.page_faults_base = total.faults_base;
    m.sizes = total.sizes;
    m.best = best_of(total.sizes, most);
    m.mapping.pmb_percent = m.result().pmb_percent;
    name(m);
    return m;
  }

  void name(RankedMapping &m) const {
    if (const auto chain = survey_.chains.find(m.context);
        m.context && chain != survey_.chains.end())
      m.chain = chain->second;
    if (const auto copies = survey_.copies.find(m.id);
        m.kind == CategoryKind::kSite && copies != survey_.copies.end())
      m.copies = copies->second.size();
    const CategoryKind named =
        m.kind == CategoryKind::kSiteContext || m.kind == CategoryKind::kObject
            ? CategoryKind::kSite
            : m.kind;
    if (const auto name = survey_.names.find({named, m.id, 0}); name != survey_.names.end()) {
      m.function = name->second.function;
      m.file = name->second.file;
      m.line = name->second.line;
      m.steerable = name->second.steerable && m.kind != CategoryKind::kObject;
    } else if (m.kind == CategoryKind::kCluster) {
      m.members = survey_.members.at(m.id);
      m.steerable = m.members.front().steerable; // of all members, or of none
      m.function = fmt::format("{} sites", m.members.size());
    } else if (m.kind == CategoryKind::kSizeClass) {
      static const char *const kPaper[] = {"static", "small dynamic", "large dynamic"};
      m.function = kPaper[std::min<uint64_t>(m.id, 2)];
    }
  }

  static CategoryKey key_of(const RankedMapping &m) {
    return {m.kind, m.id, m.kind == CategoryKind::kObject ? m.object : m.context};
  }

  void evaluate_jointly() {
    Sizes chosen, steerable;
    for (const RankedMapping &m : profile_.mappings) {
      if (!m.mapping.chosen)
        continue;
      const CategoryKey key = key_of(m);
      chosen[key] = m.result().page;
      if (m.steerable)
        steerable[key] = m.result().page;
    }
    profile_.saved_joint = profile_.saved_steerable = 0;
    profile_.tlb_misses_steerable = profile_.page_faults_steerable = 0;
    evaluate({{}, chosen, steerable}, false, "checking the choice",
             [&](const benefit::Evaluation &e) {
               profile_.saved_joint += e.saving(0, 1).cycles;
               profile_.saved_steerable += e.saving(0, 2).cycles;
               const benefit::Counts directed = e.counts(2);
               profile_.tlb_misses_steerable += directed.tlb_misses;
               profile_.page_faults_steerable += directed.page_faults;
             });
  }

  const ProfileOptions &options_;
  const benefit::CostModel &costs_;
  Survey survey_;
  Profile profile_;
  std::set<size_t> warned_of_touches_; ///< traces for which the warning was printed
};

} // namespace

double Profile::runs() const { return runs_of(traces); }
double Profile::run_seconds() const { return run_seconds_of(traces); }

Profile analyse(const ProfileOptions &options, const benefit::CostModel &costs,
                const std::function<void(double, const char *)> &progress) {
  return Analysis(options, costs, progress).run();
}

} // namespace smalloc::cli
