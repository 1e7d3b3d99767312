// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// document_fields.h decides how a document that anybody may have written is read: what is missing, or of another kind, is
// nothing, and never an error.
#pragma once

#include <optional>
#include <string>

#include <nlohmann/json.hpp>

namespace smalloc::cli {

using Document = nlohmann::ordered_json;

inline const Document &field(const Document &object, const char *key) {
  static const Document nothing;
  if (!object.is_object())
    return nothing;
  const auto at = object.find(key);
  return at == object.end() ? nothing : *at;
}
inline std::string text_field(const Document &object, const char *key) {
  const Document &value = field(object, key);
  return value.is_string() ? value.get<std::string>() : std::string();
}
/// Beyond 10^18 is nothing, too: no count or size of ours is so large, and sums and percentages stay numbers.
inline std::optional<double> number_field(const Document &object, const char *key) {
  const Document &value = field(object, key);
  if (!value.is_number())
    return std::nullopt;
  const double number = value.get<double>();
  return number >= -1e18 && number <= 1e18 ? std::optional<double>(number) : std::nullopt;
}
inline bool flag_field(const Document &object, const char *key) {
  const Document &value = field(object, key);
  return value.is_boolean() && value.get<bool>();
}

} // namespace smalloc::cli
