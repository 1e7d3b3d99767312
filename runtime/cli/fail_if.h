// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// fail_if.h decides what `--fail-if 'KEY OP VALUE'` means: KEY is a dotted path into the document
// that --json prints, OP one of > >= < <= == !=, VALUE a number. In an array a part of the path is
// an index, the "name" of an element, or * (crossed when any element crosses). null, which stands
// for unknown, never crosses.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace smalloc::cli {

struct FailIf {
  std::string text; // as the user wrote it
  std::vector<std::string> path;
  std::string op;
  double value = 0;
};

// Throws Failure with kUsage for anything that is not KEY OP VALUE.
FailIf parse_fail_if(const std::string &text);

// True when `document` crosses the threshold; `found` then says "KEY is NUMBER".
// Throws Failure with kUsage when the path leads nowhere or to something that is no number: a
// misspelt key in a CI script must not pass for ever.
bool crosses(const FailIf &threshold, const nlohmann::ordered_json &document, std::string &found);

// The same of what a document without results already tells: whether the key's first part is one of its keys. For verbs that work
// for minutes before they have the rest.
void check_key(const FailIf &threshold, const nlohmann::ordered_json &outline);

} // namespace smalloc::cli
