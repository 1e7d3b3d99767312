// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// numa_simulation.cpp simulates a trace, in intervals of equal length.
#include "runtime/cli/numa/numa_simulation.h"

#include "runtime/cli/input_file.h"
#include "runtime/errors/diagnostics.h"
#include "runtime/numa/topology_source.h"
#include "runtime/profile/trace_follower.h"
#include "runtime/trace/reader.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

namespace smalloc::cli {
namespace {

using numa::Scheme;

/// Further threads share the processor of the last one.
constexpr unsigned kMostThreads = 1024;

} // namespace

numa::Topology load_topology(const std::string &file) {
  const auto bytes = read_file(file, "cannot use topology", kTextInput);
  try {
    return numa::parse_topology({reinterpret_cast<const char *>(bytes.data()), bytes.size()});
  } catch (const numa::TopologyError &error) {
    throw Failure{"cannot use topology", file, error.what(),
                  "smalloc numa topology --json prints one to compare with", kFailed};
  }
}

size_t scheme_of(const numa::Simulator &simulator, const std::string &source) {
  for (size_t i = 0; i < simulator.schemes(); i++) {
    const Scheme &s = simulator.scheme(i);
    if (s.migrates && s.mapping == numa::Mapping::kBasePages &&
        numa::source_name(s.source) == source)
      return i;
  }
  return 0;
}

namespace {

numa::MachineModel machine_of(const SimulationRequest &q) {
  numa::MachineModel machine;
  if (!numa::machine_model(q.machine, machine)) {
    std::string names;
    for (const std::string &name : numa::machine_model_names())
      names += (names.empty() ? "" : ", ") + name;
    throw Failure{"cannot use machine", q.machine, "the simulated machines are " + names,
                  "smalloc numa simulate --machine server-4 " + q.trace, kFailed};
  }
  if (!q.topology.empty())
    machine.topology = load_topology(q.topology);
  machine.shrink(q.shrink, q.tlb_shrink ? q.tlb_shrink : q.shrink);
  if (q.move_ns > 0)
    machine.move_page_ns = q.move_ns;
  return machine;
}

numa::SimulatorOptions options_of(const SimulationRequest &q) {
  numa::SimulatorOptions options;
  options.intervals = q.intervals;
  options.sample_period = q.sample;
  options.content_period = q.content;
  options.scatter = q.bind == "scatter";
  if (q.policy == "paper")
    options.policy = numa::PolicyOptions::paper();
  options.policy.freeze_intervals = q.freeze;
  options.policy.horizon_intervals = q.horizon;
  return options;
}

// The accesses of a trace and the threads that make them.
struct TraceLength {
  uint64_t accesses = 0; // the length: a trace's time may be logical
  // The processor of each thread, by its number in the trace. Numbers without accesses only
  // allocate or sample and are skipped. The recorder of kernels numbers threads from 0, and from
  // 1000 those that OpenMP did not start.
  std::map<uint64_t, unsigned> threads;
};

TraceLength measure_trace(trace::Reader &reader, const std::string &path) {
  TraceLength length;
  reader.read([&](const trace::Event &e) {
    length.accesses += e.accesses.size();
    if (e.type == trace::Type::kAccess && !e.accesses.empty())
      length.threads[e.thread];
  });
  unsigned next_thread = 0;
  for (auto &[id, thread] : length.threads)
    thread = std::min(next_thread++, kMostThreads - 1);
  if (length.accesses == 0)
    throw Failure{"cannot simulate", path, "the trace holds no accesses",
                  "record them: see docs/internals/numa.md, \"Traces\"", kFailed};
  if (reader.skipped_bytes() || reader.bad_records())
    print_warning("damaged trace", path,
                  fmt::format("{} bytes and {} records are left out", reader.skipped_bytes(),
                              reader.bad_records()));
  warn_of_left_out(reader, path);
  return length;
}

} // namespace

numa::SimulationResult simulate(const SimulationRequest &q, numa::MachineModel &machine,
                                NumaSiteTraffic &sites, const IntervalVisitor &visit) try {
  machine = machine_of(q);
  trace::Reader reader(q.trace);
  // Read the trace twice: first for its length, then in intervals of equal length.
  TraceLength length = measure_trace(reader, q.trace);
  numa::Simulator simulator(machine, options_of(q));
  sites.compare_with(simulator, scheme_of(simulator, q.source));
  uint64_t done = 0, intervals_done = 0;
  reader.read([&](const trace::Event &e) {
    sites.event(e);
    if (e.type != trace::Type::kAccess || e.accesses.empty())
      return;
    const unsigned thread = length.threads[e.thread];
    const uint8_t node = simulator.node_of_thread(thread);
    for (const trace::AccessRun &run : e.accesses) {
      if (simulator.access(thread, run.address, run.write, run.repeats))
        sites.transaction(run.address, node);
      if (++done * q.intervals / length.accesses > intervals_done &&
          intervals_done + 1 < q.intervals) {
        intervals_done++;
        sites.interval_ends(simulator);
        simulator.end_interval();
        sites.interval_ended(simulator);
        if (visit)
          visit(simulator);
      }
    }
  });
  sites.interval_ends(simulator);
  const numa::SimulationResult result = simulator.finish();
  sites.interval_ended(simulator);
  if (visit)
    visit(simulator);
  return result;
} catch (const trace::TraceError &error) {
  throw Failure{"cannot read the trace", q.trace, error.what(),
                "record one: see docs/internals/numa.md, \"Traces\"", kFailed};
}

} // namespace smalloc::cli
