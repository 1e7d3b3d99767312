// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// numa_site_traffic.h assigns memory transactions to the allocation site of the object at the
// address, or to a file's static data. A page may hold objects of several sites; it lies on one
// node for all of them.
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
  // Sets the scheme that is compared with first touch.
  void compare_with(const numa::Simulator &simulator, size_t scheme);
  // Records allocations and frees, and the names of sites.
  void event(const trace::Event &event);
  // Records an access, by a processor of `node`, that missed its caches.
  void transaction(uint64_t address, uint8_t node);
  // Call interval_ends() before, and interval_ended() after, the simulator's end_interval(). Moves
  // at the end of an interval count for the next one, unless the scheme foresees it (source
  // perfect).
  void interval_ends(const numa::Simulator &simulator);
  void interval_ended(const numa::Simulator &simulator);

  // Returns the sites, most remote first. Empty: the trace has no objects.
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
  std::vector<Traffic> traffic_;                  // [0]: no known object; [1 + category] otherwise
  std::unordered_map<uint64_t, Counts> interval_; // by page and category
  // By page: the node of its first touch, until the simulator has one.
  std::unordered_map<uint64_t, uint8_t> first_node_;
  unsigned nodes_ = 0;
  size_t scheme_ = 0;
  bool foresees_ = false;
};

} // namespace smalloc::cli
