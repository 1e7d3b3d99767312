// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// document_fields.h reads fields of a document from any source. A field that is missing or of
// another type is empty, never an error.
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
/// Returns the number if it is within +-10^18. Larger ones are empty: no count or size of smalloc
/// is that large, and sums and percentages stay finite.
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
