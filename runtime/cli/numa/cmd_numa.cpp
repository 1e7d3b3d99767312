// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cmd_numa.cpp implements `smalloc numa`: the machine's map, the simulation of page migration on a
// recorded trace, and migration in a running program.
#include "runtime/cli/numa/numa_live.h"
#include "runtime/cli/numa/numa_page_map.h"
#include "runtime/cli/numa/numa_simulation.h"
#include "runtime/cli/numa/numa_top.h"
#include "runtime/cli/output.h"
#include "runtime/cli/verbs.h"
#include "runtime/errors/diagnostics.h"
#include "runtime/numa/topology_source.h"

#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace smalloc::cli {
namespace {

struct NumaOptions {
  OutputOptions output;
  std::string file;
  SimulationRequest simulation;
  NumaTopOptions top;
  NumaRunOptions live;
  std::function<int(const NumaOptions &)> run;
};

std::string size_text(uint64_t bytes) {
  return bytes == 0 ? "-" : fmt::format("{:.1f} GiB", static_cast<double>(bytes) / (1 << 30));
}

// Formats a list of processors as the kernel does: "0-3,8".
std::string cpu_list(const nlohmann::ordered_json &cpus) {
  std::string text;
  for (size_t i = 0; i < cpus.size();) {
    size_t end = i + 1;
    while (end < cpus.size() && cpus[end].get<unsigned>() == cpus[end - 1].get<unsigned>() + 1)
      end++;
    text += (text.empty() ? "" : ",") + cpus[i].dump();
    if (end - i > 1)
      text += "-" + cpus[end - 1].dump();
    i = end;
  }
  return text.empty() ? "none" : text;
}

int show_topology(const NumaOptions &o) {
  const auto thresholds = parse_thresholds(o.output);
  numa::Topology topology;
  if (!o.file.empty())
    topology = load_topology(o.file);
  else
    try {
      topology = numa::system_topology();
    } catch (const numa::TopologyError &error) {
      throw Failure{"cannot read the topology", "this system", error.what(),
                    "describe it: smalloc numa topology FILE", kFailed};
    }
  const auto document = numa::topology_document(topology);
  return finish(o.output, thresholds, document, [&](Colour colour) {
    std::vector<std::string> header = {"NODE", "CPUS", "MEMORY", "FREE", "BANDWIDTH"};
    for (unsigned n = 0; n < topology.nodes; n++)
      header.push_back(fmt::format("NS TO {}", topology.node[n].os_id));
    Table table(header);
    for (unsigned n = 0; n < topology.nodes; n++) {
      const numa::Node &node = topology.node[n];
      std::vector<Cell> row = {{std::to_string(node.os_id), Style::kBold},
                               {cpu_list(document["nodes"][n]["cpus"])},
                               {size_text(node.memory_bytes)},
                               {size_text(node.free_bytes)},
                               {node.bandwidth_bytes_s > 0
                                    ? fmt::format("{:.1f} GB/s", node.bandwidth_bytes_s / 1e9)
                                    : "?"}};
      for (unsigned m = 0; m < topology.nodes; m++)
        row.push_back({fmt::format("{}{:.0f}", topology.latency_ns[n][m] > 0 ? "" : "~",
                                   topology.latency(n, m))});
      table.add_row(row);
    }
    return table.print(colour) + (topology.nodes == 1
                                      ? "\none node: every access is local, nothing to place\n"
                                      : "\n~ estimated from the firmware's distances\n");
  });
}

int run_simulation(const NumaOptions &o) {
  const auto thresholds = parse_thresholds(o.output);
  numa::MachineModel machine;
  NumaSiteTraffic sites;
  const numa::SimulationResult result = simulate(o.simulation, machine, sites);
  const auto document = simulation_document(o.simulation, machine, result, sites);
  return finish(o.output, thresholds, document,
                [&](Colour colour) { return simulation_text(document, colour); });
}

int write_report(const NumaOptions &o) {
  if (o.output.file.empty() || o.output.json)
    throw Failure{"cannot write the report", o.simulation.trace,
                  "it is one HTML page: name the file",
                  "smalloc numa report " + o.simulation.trace + " -o report.html", kUsage};
  const auto thresholds = parse_thresholds(o.output);
  numa::MachineModel machine;
  NumaPageMap map(o.simulation.source);
  NumaSiteTraffic sites;
  const numa::SimulationResult result =
      simulate(o.simulation, machine, sites, [&](const numa::Simulator &s) { map.take(s); });
  const auto document = simulation_document(o.simulation, machine, result, sites);
  const int status =
      finish(o.output, thresholds, document, [&](Colour) { return map.page(document, result); });
  print_note("open " + expand_file_name(o.output.file) + " in a browser: no server, no network");
  return status;
}

void declare_simulation(CLI::App *sub, const std::shared_ptr<NumaOptions> &options) {
  SimulationRequest &q = options->simulation;
  sub->add_option("TRACE", q.trace, "A trace with accesses, smalloc.trace/1")
      ->required()
      ->type_name("");
  sub->add_option("--machine", q.machine,
                  "server-4 (default) or sun-fire-6800 (Tikir and Hollingsworth 2008, Table 5)")
      ->type_name("NAME");
  sub->add_option("--topology", q.topology, "Nodes and latencies of a described machine instead")
      ->type_name("FILE");
  sub->add_option("--shrink", q.shrink,
                  "Caches and TLBs of 1/N, for a program that was made N times smaller (default 1)")
      ->check(CLI::Range(1, 4096).description(""))
      ->type_name("N");
  sub->add_option("--tlb-shrink", q.tlb_shrink,
                  "TLBs of 1/N (default: as --shrink; pages stay as large as they are)")
      ->check(CLI::Range(1, 4096).description(""))
      ->type_name("N");
  sub->add_option("--policy", q.policy,
                  "smalloc (default) or paper: move to the dominant node, without further tests")
      ->check(CLI::IsMember({"smalloc", "paper"}).description(""))
      ->type_name("NAME");
  sub->add_option("--intervals", q.intervals, "Pieces that the trace is cut into (default 30)")
      ->check(CLI::Range(1, 10000).description(""))
      ->type_name("N");
  sub->add_option("--sample", q.sample, "Every N-th transaction or miss is a sample (default 16)")
      ->check(CLI::Range(1, 1 << 20).description(""))
      ->type_name("N");
  sub->add_option("--content", q.content,
                  "Translations between two samples of a TLB's content (default 1024)")
      ->check(CLI::Range(1, 1 << 24).description(""))
      ->type_name("N");
  sub->add_option("--freeze", q.freeze, "Intervals that a moved page stays, 0 to 3 (default 3)")
      ->check(CLI::Range(0, 3).description(""))
      ->type_name("N");
  sub->add_option("--horizon", q.horizon,
                  "Most intervals that a move may take to pay off (default 10)")
      ->check(CLI::Range(1, 10000).description(""))
      ->type_name("N");
  sub->add_option("--move-ns", q.move_ns, "What moving a base page costs (default: the machine's)")
      ->check(CLI::Range(0.0, 1e9).description(""))
      ->type_name("NS");
  sub->add_option("--bind", q.bind,
                  "compact (default): neighbouring threads share a node; or scatter")
      ->check(CLI::IsMember({"compact", "scatter"}).description(""))
      ->type_name("HOW");
  add_output_options(*sub, options->output);
}

void declare_live(CLI::App *sub, const std::shared_ptr<NumaOptions> &options) {
  NumaRunOptions &live = options->live;
  sub->add_option("-o,--output", live.log,
                  "The log (default smalloc.numa.%p.log; %p process, %h host, %r MPI rank)")
      ->type_name("FILE");
  sub->add_option("--interval", live.interval_seconds,
                  "Seconds between two rounds of moves (default 5)")
      ->check(CLI::Range(0.1, 50.0).description(""))
      ->type_name("S");
  sub->add_option("--conf", live.conf, "Further settings of libsmalloc, as in SMALLOC_CONF")
      ->type_name("KEY:VALUE,...");
  sub->add_flag("-q,--quiet", options->output.quiet, "No notes on standard error");
  sub->callback([options] {
    options->run = [](const NumaOptions &o) -> int {
      set_quiet(o.output.quiet);
      numa_run(o.live);
    };
  });
}

void declare_top(CLI::App *top, const std::shared_ptr<NumaOptions> &options) {
  top->add_option("PID", options->top.pid, "The process")
      ->required()
      ->check(CLI::Range(1L, 1L << 30).description(""))
      ->type_name("");
  top->add_option("--every", options->top.every_seconds, "Seconds between two samples (default 1)")
      ->check(CLI::Range(0.05, 3600.0).description(""))
      ->type_name("S");
  top->add_option("--mappings", options->top.mappings, "Largest mappings shown (default 10)")
      ->check(CLI::Range(0, 10000).description(""))
      ->type_name("N");
  top->add_flag("--once", options->top.once, "Look once; so do --json and -o");
  add_output_options(*top, options->output);
  top->callback(
      [options] { options->run = [](const NumaOptions &o) { return numa_top(o.top, o.output); }; });
}

void declare_recording(CLI::App *record, const std::shared_ptr<NumaOptions> &options) {
  declare_live(record, options);
  record
      ->add_option("--source", options->live.source,
                   "Source of the access counts: auto (default: the best that there is), pmu, "
                   "clock, faults or instrumented")
      ->check(CLI::IsMember({"auto", "pmu", "clock", "faults", "instrumented"}).description(""))
      ->type_name("NAME");
}

std::function<int()> declare_numa(CLI::App &app) {
  auto options = std::make_shared<NumaOptions>();
  CLI::App *topology = app.add_subcommand(
      "topology", "This machine's nodes, processors, memory and latencies, or a described one's");
  topology->add_option("FILE", options->file, "A description, smalloc.topology/1")->type_name("");
  add_output_options(*topology, options->output);
  topology->callback([options] { options->run = show_topology; });
  CLI::App *play = app.add_subcommand(
      "simulate", "Play a trace on a machine of several nodes: what would migration save, with "
                  "which source of counts?");
  declare_simulation(play, options);
  play->callback([options] { options->run = run_simulation; });
  CLI::App *report = app.add_subcommand(
      "report", "The same as one HTML page: map of pages by node over time, without and with "
                "migration, moves by node, remote share; -o FILE is needed");
  report
      ->add_option(
          "--source", options->simulation.source,
          "Source of counts shown: interconnect, cache-misses (default), tlb-misses, tlb-content, "
          "atc or perfect")
      ->check(CLI::IsMember(
                  {"interconnect", "cache-misses", "tlb-misses", "tlb-content", "atc", "perfect"})
                  .description(""))
      ->type_name("NAME");
  declare_simulation(report, options);
  report->callback([options] { options->run = write_report; });
  CLI::App *top = app.add_subcommand(
      "top", "Where a running process' memory lies, node by node, until it ends");
  declare_top(top, options);
  CLI::App *record = app.add_subcommand(
      "record", "Run a command with page migration and write down every move; returns its status");
  declare_recording(record, options);
  CLI::App *replay = app.add_subcommand(
      "replay", "Run a command and make the moves of a log again, without counting");
  replay->add_option("LOG", options->live.from, "What `smalloc numa record` wrote")
      ->required()
      ->type_name("");
  replay->add_flag("--static", options->live.place,
                   "Put each page where the log left it, as soon as the program touches it");
  declare_live(replay, options);
  app.require_subcommand(1);
  return [options] { return options->run(*options); };
}

const Part kParts[] = {
    {"topology",
     {{"smalloc numa topology", "nodes, processors, memory, latencies"},
      {"HWLOC_SYNTHETIC='numa:4 core:2 pu:1' smalloc numa topology --json -o machine.json",
       "the description of another machine, for --topology"}}},
    {"simulate",
     {{"smalloc numa simulate mg.trace --machine sun-fire-6800 --shrink 64",
       "non-local accesses with and without migration, six sources of counts"},
      {"smalloc numa simulate mg.trace --policy paper --json -o mg.json",
       "what the published policy would do on a server of four nodes"}}},
    {"report",
     {{"smalloc numa report mg.trace --machine sun-fire-6800 --shrink 64 -o mg.html",
       "where each page lies, interval by interval; open it in a browser"},
      {"smalloc numa report mg.trace --source perfect -o perfect.html",
       "the same if the accesses to come were known"}}},
    {"top",
     {{"smalloc numa top 4711", "the memory of process 4711 by node, until it ends"},
      {"smalloc numa top 4711 --json", "one look, for a script"}}},
    {"record",
     {{"smalloc numa record -- ./app input.dat",
       "pages move to the node that uses them; every move is in smalloc.numa.PID.log"},
      {"smalloc numa record --interval 1 -o app.log -- ./app",
       "once a second, written to app.log"}},
     true},
    {"replay",
     {{"smalloc numa replay app.log -- ./app", "the moves of that run again, interval by interval"},
      {"smalloc numa replay --static app.log -- ./app",
       "each page at once where it ended up in that run"}},
     true},
};

} // namespace

const Verb kNumaVerb = {
    "numa",
    "where the pages of a program should lie on a machine of several nodes",
    "Shows the machine's nodes, and simulates page migration on a recorded trace: which source of "
    "counts finds the right node, what it saves and what it costs, for base pages and superpages.",
    {{"smalloc numa topology", "nodes, processors, memory, latencies"},
     {"smalloc numa simulate mg.trace --machine sun-fire-6800 --shrink 64",
      "non-local accesses with and without migration, six sources of counts"}},
    declare_numa,
    kParts};

} // namespace smalloc::cli
