// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// profile_store.h loads machine profiles and stores the calibrated one in
// $XDG_CONFIG_HOME/smalloc/machine.json, by default ~/.config/smalloc/machine.json. A new profile
// replaces the old one by a rename, so that no file is ever half written.
#pragma once

#include "runtime/format/machine_json.h"

#include <string>

namespace smalloc::cli {

// Returns the path of the stored profile. Throws Failure if neither XDG_CONFIG_HOME nor HOME is
// set.
std::string stored_profile_path();

// Loads a profile. `name`: a preset, "native" or "" (this processor's preset), "stored", or a file.
// Throws Failure.
format::MachineProfile load_profile(const std::string &name);

// Loads a profile for the cost model of traces. Throws Failure if its base page is not 4 KiB:
// traces count reuse in pages of 4 KiB, and a TLB's entries for other pages would not match that.
format::MachineProfile load_profile_for_traces(const std::string &name);

// Creates the folder and tries to write there. Throws Failure before any time is spent on
// measuring.
void check_profile_can_be_stored(const std::string &path);
void store_profile(const format::MachineProfile &profile, const std::string &path);

} // namespace smalloc::cli
