// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// fail_if.cpp parses a threshold and finds its key in a document.
#include "runtime/cli/fail_if.h"

#include "runtime/errors/diagnostics.h"

#include <charconv>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace smalloc::cli {
namespace {

using Json = nlohmann::ordered_json;

[[noreturn]] void reject(const std::string &text, std::string why) {
  throw Failure{"cannot use threshold", text, std::move(why),
                "--fail-if 'KEY > 1', with a key of what --json prints", kUsage};
}

std::string trim(const std::string &text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string::npos)
    return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

bool compare(double left, const std::string &op, double right) {
  if (op == ">")
    return left > right;
  if (op == ">=")
    return left >= right;
  if (op == "<")
    return left < right;
  if (op == "<=")
    return left <= right;
  if (op == "==")
    return left == right;
  return left != right;
}

std::string keys_of(const Json &value) {
  std::string keys;
  if (value.is_object())
    for (const auto &item : value.items())
      keys += (keys.empty() ? "" : ", ") + item.key();
  return keys;
}

[[noreturn]] void reject_key(const std::string &text, const std::string &key, const Json &in) {
  reject(text, fmt::format("there is no key '{}'; the keys are: {}", key, keys_of(in)));
}

class Lookup {
public:
  Lookup(const FailIf &threshold, std::string &found) : threshold_(threshold), found_(found) {}

  bool walk(const Json &value, size_t part, const std::string &name) {
    const auto &path = threshold_.path;
    if (part == path.size())
      return test(value, name);
    const std::string &key = path[part];
    const std::string next = name.empty() ? key : name + "." + key;
    if (value.is_object()) {
      const auto it = value.find(key);
      if (it == value.end())
        reject_key(threshold_.text, next, value);
      return walk(*it, part + 1, next);
    }
    if (value.is_array()) {
      if (key == "*") {
        for (size_t i = 0; i < value.size(); i++)
          if (walk(value[i], part + 1, fmt::format("{}.{}", name, i)))
            return true;
        return false;
      }
      size_t index = 0;
      const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), index);
      if (error == std::errc() && end == key.data() + key.size()) {
        if (index >= value.size())
          reject(threshold_.text, fmt::format("'{}' has {} elements", name, value.size()));
        return walk(value[index], part + 1, next);
      }
      for (const Json &element : value)
        if (element.is_object() && element.contains("name") && element["name"] == key)
          return walk(element, part + 1, next);
      reject(threshold_.text, fmt::format("'{}' has no element '{}'", name, key));
    }
    if (value.is_null())
      return false;
    reject(threshold_.text, fmt::format("'{}' has no key '{}' below it", name, key));
  }

private:
  bool test(const Json &value, const std::string &name) {
    if (value.is_null())
      return false;
    // A measured number is an object: {value, low, high, source}.
    if (value.is_object() && value.contains("value"))
      return test(value["value"], name);
    if (!value.is_number())
      reject(threshold_.text,
             value.is_object()
                 ? fmt::format("'{}' is not a number; below it are: {}", name, keys_of(value))
                 : fmt::format("'{}' is not a number", name));
    const double number = value.get<double>();
    if (!compare(number, threshold_.op, threshold_.value))
      return false;
    found_ = fmt::format("{} is {}", name, value.dump());
    return true;
  }

  const FailIf &threshold_;
  std::string &found_;
};

} // namespace

FailIf parse_fail_if(const std::string &text) {
  const auto start = text.find_first_of("<>=!");
  if (start == std::string::npos)
    reject(text, "it has no comparison (> >= < <= == !=)");
  const size_t length = start + 1 < text.size() && text[start + 1] == '=' ? 2 : 1;
  FailIf result{text, {}, text.substr(start, length), 0};
  if (result.op == "=" || result.op == "!")
    reject(text, fmt::format("'{}' is no comparison; meant is '{}='", result.op, result.op));
  const std::string key = trim(text.substr(0, start)), number = trim(text.substr(start + length));
  for (size_t from = 0; from <= key.size();) {
    const size_t dot = std::min(key.find('.', from), key.size());
    if (dot == from)
      reject(text, "its key is empty or has an empty part");
    result.path.push_back(key.substr(from, dot - from));
    from = dot + 1;
  }
  const auto [end, error] =
      std::from_chars(number.data(), number.data() + number.size(), result.value);
  if (number.empty() || error != std::errc() || end != number.data() + number.size() ||
      !std::isfinite(result.value))
    reject(text, fmt::format("'{}' is not a number", number));
  return result;
}

bool crosses(const FailIf &threshold, const Json &document, std::string &found) {
  return Lookup(threshold, found).walk(document, 0, "");
}

void check_key(const FailIf &threshold, const Json &outline) {
  if (!outline.contains(threshold.path.front()))
    reject_key(threshold.text, threshold.path.front(), outline);
}

} // namespace smalloc::cli
