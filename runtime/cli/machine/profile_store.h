// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// profile_store.h decides where machine profiles come from and where the calibrated one is kept:
// $XDG_CONFIG_HOME/smalloc/machine.json, by default ~/.config/smalloc/machine.json. Nothing is ever
// half written: a new profile replaces the old one by a rename.
#pragma once

#include "runtime/format/machine_json.h"

#include <string>

namespace smalloc::cli {

// Throws Failure when neither XDG_CONFIG_HOME nor HOME is set.
std::string stored_profile_path();

// A preset's name, "native" or "" (this processor's preset), "stored", or a file. Throws Failure.
format::MachineProfile load_profile(const std::string &name);

// For what traces are priced with: reuse is counted in pages of 4 KiB, and the entries of a TLB for others would be held against the
// wrong number of them. Throws Failure.
format::MachineProfile load_profile_for_traces(const std::string &name);

// Makes the folder and tries to write there; throws Failure, before any time is spent measuring.
void check_profile_can_be_stored(const std::string &path);
void store_profile(const format::MachineProfile &profile, const std::string &path);

} // namespace smalloc::cli
