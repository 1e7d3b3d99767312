// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// migrator.cpp runs an interval: it asks the kernel for the place of a unit's pages every
// kLookAgain intervals, moves what the policy plans, and writes the log.
#include "runtime/numa/live/migrator.h"
#include "runtime/numa/live/pages.h"
#include "smalloc/base/numbers.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

namespace smalloc::numa {
namespace {

/// Most moves of an interval: 2 GiB of base pages, so that 16 GiB need eight intervals. A move has
/// 32 bytes; the kernel provides only the touched part of the plan's memory.
constexpr size_t kPlanCapacity = size_t{1} << 19;
/// Intervals after which a unit's pages are located again: pages come and go, and the kernel moves
/// them, too.
constexpr uint8_t kLookAgain = 8;

class Guard {
public:
  explicit Guard(pthread_mutex_t &m) : m_(m) { pthread_mutex_lock(&m_); }
  ~Guard() { pthread_mutex_unlock(&m_); }

private:
  pthread_mutex_t &m_;
};

} // namespace

Migrator *Migrator::running_;

PolicyOptions Migrator::policy_options(const LiveOptions &o, uint32_t stands_for) {
  PolicyOptions p;
  p.sample_period = stands_for;
  p.neighbours = true;
  p.reserve_bytes = o.reserve_bytes;
  return p;
}

Migrator::Migrator(const LiveOptions &options, const Topology &topology, AccessSources *sources,
                   MigrationLog *log, const Hooks &hooks)
    : options_(options), topology_(topology), sources_(sources), log_(log), hooks_(hooks),
      unlocked_{unlocked_move, unlocked_collapse, hooks.mover.now_ns, unlocked_split},
      policy_(topology, policy_options(options, sources ? sources->stands_for() : 1)),
      mover_(topology_, unlocked_) {
  plan_ = static_cast<Move *>(map_pages(kPlanCapacity * sizeof(Move)));
}

long Migrator::unlocked_move(unsigned long count, void **pages, const int *nodes, int *status) {
  Migrator &m = *running_;
  pthread_mutex_unlock(&m.lock_);
  const long r = m.hooks_.mover.move_pages(count, pages, nodes, status);
  pthread_mutex_lock(&m.lock_);
  return r;
}
int Migrator::unlocked_collapse(void *start, size_t bytes) {
  Migrator &m = *running_;
  pthread_mutex_unlock(&m.lock_);
  const int r = m.hooks_.mover.collapse(start, bytes);
  pthread_mutex_lock(&m.lock_);
  return r;
}
int Migrator::unlocked_split(void *superpage) {
  Migrator &m = *running_;
  pthread_mutex_unlock(&m.lock_);
  const int r = m.hooks_.mover.split(superpage);
  pthread_mutex_lock(&m.lock_);
  return r;
}

size_t Migrator::profile() {
  if (!sources_)
    return 0;
  Guard guard(lock_);
  size_t n = 0;
  constexpr size_t kMostAtOnce = 1u << 16; // bounded, so that the migrator gets its turn
  for (Touch touch; n < kMostAtOnce && sources_->next(touch); n++) {
    const uint8_t node = touch.cpu < kMaxCpus ? topology_.node_of_cpu[touch.cpu] : kNoNode;
    if (node == kNoNode) {
      counters_.nowhere++;
      continue;
    }
    counters_.samples++;
    counters_.by_node[node]++;
    profile_.touch(static_cast<uintptr_t>(touch.address), node);
  }
  return n;
}

uint64_t Migrator::resident_bytes() const {
  char path[300], text[128];
  snprintf(path, sizeof path, "%s/self/statm", hooks_.procfs);
  if (hooks_.read(path, text, sizeof text) <= 0)
    return 0;
  const char *resident = strchr(text, ' ');
  return resident ? strtoull(resident, nullptr, 10) * kBasePageBytes : 0;
}

/// Locates the pages that might move, and finds out whether they are superpages.
void Migrator::look_at_units() {
  for (size_t i = 0; i < profile_.count() && !stop_; i++) {
    uint8_t &looked = profile_.looked(i);
    Unit &unit = *profile_.units()[i];
    if (looked != PageProfile::kNever && looked < kLookAgain) {
      looked++;
      continue;
    }
    if (!unit.touched)
      continue;
    const Backing backing = hooks_.backing(unit.address);
    if (backing != Backing::kUnknown)
      unit.granularity =
          backing == Backing::kSuperpage ? Granularity::kSuperpage : Granularity::kPages;
    mover_.locate(unit); // frees the lock meanwhile; units stay in place, new ones come behind
    profile_.looked(i) = 0;
  }
}

void Migrator::interval(uint64_t took_ns) {
  const uint64_t expected_ns = uint64_t{options_.interval_ms} * 1000000;
  Guard guard(lock_);
  running_ = this;
  counters_.intervals++;
  counters_.late += took_ns > 2 * expected_ns;
  size_t planned = 0, done = 0;
  if (replay_) {
    replay_->interval(static_cast<uint32_t>(counters_.intervals), unlocked_);
  } else if (plan_) {
    profile_.allow(PageProfile::units_for_resident(resident_bytes()));
    for (unsigned n = 0; n < topology_.nodes; n++)
      policy_.set_free_bytes(n,
                             read_free_bytes(hooks_.read, hooks_.sysfs, topology_.node[n].os_id));
    if (sources_)
      policy_.set_sample_period(sources_->stands_for());
    look_at_units();
    planned = policy_.plan(profile_.units(), profile_.count(), plan_, kPlanCapacity);
    if (!log_ || !log_->on())
      done = mover_.carry_out(policy_, plan_, planned, &stop_);
    else // batch by batch, to see which moves were done
      for (size_t at = 0; at < planned;) {
        const size_t piece = min_of(planned - at, size_t{PageMover::kBatch});
        done += mover_.carry_out(policy_, plan_ + at, piece, &stop_);
        for (size_t i = at; i < at + piece; i++)
          log_move(plan_[i], plan_[i].unit->page[plan_[i].page].home() == plan_[i].to);
        at += piece;
      }
    const size_t count = profile_.count(); // units that came meanwhile belong to the next interval
    policy_.next_interval(profile_.units(), count);
    profile_.forget_idle(policy_);
  }
  log_interval(planned, done, took_ns);
  if (log_)
    log_->flush();
}

void Migrator::replay(MigrationReplay &moves) { replay_ = &moves; }

void Migrator::log_move(const Move &m, bool done) {
  // A split and its pages have results of their own. The first page of a whole unit stands for it.
  if (m.action == Action::kSplit)
    done = m.unit->granularity == Granularity::kPages;
  TextBuffer<256> t;
  t.put("move interval=").number(counters_.intervals).put(" address=").hex(m.address());
  t.put(" pages=").number(m.pages()).put(" from=").number(topology_.node[m.from].os_id);
  t.put(" to=").number(topology_.node[m.to].os_id).put(" action=").put(action_name(m.action));
  log_->line(t.put(" result=").put(done ? "done" : "stayed").put_char('\n').text());
}

void Migrator::log_interval(size_t planned, size_t done, uint64_t took_ns) {
  if (!log_ || !log_->on())
    return;
  TextBuffer<2048> t;
  t.put("interval=").number(counters_.intervals).put(" ms=").number(took_ns / 1000000);
  t.put(" samples=").number(counters_.samples - logged_samples_).put(" samples_by_node=");
  logged_samples_ = counters_.samples;
  for (unsigned n = 0; n < topology_.nodes; n++) {
    t.put(n ? "," : "").number(counters_.by_node[n] - logged_by_node_[n]);
    logged_by_node_[n] = counters_.by_node[n];
  }
  t.put(" units=").number(profile_.count()).put(" planned=").number(planned);
  t.put(" done=").number(done).put(" trust_percent=");
  t.number(static_cast<uint64_t>(policy_.trust() * 100)).put_char('\n');
  log_->line(t.text());
}

void Migrator::end() {
  if (!log_ || !log_->on())
    return;
  Guard guard(lock_);
  const MoverCounters &m = mover_.counters();
  const PolicyCounters &p = policy_.counters();
  TextBuffer<2048> t;
  const auto put = [&t](const char *name, uint64_t value) {
    t.put_char(' ').put(name).put_char('=').number(value);
  };
  t.put("end");
  put("intervals", counters_.intervals);
  put("late", counters_.late);
  put("samples", counters_.samples);
  put("lost", sources_ ? sources_->lost() : 0);
  put("undecoded", sources_ ? sources_->undecoded() : 0);
  put("uncounted", profile_.refused());
  put("pages", m.pages);
  put("superpages", m.superpages);
  put("splits", m.splits);
  put("collapses", m.collapses);
  put("move_ns", m.ns);
  for (unsigned i = 0; i < kMoveFailures; i++)
    put(failure_name(static_cast<MoveFailure>(i)), m.failures[i]);
  put("frozen", p.frozen);
  put("not_worth", p.not_worth);
  put("unbalanced", p.unbalanced);
  put("target_full", p.target_full);
  put("mixed_left", p.mixed_left);
  const MigrationReplay::Counters r = replay_ ? replay_->counters() : MigrationReplay::Counters();
  put("replay_moves", r.moves);
  put("replay_done", r.done);
  put("replay_absent", r.absent);
  put("replay_failed", r.failed);
  log_->line(t.put_char('\n').text());
  log_->flush();
}

} // namespace smalloc::numa
