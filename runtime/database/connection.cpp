// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// connection.cpp recognises locations of PostgreSQL, and converts values of an unexpected type.
#include "runtime/database/connection.h"

#include <cstdlib>

namespace smalloc::database {

int64_t integer_of(const Value &value) {
  if (const auto *integer = std::get_if<int64_t>(&value))
    return *integer;
  if (const auto *real = std::get_if<double>(&value))
    return static_cast<int64_t>(*real);
  if (const auto *text = std::get_if<std::string>(&value))
    return std::strtoll(text->c_str(), nullptr, 10);
  return 0;
}

double real_of(const Value &value) {
  if (const auto *real = std::get_if<double>(&value))
    return *real;
  if (const auto *text = std::get_if<std::string>(&value))
    return std::strtod(text->c_str(), nullptr);
  return static_cast<double>(integer_of(value));
}

std::string text_of(const Value &value) {
  if (const auto *text = std::get_if<std::string>(&value))
    return *text;
  if (const auto *integer = std::get_if<int64_t>(&value))
    return std::to_string(*integer);
  if (const auto *real = std::get_if<double>(&value))
    return std::to_string(*real);
  return {};
}

bool is_postgresql(const std::string &location) {
  return location.starts_with("postgresql://") || location.starts_with("postgres://");
}

} // namespace smalloc::database
