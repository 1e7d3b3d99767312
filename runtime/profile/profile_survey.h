// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// profile_survey.h decides what there is in the traces of a profile, before anything is evaluated: each recording once, its objects by
// category with their accesses, and what people call them.
#pragma once

#include "runtime/benefit/objects.h"
#include "runtime/benefit/thread_tlbs.h"
#include "runtime/profile/profile_result.h"
#include "runtime/trace/reader.h"

#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace smalloc::cli {

using CategoryKey = std::tuple<benefit::CategoryKind, uint64_t, uint64_t>; ///< kind, id, context

struct SiteName {
  std::string function, file;
  unsigned line = 0;
  bool steerable = false;
  bool overlaps = false; ///< loops reach its objects by addresses that wait for no other access
};

/// Everything of a category, summed over the traces.
struct CategoryTotal {
  double accesses = 0, misses_base = 0, faults_base = 0;
  uint64_t heap_bytes = 0, gib_pages = 0, peak_bytes = 0;
  std::vector<SizeResult> sizes; ///< in the order of ProfileOptions::pages
};

/// What the passes over the traces have found. Filled by read_all(); cluster() (profile_clusters.h) joins categories afterwards.
class Survey {
public:
  using Progress = std::function<void(double, const char *)>;

  Survey(const ProfileOptions &options, const Progress &progress)
      : paths(options.traces), options_(options), progress_(progress) {}

  /// Throws Failure for files that cannot be read; damaged ones get a warning, and so does a recording that is named twice.
  void read_all();
  /// What a process has from the one that it was forked from, and that one from its own, as far as their traces are here: their events until
  /// the forks, before those of the trace itself. Nothing where there is none.
  void read_inherited(size_t trace, const std::function<void(const trace::Event &)> &visit) const;
  /// The same objects once more, by cluster.
  void recount();
  /// All events of a trace, which is the one of that number; progress is told `what`.
  void read(trace::Reader &reader, size_t trace, const char *what,
            const std::function<void(const trace::Event &)> &visit) const;
  /// Accesses in the whole program for so many repeats of a recorded one.
  double scaled(size_t trace, uint64_t repeats) const;
  /// As each pass over a trace begins: nothing allocated yet.
  benefit::Objects objects() const;
  /// The category's misses wait for no other access. Of a cluster: if those of all its sites do.
  bool overlaps(const CategoryKey &key) const;

  std::vector<std::string> paths; ///< of the traces, each recording once
  std::vector<TraceSummary> traces;
  std::vector<benefit::ThreadTlbs> tlbs; ///< by trace; of samples one TLB for all
  /// By trace: its categories in the order in which they appear, the same in every pass.
  std::vector<std::vector<CategoryKey>> numbers;
  std::map<CategoryKey, CategoryTotal> totals;
  std::map<CategoryKey, SiteName> names;
  std::map<uint64_t, std::string> chains;                            ///< by context
  std::unordered_map<uint64_t, std::unordered_set<uint64_t>> copies; ///< by site: contexts
  benefit::Objects::Clusters clusters;                    ///< by site; empty: none were asked for
  std::map<uint64_t, std::vector<ClusterMember>> members; ///< by cluster, most accesses first
  double thread_seconds = 0; ///< of all recordings; where several threads access, of all of these
  bool has_accesses = false;

private:
  void find_parents();
  void read_one(trace::Reader &reader);
  void count(const benefit::Objects &objects);

  const ProfileOptions &options_;
  const Progress &progress_;
  /// By path, since a recording that is named twice leaves `paths`.
  struct Fork {
    std::string parent; ///< its trace
    uint64_t ns = 0;    ///< in that trace's time
  };
  std::map<std::string, Fork> forks_;
};

/// The user wants to know what pages of this size are worth.
bool asks_for(const ProfileOptions &options, benefit::PageSize size);

} // namespace smalloc::cli
