// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// profile_survey.h finds what there is in the traces of a profile, before anything is evaluated:
// each recording once, its objects by category with their accesses, and the categories' names.
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

/// One category over all traces: sums of its counts, and the largest of its bytes and GiB pages.
struct CategoryTotal {
  double accesses = 0, misses_base = 0, faults_base = 0;
  uint64_t heap_bytes = 0, gib_pages = 0, peak_bytes = 0;
  std::vector<SizeResult> sizes; ///< in the order of ProfileOptions::pages
};

/// Results of the passes over the traces. read_all() fills them; cluster() (profile_clusters.h) may
/// join categories afterwards.
class Survey {
public:
  using Progress = std::function<void(double, const char *)>;

  Survey(const ProfileOptions &options, const Progress &progress)
      : paths(options.traces), options_(options), progress_(progress) {}

  /// Reads all traces. Throws Failure for files that cannot be read. Warns of damaged ones, and of
  /// a recording that is named twice.
  void read_all();
  /// Visits what a process has inherited: its ancestors' events until the forks, as far as their
  /// traces are here. They come before the events of the trace itself. Visits nothing if there is
  /// no ancestor.
  void read_inherited(size_t trace, const std::function<void(const trace::Event &)> &visit) const;
  /// Counts the objects once more, by cluster.
  void recount();
  /// Visits all events of the trace with the number `trace`. what: text for the progress.
  void read(trace::Reader &reader, size_t trace, const char *what,
            const std::function<void(const trace::Event &)> &visit) const;
  /// Returns the accesses of the whole program that `repeats` repeats of a recorded one stand for.
  double scaled(size_t trace, uint64_t repeats) const;
  /// Returns the objects with which each pass over a trace begins: nothing is allocated yet.
  benefit::Objects objects() const;
  /// True if the category's misses wait for no other access; of a cluster: if those of all its
  /// sites do.
  bool overlaps(const CategoryKey &key) const;

  std::vector<std::string> paths; ///< of the traces, each recording once
  std::vector<TraceSummary> traces;
  std::vector<benefit::ThreadTlbs> tlbs; ///< by trace; samples have one TLB for all threads
  /// By trace: its categories in the order in which they appear, the same in every pass.
  std::vector<std::vector<CategoryKey>> numbers;
  std::map<CategoryKey, CategoryTotal> totals;
  std::map<CategoryKey, SiteName> names;
  std::map<uint64_t, std::string> chains;                            ///< by context
  std::unordered_map<uint64_t, std::unordered_set<uint64_t>> copies; ///< by site: contexts
  benefit::Objects::Clusters clusters;                    ///< by site; empty: not requested
  std::map<uint64_t, std::vector<ClusterMember>> members; ///< by cluster, most accesses first
  double thread_seconds = 0; ///< of all recordings and all threads that access at the same time
  bool has_accesses = false;

private:
  void find_parents();
  TraceSummary summary_of(const trace::Reader &reader, const std::string &path) const;
  void note_names(const trace::Event &e);
  void read_one(trace::Reader &reader);
  void count(const benefit::Objects &objects);

  const ProfileOptions &options_;
  const Progress &progress_;
  /// By path, since a recording that is named twice is removed from `paths`.
  struct Fork {
    std::string parent; ///< trace of the parent
    uint64_t ns = 0;    ///< in that trace's time
  };
  std::map<std::string, Fork> forks_;
};

/// True if the user wants to know what pages of this size are worth.
bool asks_for(const ProfileOptions &options, benefit::PageSize size);

} // namespace smalloc::cli
