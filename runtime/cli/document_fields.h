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
inline std::optional<double> number_field(const Document &object, const char *key) {
  const Document &value = field(object, key);
  return value.is_number() ? std::optional<double>(value.get<double>()) : std::nullopt;
}
inline bool flag_field(const Document &object, const char *key) {
  const Document &value = field(object, key);
  return value.is_boolean() && value.get<bool>();
}

} // namespace smalloc::cli
