// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// event_names.h finds the processor's event for a quantity. libpfm4 turns names into codes. A
// processor newer than libpfm4 uses the table of an older one with the same events.
#pragma once

#include "runtime/pmu/perf_source.h"

namespace smalloc::pmu {

// Returns the event of a quantity. `table`: a table of libpfm4 ("skl", "spr", "amd64_fam19h_zen4");
// empty: this processor's.
std::optional<EventCode> find_event(Quantity quantity, const std::string &table = {});

// Returns the event of that name, or nothing if it is not in the table. `table`: as above.
std::optional<EventCode> encode_event(const std::string &name, const std::string &table = {});

// Returns the libpfm4 table for a preset of smalloc/machine.h, or "" if there is none. libpfm4 may
// lack the preset's own table.
std::string table_of_machine(const std::string &preset);

} // namespace smalloc::pmu
