// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// fail_if.h implements `--fail-if 'KEY OP VALUE'`, a threshold for a number of the --json document.
// KEY is a dotted path into the document, OP one of > >= < <= == !=, VALUE a number. For an array,
// a part of the path is an index, the "name" of an element, or *. With *, the threshold is crossed
// if any element crosses it. null means unknown and never crosses.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace smalloc::cli {

struct FailIf {
  std::string text; // as the user typed it
  std::vector<std::string> path;
  std::string op;
  double value = 0;
};

// Parses `text`. Throws Failure with kUsage if it is not KEY OP VALUE.
FailIf parse_fail_if(const std::string &text);

// True if `document` crosses the threshold; `found` then becomes "KEY is NUMBER". Throws Failure
// with kUsage if the path leads nowhere or to no number. So a misspelt key in a CI script cannot
// pass for ever.
bool crosses(const FailIf &threshold, const nlohmann::ordered_json &document, std::string &found);

// Checks the threshold against a document without results: its first key must be in `outline`.
// Verbs that run for minutes call this first. Throws like crosses().
void check_key(const FailIf &threshold, const nlohmann::ordered_json &outline);

} // namespace smalloc::cli
