// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// event_names.h decides which of a processor's events stands for a quantity. libpfm4 turns names into
// codes; processors that came after it use the table of the one whose events they kept.
#pragma once

#include "runtime/pmu/perf_source.h"

namespace smalloc::pmu {

// `table`: one of libpfm4's ("skl", "spr", "amd64_fam19h_zen4"); empty: this processor's.
std::optional<EventCode> find_event(Quantity quantity, const std::string &table = {});

// An event by its name; tables as above. Nothing where it is not in them.
std::optional<EventCode> encode_event(const std::string &name, const std::string &table = {});

// The table that serves a preset of smalloc/machine.h whose own libpfm4 may lack; "" for none.
std::string table_of_machine(const std::string &preset);

} // namespace smalloc::pmu
