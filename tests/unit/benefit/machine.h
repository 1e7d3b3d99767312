// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// machine.h is the machine on which tests compute costs by hand: 64 entries for base pages, 16 for
// superpages, 10 cycles for a walk.
#pragma once

#include "runtime/format/machine_json.h"

namespace smalloc::benefit {

inline format::MachineProfile machine() {
  return format::parse_machine(
      R"({"schema": "smalloc.machine/1", "name": "m", "frequency_hz": 1e9,
          "tlb": [{"level": 1, "kind": "data", "page_bytes": [4096], "entries": 64, "ways": 0},
                  {"level": 1, "kind": "data", "page_bytes": [2097152], "entries": 16, "ways": 0}],
          "walk_cost": [{"page_bytes": 4096, "cycles": 10}],
          "first_touch_ns": [{"page_bytes": 4096, "value": 100},
                             {"page_bytes": 2097152, "value": 1000}]})");
}

} // namespace smalloc::benefit
