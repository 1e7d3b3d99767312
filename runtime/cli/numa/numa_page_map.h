// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// numa_page_map.h writes the page of `smalloc numa report`, after Tikir and Hollingsworth's figures
// 4 and 5. It shows a pixel per page, coloured by the page's node, for each interval, without and
// with migration.
#pragma once

#include "runtime/numa/simulator.h"

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace smalloc::cli {

class NumaPageMap {
public:
  explicit NumaPageMap(std::string source) : source_(std::move(source)) {}
  // Records the node of each page at the end of an interval.
  void take(const numa::Simulator &simulator);
  // Returns one self-contained HTML page. `document`: the document of the simulation; `result`: its
  // source.
  std::string page(const nlohmann::ordered_json &document,
                   const numa::SimulationResult &result) const;

private:
  std::string source_;
  size_t scheme_ = 0;
  std::vector<uint64_t> units_;
  // [interval]: unit addresses, and 512 letters per unit for each scheme: '.' untouched, 'A' node
  // 0, ...
  struct Frame {
    std::vector<uint64_t> units;
    std::string without, with;
  };
  std::vector<Frame> frames_;
};

} // namespace smalloc::cli
