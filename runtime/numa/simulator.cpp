// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// simulator.cpp sends each access through the TLB and the caches, passes samples to each source of
// counts, and prices each interval under every scheme.
#include "runtime/numa/simulator.h"

#include <algorithm>
#include <array>

namespace smalloc::numa {

const char *source_name(Source source) {
  static const char *const names[] = {"interconnect", "cache-misses", "tlb-misses",
                                      "tlb-content",  "atc",          "perfect"};
  return names[static_cast<unsigned>(source)];
}

struct Simulator::Processor {
  Processor(const MachineModel &m, uint8_t on_node)
      : l1(static_cast<unsigned>(m.l1.bytes / m.l1.line_bytes), m.l1.ways),
        l2(static_cast<unsigned>(m.l2.bytes / m.l2.line_bytes), m.l2.ways),
        tlb(m.tlb.entries, m.tlb.ways),
        superpage_tlb(m.superpage_tlb.entries, m.superpage_tlb.ways), node(on_node) {}
  SetAssociative l1, l2, tlb, superpage_tlb;
  uint8_t node;
  uint64_t misses = 0, tlb_misses = 0, translations = 0; ///< since the last sample
};

/// State of 2 MiB that all schemes share: the transactions of this interval, the node of the first
/// access, the last writers.
struct Simulator::SimUnit {
  explicit SimUnit(unsigned nodes, unsigned lines)
      : transactions(kPagesPerUnit * nodes), line_version(lines), line_writer(lines, 0xffff) {
    first.fill(kNoNode);
  }
  uint64_t address = 0;
  std::vector<uint32_t> transactions; ///< [page][node], this interval
  std::array<uint8_t, kPagesPerUnit> first;
  uint8_t first_of_unit = kNoNode;
  std::vector<uint32_t> line_version; ///< incremented when another processor writes
  std::vector<uint16_t> line_writer;
  uint64_t tlb_misses = 0, superpage_tlb_misses = 0; ///< this interval
  bool active = false;
};

struct Simulator::Run {
  Run(const MachineModel &m, const Scheme &s, const PolicyOptions &policy_options)
      : scheme(s), policy(m.topology, policy_options) {}
  Scheme scheme;
  MigrationPolicy policy;
  std::vector<std::unique_ptr<Unit>> units; ///< parallel to Simulator::units_
  std::vector<Unit *> pointers;
};

Simulator::Simulator(const MachineModel &machine, const SimulatorOptions &options)
    : machine_(machine), options_(options) {
  PolicyOptions policy = options.policy;
  policy.move_page_ns = machine.move_page_ns;
  policy.move_superpage_ns = machine.move_superpage_ns;
  auto add = [&](bool migrates, Source source, Mapping mapping, PolicyOptions p) {
    Scheme s;
    s.migrates = migrates;
    s.source = source;
    s.mapping = mapping;
    if (source == Source::kPerfect) { // every transaction of the next interval, none of the past
      p.sample_period = 1;
      p.keep256 = 0;
    } else {
      p.sample_period = options.sample_period;
    }
    runs_.push_back(std::make_unique<Run>(machine_, s, p));
  };
  add(false, Source::kPerfect, Mapping::kBasePages, policy);
  for (unsigned i = 0; i < kSources; i++)
    add(true, static_cast<Source>(i), Mapping::kBasePages, policy);
  PolicyOptions whole = PolicyOptions::paper();
  add(false, Source::kPerfect, Mapping::kSuperpages, policy);
  add(true, Source::kCacheMisses, Mapping::kSuperpages, whole);
  add(true, Source::kCacheMisses, Mapping::kSuperpages, policy);
}

Simulator::~Simulator() = default;

/// Returns the node of a thread. Neighbours share a node, or threads go round robin (scatter);
/// memory-only nodes run none.
uint8_t Simulator::node_of_thread(unsigned thread) const {
  std::vector<uint8_t> seats; // a node for each processor
  for (unsigned n = 0; n < machine_.topology.nodes; n++)
    seats.insert(seats.end(), machine_.topology.node[n].cpus, static_cast<uint8_t>(n));
  if (options_.scatter) {
    std::vector<std::pair<unsigned, uint8_t>> order;
    for (size_t i = 0, in_node = 0; i < seats.size(); i++) {
      in_node = i && seats[i] == seats[i - 1] ? in_node + 1 : 0;
      order.emplace_back(static_cast<unsigned>(in_node), seats[i]);
    }
    std::sort(order.begin(), order.end());
    for (size_t i = 0; i < seats.size(); i++)
      seats[i] = order[i].second;
  }
  return seats.empty() ? 0 : seats[thread % seats.size()];
}

Simulator::SimUnit &Simulator::unit(uint64_t address) {
  uint64_t key = address / kSuperpageBytes;
  if (key == last_unit_key_)
    return *units_[last_unit_];
  auto [it, fresh] = unit_index_.try_emplace(key, units_.size());
  if (fresh) {
    units_.push_back(std::make_unique<SimUnit>(
        machine_.topology.nodes, static_cast<unsigned>(kSuperpageBytes / machine_.l2.line_bytes)));
    units_.back()->address = key * kSuperpageBytes;
    for (auto &run : runs_) {
      run->units.push_back(std::make_unique<Unit>());
      Unit &u = *run->units.back();
      u.address = key * kSuperpageBytes;
      if (run->scheme.mapping == Mapping::kSuperpages)
        u.granularity = Granularity::kSuperpage;
      run->pointers.push_back(&u);
    }
  }
  last_unit_key_ = key;
  last_unit_ = it->second;
  return *units_[last_unit_];
}

void Simulator::sample(Source source, size_t unit, unsigned page, uint8_t node) {
  for (auto &run : runs_)
    if (run->scheme.migrates && run->scheme.source == source)
      MigrationPolicy::sample(*run->units[unit], page, node);
}

/// Samples the TLB for kTlbContent and kAtc: which translations it holds, and how often each was
/// used since it came in. One look credits a page with its presence (content) or its uses (ATC, in
/// sample periods).
void Simulator::look_at_tlb(Processor &p) {
  for (SetAssociative::Entry &e : p.tlb.entries()) {
    if (!e.key)
      continue;
    uint64_t address = (e.key - 1) * kBasePageBytes;
    size_t index = unit_index_.at(address / kSuperpageBytes);
    unsigned page = (e.key - 1) % kPagesPerUnit;
    sample(Source::kTlbContent, index, page, p.node);
    for (unsigned i = 0; i < std::min(e.count / options_.sample_period, 64u); i++)
      sample(Source::kAtc, index, page, p.node);
    e.count = 0;
  }
}

bool Simulator::access(unsigned thread, uint64_t address, bool write, uint64_t repeats) {
  while (processors_.size() <= thread)
    processors_.push_back(std::make_unique<Processor>(
        machine_, node_of_thread(static_cast<unsigned>(processors_.size()))));
  Processor &p = *processors_[thread];
  SimUnit &u = unit(address);
  const unsigned page = (address / kBasePageBytes) % kPagesPerUnit;
  const auto accesses = static_cast<uint32_t>(std::min<uint64_t>(repeats + 1, UINT32_MAX));
  u.active = true;
  result_.accesses += accesses;
  if (u.first[page] == kNoNode) {
    u.first[page] = p.node;
    if (u.first_of_unit == kNoNode)
      u.first_of_unit = p.node;
    result_.pages++;
  }

  if (!p.tlb.touch(address / kBasePageBytes, 0, accesses)) {
    result_.tlb_misses++;
    u.tlb_misses++;
    if (++p.tlb_misses >= options_.sample_period) {
      p.tlb_misses = 0;
      sample(Source::kTlbMisses, last_unit_, page, p.node);
    }
  }
  if (!p.superpage_tlb.touch(address / kSuperpageBytes)) {
    result_.superpage_tlb_misses++;
    u.superpage_tlb_misses++;
  }
  p.translations += accesses;
  if (p.translations >= options_.content_period) {
    p.translations = 0;
    look_at_tlb(p);
  }

  const size_t line = address % kSuperpageBytes / machine_.l2.line_bytes;
  if (write && u.line_writer[line] != thread) {
    u.line_writer[line] = static_cast<uint16_t>(thread);
    u.line_version[line]++;
  }
  const uint32_t version = u.line_version[line];
  result_.hit_ns += machine_.l1.hit_ns * accesses;
  const bool in_l1 = p.l1.touch(address / machine_.l1.line_bytes, version);
  if (in_l1)
    return false;
  result_.hit_ns += machine_.l2.hit_ns;
  if (p.l2.touch(address / machine_.l2.line_bytes, version))
    return false;
  result_.transactions++;
  u.transactions[page * machine_.topology.nodes + p.node]++;
  if (++transactions_since_sample_ >= options_.sample_period) {
    transactions_since_sample_ = 0;
    sample(Source::kTransactions, last_unit_, page, p.node);
  }
  if (++p.misses >= options_.sample_period) {
    p.misses = 0;
    sample(Source::kCacheMisses, last_unit_, page, p.node);
  }
  return true;
}

void Simulator::place_new_pages(Run &run) {
  for (size_t i = 0; i < units_.size(); i++) {
    const SimUnit &u = *units_[i];
    if (!u.active)
      continue;
    const bool superpage = run.units[i]->granularity == Granularity::kSuperpage;
    for (unsigned p = 0; p < kPagesPerUnit; p++) {
      uint8_t first = superpage ? u.first_of_unit : u.first[p];
      if (first != kNoNode && run.units[i]->page[p].home() == kNoNode)
        MigrationPolicy::placed(*run.units[i], p, machine_.topology.nearest_memory(first));
    }
  }
}

void Simulator::feed_perfect(Run &run) {
  const unsigned nodes = machine_.topology.nodes;
  for (size_t i = 0; i < units_.size(); i++)
    if (units_[i]->active)
      for (unsigned p = 0; p < kPagesPerUnit; p++)
        for (unsigned n = 0; n < nodes; n++)
          for (uint32_t c = units_[i]->transactions[p * nodes + n]; c > 0; c--)
            MigrationPolicy::sample(*run.units[i], p, static_cast<uint8_t>(n));
}

void Simulator::migrate(Run &run) {
  if (result_.transactions) // as a counter of walks would report
    run.policy.set_superpage_saving(machine_.walk_ns *
                                    (static_cast<double>(result_.tlb_misses) -
                                     static_cast<double>(result_.superpage_tlb_misses)) /
                                    static_cast<double>(result_.transactions));
  plan_.resize(units_.size() * (kPagesPerUnit + 2));
  const size_t n =
      run.policy.plan(run.pointers.data(), run.pointers.size(), plan_.data(), plan_.size());
  Scheme &s = run.scheme;
  uint64_t moved = 0;
  std::vector<uint64_t> to(machine_.topology.nodes);
  for (size_t i = 0; i < n; i++) {
    const Move &m = plan_[i];
    run.policy.carried_out(m, true);
    switch (m.action) {
    case Action::kMovePage:
      s.moved_pages++;
      s.move_ns += machine_.move_page_ns;
      moved++;
      to[m.to]++;
      break;
    case Action::kMoveUnit:
    case Action::kInterleave:
      s.moved_superpages++;
      s.interleaved += m.action == Action::kInterleave;
      s.move_ns += machine_.move_superpage_ns;
      moved += kPagesPerUnit;
      to[m.to] += kPagesPerUnit;
      break;
    case Action::kSplit:
      s.splits++;
      s.move_ns += run.policy.options().split_ns;
      break;
    case Action::kCollapse:
      s.collapses++;
      s.move_ns += run.policy.options().collapse_ns;
      break;
    }
  }
  run.policy.next_interval(run.pointers.data(), run.pointers.size());
  s.moved_per_interval.push_back(moved);
  s.moved_to.push_back(to);
  s.trust = run.policy.trust();
}

void Simulator::account(Run &run) {
  const Topology &t = machine_.topology;
  Scheme &s = run.scheme;
  uint64_t local = 0, remote = 0, served[kMaxNodes] = {};
  for (size_t i = 0; i < units_.size(); i++) {
    SimUnit &u = *units_[i];
    if (!u.active)
      continue;
    const Unit &placed = *run.units[i];
    s.walk_ns +=
        machine_.walk_ns * static_cast<double>(placed.granularity == Granularity::kSuperpage
                                                   ? u.superpage_tlb_misses
                                                   : u.tlb_misses);
    for (unsigned p = 0; p < kPagesPerUnit; p++) {
      const uint8_t home = placed.page[p].home();
      for (unsigned n = 0; n < t.nodes; n++) {
        const uint32_t c = u.transactions[p * t.nodes + n];
        if (!c)
          continue;
        (n == home ? local : remote) += c;
        served[home] += c;
        s.memory_ns += c * t.latency(n, home);
      }
    }
  }
  s.local += local;
  s.remote += remote;
  const double all = static_cast<double>(local + remote);
  s.remote_share_per_interval.push_back(all > 0 ? static_cast<double>(remote) / all : 0);
  s.busiest_share +=
      all > 0 ? static_cast<double>(*std::max_element(served, served + t.nodes)) / all : 0;
}

void Simulator::end_interval() {
  for (auto &run : runs_) {
    // Perfect counts are those of the coming interval: moves come first, the accounting after them.
    const bool foresees = run->scheme.migrates && run->scheme.source == Source::kPerfect;
    if (foresees) {
      feed_perfect(*run);
      migrate(*run);
    }
    place_new_pages(*run);
    account(*run);
    if (run->scheme.migrates && !foresees)
      migrate(*run);
    std::vector<uint64_t> on(machine_.topology.nodes);
    for (const auto &u : run->units)
      for (const PageCounts &page : u->page)
        if (page.home() != kNoNode)
          on[page.home()]++;
    run->scheme.pages_on.push_back(on);
  }
  for (auto &u : units_) {
    if (!u->active)
      continue;
    std::fill(u->transactions.begin(), u->transactions.end(), 0u);
    u->tlb_misses = u->superpage_tlb_misses = 0;
    u->active = false;
  }
}

SimulationResult Simulator::finish() {
  end_interval();
  result_.threads = static_cast<unsigned>(processors_.size());
  result_.schemes.clear();
  for (auto &run : runs_) {
    Scheme s = run->scheme;
    s.busiest_share /= static_cast<double>(std::max<size_t>(s.remote_share_per_interval.size(), 1));
    result_.schemes.push_back(s);
  }
  return result_;
}

const Scheme &Simulator::scheme(size_t i) const { return runs_[i]->scheme; }

std::vector<uint64_t> Simulator::unit_addresses() const {
  std::vector<uint64_t> addresses;
  for (const auto &u : units_)
    addresses.push_back(u->address);
  std::sort(addresses.begin(), addresses.end());
  return addresses;
}

uint8_t Simulator::home(size_t scheme, uint64_t address) const {
  auto it = unit_index_.find(address / kSuperpageBytes);
  return it == unit_index_.end() ? kNoNode
                                 : runs_[scheme]
                                       ->units[it->second]
                                       ->page[address / kBasePageBytes % kPagesPerUnit]
                                       .home();
}

} // namespace smalloc::numa
