// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// sampling_error: measures how well samples of memory transactions show each processor's share
// (Tikir and Hollingsworth 2008, section 5.1). A recorded trace goes through the caches of a
// simulated machine. Each way of sampling picks some of the transactions. Its error is the mean
// over the processors of |R_sample - R_all| / R_all, where R is the processor's share.
//
// Entries of the threads are merged by the trace's logical clock, so that the transactions of
// threads that run side by side alternate as on a machine with a processor for each thread.
//
//   sampling_error TRACE MACHINE SHRINK TLB_SHRINK        prints JSON
#include "runtime/numa/machine_model.h"
#include "runtime/numa/simulator.h"
#include "runtime/trace/reader.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <string>
#include <unordered_set>
#include <vector>

namespace {

using namespace smalloc;

constexpr unsigned kFifo = 8; // transactions that the paper's bus analyser holds

// A way of sampling. Interval: one of `period` transactions. Random: one of them at a random place.
// Max-rate: software takes one transaction out of the FIFO in `period` ticks of the clock, as fast
// as it can; those that find the FIFO full are lost.
enum class Kind { kInterval, kRandom, kMaxRate };

struct Sampling {
  Kind kind;
  uint64_t period;
  uint64_t at = 0, chosen = 0, state = 88172645463325252u, sampled = 0;
  uint64_t held = 0, next_read = 0; ///< of the FIFO
  std::vector<uint64_t> by_thread{};
  std::unordered_set<uint64_t> pages{};

  bool takes(uint64_t time) {
    if (kind == Kind::kMaxRate) {
      for (; held && next_read <= time; next_read += period)
        held--;
      if (held == kFifo)
        return false;
      if (held++ == 0)
        next_read = time + period;
      return true;
    }
    if (at == 0 && kind == Kind::kRandom) {
      state ^= state << 13;
      state ^= state >> 7;
      state ^= state << 17;
      chosen = state % period;
    }
    const bool taken = at == chosen;
    at = at + 1 == period ? 0 : at + 1;
    return taken;
  }

  void transaction(uint64_t time, unsigned thread, uint64_t page) {
    if (!takes(time))
      return;
    by_thread.resize(std::max<size_t>(by_thread.size(), thread + 1));
    by_thread[thread]++;
    sampled++;
    pages.insert(page);
  }
};

const char *name_of(Kind kind) {
  return kind == Kind::kInterval ? "interval" : kind == Kind::kRandom ? "random" : "max-rate";
}

struct Entry {
  uint64_t time, address, repeats;
  bool write;
};

// Entries of a thread reach the reader in records; one that ends later may begin this much earlier.
constexpr uint64_t kLongestRecord = 1 << 16;

class Merger {
public:
  Merger(numa::Simulator &simulator, std::vector<Sampling> &ways)
      : simulator_(simulator), ways_(ways) {}

  void record(unsigned thread, const trace::Event &e) {
    waiting_.resize(std::max<size_t>(waiting_.size(), thread + 1));
    uint64_t span = 0;
    for (const trace::AccessRun &run : e.accesses)
      span += run.repeats + 1;
    uint64_t time = e.time_ns > span ? e.time_ns - span : 0; // the record's time is its end
    for (const trace::AccessRun &run : e.accesses) {
      waiting_[thread].push_back({time, run.address, run.repeats, run.write});
      time += run.repeats + 1;
    }
    simulate_until(e.time_ns > kLongestRecord ? e.time_ns - kLongestRecord : 0);
  }

  void simulate_until(uint64_t time) {
    for (;;) {
      size_t first = waiting_.size();
      for (size_t i = 0; i < waiting_.size(); i++)
        if (!waiting_[i].empty() &&
            (first == waiting_.size() || waiting_[i].front().time < waiting_[first].front().time))
          first = i;
      if (first == waiting_.size() || waiting_[first].front().time > time)
        return;
      access(static_cast<unsigned>(first), waiting_[first].front());
      waiting_[first].pop_front();
    }
  }

  const std::vector<uint64_t> &by_thread() const { return by_thread_; }
  size_t pages() const { return pages_.size(); }
  uint64_t transactions() const { return transactions_; }

private:
  void access(unsigned thread, const Entry &e) {
    if (!simulator_.access(thread, e.address, e.write, e.repeats))
      return;
    by_thread_.resize(std::max<size_t>(by_thread_.size(), thread + 1));
    by_thread_[thread]++;
    transactions_++;
    pages_.insert(e.address / 4096);
    for (Sampling &way : ways_)
      way.transaction(e.time, thread, e.address / 4096);
  }

  numa::Simulator &simulator_;
  std::vector<Sampling> &ways_;
  std::vector<std::deque<Entry>> waiting_;
  std::vector<uint64_t> by_thread_;
  std::unordered_set<uint64_t> pages_;
  uint64_t transactions_ = 0;
};

double share(uint64_t part, uint64_t whole) {
  return whole ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

void report(const Merger &merger, const std::vector<Sampling> &ways) {
  std::printf("{\"transactions\": %lu, \"pages\": %zu, \"threads\": %zu, \"ways\": [",
              static_cast<unsigned long>(merger.transactions()), merger.pages(),
              merger.by_thread().size());
  const char *comma = "";
  for (const Sampling &way : ways) {
    std::string errors;
    double sum = 0;
    size_t processors = 0;
    for (size_t t = 0; t < merger.by_thread().size(); t++) {
      const double all = share(merger.by_thread()[t], merger.transactions());
      const double sample = share(t < way.by_thread.size() ? way.by_thread[t] : 0, way.sampled);
      if (all == 0)
        continue;
      const double error = std::abs(sample - all) / all;
      errors += (processors++ ? ", " : "") + std::to_string(error);
      sum += error;
    }
    std::printf(
        "%s{\"name\": \"%s\", \"period\": %lu, \"sampled\": %lu, \"sampled_percent\": %.4f, "
        "\"error\": %.6f, \"errors\": [%s], \"pages_percent\": %.4f}",
        comma, name_of(way.kind), static_cast<unsigned long>(way.period),
        static_cast<unsigned long>(way.sampled), 100 * share(way.sampled, merger.transactions()),
        processors ? sum / static_cast<double>(processors) : 0, errors.c_str(),
        100 * share(way.pages.size(), merger.pages()));
    comma = ", ";
  }
  std::printf("]}\n");
}

} // namespace

int main(int argc, char **argv) {
  numa::MachineModel machine;
  if (argc != 5 || !numa::machine_model(argv[2], machine)) {
    std::fprintf(stderr, "usage: sampling_error TRACE MACHINE SHRINK TLB_SHRINK\n");
    return 2;
  }
  machine.shrink(static_cast<unsigned>(std::atoi(argv[3])),
                 static_cast<unsigned>(std::atoi(argv[4])));
  std::vector<Sampling> ways;
  for (uint64_t period = 4; period <= 65536; period *= 4)
    for (Kind kind : {Kind::kInterval, Kind::kRandom})
      ways.push_back({kind, period});
  for (uint64_t ticks = 1; ticks <= 1024; ticks += (ticks + 1) / 2)
    ways.push_back({Kind::kMaxRate, ticks});
  try {
    numa::Simulator simulator(machine, {});
    Merger merger(simulator, ways);
    std::map<uint64_t, unsigned> threads;
    trace::Reader reader(argv[1]);
    reader.read([&](const trace::Event &e) {
      if (e.type == trace::Type::kAccess && !e.accesses.empty())
        merger.record(threads.try_emplace(e.thread, threads.size()).first->second, e);
    });
    merger.simulate_until(UINT64_MAX);
    report(merger, ways);
  } catch (const trace::TraceError &error) {
    std::fprintf(stderr, "sampling_error: error: %s: %s\n", argv[1], error.what());
    return 1;
  }
}
