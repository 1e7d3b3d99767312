// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// numa_page_map.h decides what the report of `smalloc numa report` shows: after Tikir and
// Hollingsworth's figures 4 and 5, a pixel for each page, its colour the node that it lies on, interval by
// interval, without and with migration.
#pragma once

#include "runtime/numa/simulator.h"

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace smalloc::cli {

class NumaPageMap {
public:
  explicit NumaPageMap(std::string source) : source_(std::move(source)) {}
  // Keeps where each page lies at the end of an interval.
  void take(const numa::Simulator &simulator);
  // One self-contained HTML page. `document` is that of the simulation, result its source.
  std::string page(const nlohmann::ordered_json &document,
                   const numa::SimulationResult &result) const;

private:
  std::string source_;
  size_t scheme_ = 0;
  std::vector<uint64_t> units_;
  // [interval]: unit address and 512 letters a unit, for the two schemes: '.' not touched, 'a' node 0, ....
  struct Frame {
    std::vector<uint64_t> units;
    std::string without, with;
  };
  std::vector<Frame> frames_;
};

} // namespace smalloc::cli
