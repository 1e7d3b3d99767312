// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// numa_site_traffic.h decides whose memory transactions are: of the allocation site whose object lies at the address, or of a file's
// static data. A page may hold objects of several sites, and lies on one node for all of them.
#pragma once

#include "runtime/benefit/objects.h"
#include "runtime/numa/simulator.h"
#include "runtime/trace/reader.h"

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace smalloc::cli {

class NumaSiteTraffic {
public:
  // The scheme that is compared with first touch.
  void compare_with(const numa::Simulator &simulator, size_t scheme);
  // Objects come and go, sites have names.
  void event(const trace::Event &event);
  // An access of the trace, by a processor of this node, that has left its caches.
  void transaction(uint64_t address, uint8_t node);
  // Before and after the simulator's: what it moves at the end of an interval is for the next one, unless it foresees it.
  void interval_ends(const numa::Simulator &simulator);
  void interval_ended(const numa::Simulator &simulator);

  // Most remote first. Empty: the trace knows no objects.
  nlohmann::ordered_json document() const;

private:
  struct Traffic {
    std::vector<uint64_t> by_node;
    uint64_t remote = 0, remote_moved = 0;
  };
  using Counts = std::vector<uint32_t>; // by node
  uint64_t remote_of(const numa::Simulator &simulator, size_t scheme, uint64_t page,
                     const Counts &counts) const;

  benefit::Objects objects_{benefit::Grouping::kSite};
  std::map<std::pair<benefit::CategoryKind, uint64_t>, std::string> names_;
  std::vector<Traffic> traffic_;                  // by category; the last: nobody's
  std::unordered_map<uint64_t, Counts> interval_; // by page and category
  std::unordered_map<uint64_t, uint8_t>
      first_node_; // by page: where it lies until the simulator says so
  unsigned nodes_ = 0;
  size_t scheme_ = 0;
  bool foresees_ = false;
};

} // namespace smalloc::cli
