// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// migrator.h runs the intervals of a program whose pages migrate: samples become counts, the policy
// makes a plan, the mover carries it out, the log records it. Two threads (live.cpp) call it: the
// profiler profile(), the migrator interval(). The lock between them is free while the kernel moves
// pages, so that sampling goes on.
#ifndef RUNTIME_NUMA_LIVE_MIGRATOR_H
#define RUNTIME_NUMA_LIVE_MIGRATOR_H

#include "runtime/numa/live/access_sources.h"
#include "runtime/numa/live/migration_log.h"
#include "runtime/numa/live/page_profile.h"
#include "smalloc/files/system_file.h"
#include "smalloc/numa/page_backing.h"
#include "smalloc/numa/system_nodes.h"

#include <pthread.h>

namespace smalloc::numa {

struct MigratorCounters {
  uint64_t samples = 0, nowhere = 0; ///< nowhere: from processors of no node
  uint64_t intervals = 0, late = 0;  ///< late: took twice their time, since the process was stopped
  uint64_t by_node[kMaxNodes] = {};
};

class Migrator {
public:
  struct Hooks {
    MoverHooks mover = kKernelMover;
    FileReader read = read_system_file;
    Backing (*backing)(uintptr_t unit) = backing_of;
    const char *sysfs = "/sys";
    const char *procfs = "/proc";
  };
  /// Creates a migrator. topology, sources and log must outlive it.
  Migrator(const LiveOptions &options, const Topology &topology, AccessSources *sources,
           MigrationLog *log, const Hooks &hooks);

  /// Takes the samples that the sources have. Returns their number.
  size_t profile();
  /// Ends an interval that has taken `took_ns`.
  void interval(uint64_t took_ns);
  /// Makes no more moves: the process is ending.
  void stop() { stop_ = true; }
  /// Makes the moves of a loaded log instead of counting.
  void replay(MigrationReplay &moves);
  bool placed() const { return !replay_ || replay_->finished(); }
  /// Writes the last line of the log.
  void end();

  const MigratorCounters &counters() const { return counters_; }
  const MoverCounters &moved() const { return mover_.counters(); }
  const MigrationPolicy &policy() const { return policy_; }
  const MigrationReplay *replayed() const { return replay_; }
  const PageProfile &pages() const { return profile_; }
  /// Returns the sources, in which smalloc's own threads are registered to be left out.
  AccessSources *sources() { return sources_; }

private:
  static long unlocked_move(unsigned long count, void **pages, const int *nodes, int *status);
  static int unlocked_collapse(void *start, size_t bytes);
  static int unlocked_split(void *superpage);
  static PolicyOptions policy_options(const LiveOptions &options, uint32_t stands_for);
  uint64_t resident_bytes() const;
  void look_at_units();
  void log_interval(size_t planned, size_t done, uint64_t took_ns);
  void log_move(const Move &move, bool done);

  LiveOptions options_;
  const Topology &topology_;
  AccessSources *sources_;
  MigrationLog *log_;
  Hooks hooks_;
  MoverHooks unlocked_;
  MigrationPolicy policy_;
  PageMover mover_;
  PageProfile profile_;
  MigrationReplay *replay_ = nullptr;
  MigratorCounters counters_;
  pthread_mutex_t lock_ = PTHREAD_MUTEX_INITIALIZER;
  Move *plan_ = nullptr;
  volatile bool stop_ = false;
  uint64_t logged_samples_ = 0, logged_by_node_[kMaxNodes] = {};
  static Migrator *running_; ///< the one whose lock unlocked_move() and its siblings
                             ///< free during a system call
};

} // namespace smalloc::numa
#endif
