// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// machine_json.cpp parses machine files and refuses values that are not sane.
#include "runtime/format/machine_json.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace smalloc::format {
namespace {

using Json = nlohmann::ordered_json;

// Limits, larger than any TLB and any cost: they catch a wrong unit or a hostile file.
constexpr size_t kMostWalks = 256;
constexpr double kMaxEntries = 1 << 24, kMaxCycles = 1e9, kMaxAny = 1e18;
constexpr const char *kSources[] = {"measured", "preset", "cpuid", "unknown"};

[[noreturn]] void reject(const std::string &why) { throw MachineFormatError(why); }

// One value of the document, with the path to it for errors.
class Node {
public:
  Node(const Json *value, std::string path) : value_(value), path_(std::move(path)) {}

  // True if the key has a value. An absent key and null are the same: unknown.
  bool present() const { return value_ && !value_->is_null(); }
  const std::string &path() const { return path_; }

  const Json &need() const {
    if (!present())
      reject(fmt::format("key '{}' is missing", path_));
    return *value_;
  }

  Node key(const char *name) const {
    const std::string path = path_.empty() ? name : path_ + "." + name;
    if (!present())
      return {nullptr, path};
    if (!value_->is_object())
      reject(fmt::format("key '{}' is not an object", path_));
    const auto it = value_->find(name);
    return {it == value_->end() ? nullptr : &*it, path};
  }

  std::vector<Node> elements() const {
    std::vector<Node> nodes;
    if (!present())
      return nodes;
    if (!value_->is_array())
      reject(fmt::format("key '{}' is not an array", path_));
    for (size_t i = 0; i < value_->size(); i++)
      nodes.emplace_back(&(*value_)[i], fmt::format("{}[{}]", path_, i));
    return nodes;
  }

  std::string text() const {
    if (!need().is_string())
      reject(fmt::format("key '{}' is not a string", path_));
    return value_->get<std::string>();
  }

  bool boolean() const {
    if (!need().is_boolean())
      reject(fmt::format("key '{}' is neither true nor false", path_));
    return value_->get<bool>();
  }

  double real(double low, double high) const {
    if (!need().is_number())
      reject(fmt::format("key '{}' is not a number", path_));
    const double number = value_->get<double>();
    if (!(number >= low && number <= high))
      reject(fmt::format("key '{}' is {}, outside {} to {}", path_, value_->dump(), low, high));
    return number;
  }

  uint64_t integer(double low, double high) const {
    const double number = real(low, high);
    if (number != std::floor(number))
      reject(fmt::format("key '{}' is {}, not a whole number", path_, value_->dump()));
    return static_cast<uint64_t>(number);
  }

  uint64_t page_size(double low = 1024, double high = std::exp2(40)) const {
    const uint64_t bytes = integer(low, high);
    if (bytes & (bytes - 1))
      reject(fmt::format("key '{}' is {}, not a power of two", path_, bytes));
    return bytes;
  }

  Number number(double high) const {
    Number result;
    if (!present())
      return result;
    if (value_->is_number()) {
      result.value = real(0, high);
      return result;
    }
    if (!value_->is_object())
      reject(fmt::format("key '{}' is neither a number nor {{value,low,high,source}}", path_));
    const auto part = [&](const char *name) -> std::optional<double> {
      const Node node = key(name);
      return node.present() ? std::optional(node.real(0, high)) : std::nullopt;
    };
    result.value = part("value");
    result.low = part("low");
    result.high = part("high");
    if (result.low && result.high && *result.low > *result.high)
      reject(fmt::format("key '{}' has low above high", path_));
    const Node source = key("source");
    if (source.present()) {
      result.source = source.text();
      if (std::find(std::begin(kSources), std::end(kSources), result.source) == std::end(kSources))
        reject(fmt::format("key '{}' is '{}', not measured, preset, cpuid or unknown",
                           source.path(), result.source));
    }
    return result;
  }

  Number needed_number(double high) const {
    need();
    Number result = number(high);
    if (!result.value)
      reject(fmt::format("key '{}' is missing", path_ + ".value"));
    if (*result.value != std::floor(*result.value))
      reject(fmt::format("key '{}' is not a whole number", path_));
    return result;
  }

private:
  const Json *value_;
  std::string path_;
};

TlbLevel parse_level(const Node &node, unsigned place) {
  TlbLevel level;
  const Node number = node.key("level");
  level.level = number.present() ? static_cast<unsigned>(number.integer(1, 4)) : place;
  for (const Node &size : node.key("page_bytes").elements())
    level.page_bytes.push_back(size.page_size());
  if (level.page_bytes.empty())
    reject(fmt::format("key '{}.page_bytes' is missing", node.path()));
  level.entries = node.key("entries").needed_number(kMaxEntries);
  if (const Node ways = node.key("ways"); ways.present())
    level.ways = ways.number(kMaxEntries);
  if (level.ways.value && *level.ways.value != std::floor(*level.ways.value))
    reject(fmt::format("key '{}.ways' is not a whole number", node.path()));
  if (level.ways.value && *level.ways.value > *level.entries.value)
    reject(fmt::format("key '{}.ways' is more than its entries", node.path()));
  if (const Node index = node.key("index"); index.present())
    level.index = index.text();
  const Node shared = node.key("shared");
  level.shared = shared.present() && shared.boolean();
  return level;
}

std::vector<WalkCost> parse_walks(const Node &list) {
  std::vector<WalkCost> result;
  if (list.elements().size() > kMostWalks)
    reject(fmt::format("key '{}' has more than {} points", list.path(), kMostWalks));
  for (const Node &node : list.elements()) {
    WalkCost cost{node.key("page_bytes").page_size(), std::nullopt,
                  node.key("cycles").number(kMaxCycles)};
    if (const Node pages = node.key("pages"); pages.present())
      cost.pages = pages.integer(1, kMaxAny);
    result.push_back(cost);
  }
  return result;
}

std::vector<PerPage> parse_per_page(const Node &list) {
  std::vector<PerPage> result;
  for (const Node &node : list.elements())
    result.push_back({node.key("page_bytes").page_size(), node.key("value").number(kMaxAny)});
  return result;
}

// Returns "line 2, column 7" of a byte counted from 1.
std::string place_of(std::string_view text, size_t byte) {
  const std::string_view before = text.substr(0, byte ? byte - 1 : 0);
  const size_t line = 1 + static_cast<size_t>(std::count(before.begin(), before.end(), '\n'));
  const size_t start = before.rfind('\n') == before.npos ? 0 : before.rfind('\n') + 1;
  return fmt::format("line {}, column {}", line, before.size() - start + 1);
}

} // namespace

const TlbLevel *MachineProfile::last_level() const {
  const TlbLevel *last = nullptr;
  for (const TlbLevel &level : tlb)
    if (std::count(level.page_bytes.begin(), level.page_bytes.end(), base_page_bytes) &&
        (!last || level.level > last->level) && level.entries.value.value_or(0) > 0)
      last = &level;
  return last;
}

uint64_t MachineProfile::reach() const {
  if (reach_pages.value)
    return static_cast<uint64_t>(*reach_pages.value);
  const TlbLevel *last = last_level();
  return last ? static_cast<uint64_t>(*last->entries.value) : 0;
}

// Returns the JSON object in the text.
static Json parse_object(std::string_view text) {
  // The parser takes a 0 for the end, whatever follows it.
  if (const size_t zero = text.find('\0'); zero != text.npos)
    reject("it is not JSON: " + place_of(text, zero + 1));
  // Bounds the depth while parsing, because copying and printing a document recurse.
  bool too_deep = false;
  Json document;
  try {
    document = Json::parse(text, [&](int at, Json::parse_event_t, Json &) {
      too_deep |= at > 16;
      return !too_deep;
    });
  } catch (const Json::parse_error &error) {
    if (!too_deep)
      reject("it is not JSON: " + place_of(text, error.byte));
  } catch (const Json::out_of_range &) { // for example 1e999
    reject("it has a number that is too large");
  }
  if (too_deep)
    reject("it is nested too deeply");
  if (!document.is_object())
    reject("it is not a JSON object");
  return document;
}

static void parse_cpu(const Node &cpu, MachineProfile &p) {
  if (const Node n = cpu.key("vendor"); n.present())
    p.vendor = n.text();
  if (const Node n = cpu.key("family"); n.present())
    p.family = n.integer(0, 1 << 16);
  if (const Node n = cpu.key("model"); n.present())
    p.model = n.integer(0, 1 << 16);
  if (const Node n = cpu.key("midr"); n.present())
    p.midr = n.integer(0, 4294967295.0);
}

MachineProfile parse_machine(std::string_view text) {
  const Json document = parse_object(text);
  const Node root(&document, "");
  const std::string schema = root.key("schema").text();
  if (schema != kMachineSchema)
    reject(fmt::format("its schema is '{}', not '{}'", schema, kMachineSchema));
  MachineProfile p;
  p.name = root.key("name").text();
  if (p.name.empty() || p.name.size() > 64)
    reject("key 'name' must have 1 to 64 characters");
  if (std::any_of(p.name.begin(), p.name.end(), [](unsigned char c) { return c < 0x20; }))
    reject("key 'name' has control characters"); // it is printed in a line of each remark
  parse_cpu(root.key("cpu"), p);
  if (const Node n = root.key("hypervisor"); n.present())
    p.hypervisor = n.boolean();
  if (const Node n = root.key("frequency_hz"); n.present())
    p.frequency_hz = n.real(1, kMaxAny);
  if (const Node n = root.key("base_page_bytes"); n.present())
    p.base_page_bytes = n.page_size(4096, 1 << 20); // smaller than the 2 MiB it is compared with
  p.backing_page_bytes = root.key("backing_page_bytes").number(kMaxAny);
  root.key("tlb").need();
  for (const Node &node : root.key("tlb").elements()) {
    // Other kinds (instruction TLBs, page-walk caches) may be listed; they are not used.
    if (const Node kind = node.key("kind"); kind.present() && kind.text() != "data")
      continue;
    p.tlb.push_back(parse_level(node, static_cast<unsigned>(p.tlb.size() + 1)));
  }
  if (!p.last_level())
    reject(fmt::format("key 'tlb' has no data level with entries for pages of {} bytes",
                       p.base_page_bytes));
  p.reach_pages = root.key("reach_pages").number(kMaxEntries);
  if (p.reach_pages.value && *p.reach_pages.value < 1)
    reject("key 'reach_pages' is less than a page; leave it out where it was not measured");
  p.l2_hit_cycles = root.key("l2_hit_cycles").number(kMaxCycles);
  p.walk_cost = parse_walks(root.key("walk_cost"));
  p.overlapped_walk_cost = parse_walks(root.key("overlapped_walk_cost"));
  p.overlapped_near_walk_cost = parse_walks(root.key("overlapped_near_walk_cost"));
  p.first_touch_ns = parse_per_page(root.key("first_touch_ns"));
  p.read_first_ns = root.key("read_first_ns").number(kMaxAny);
  p.collapse_ns = root.key("collapse_ns").number(kMaxAny);
  p.bandwidth_bytes_per_second = parse_per_page(root.key("bandwidth_bytes_per_second"));
  const Node prefetch = root.key("prefetch");
  p.prefetch_max_stride_bytes = prefetch.key("max_stride_bytes").number(kMaxAny);
  if (const Node n = prefetch.key("crosses_page"); n.present())
    p.prefetch_crosses_page = n.boolean();
  for (const Node &node : root.key("disagreements").elements())
    p.disagreements.push_back(node.need().is_string() ? node.text() : node.need().dump());
  return p;
}

std::optional<MachineProfile> read_machine(std::string_view text, std::string &why) noexcept {
  try {
    return parse_machine(text);
  } catch (const std::exception &error) {
    why = error.what();
    return std::nullopt;
  }
}

} // namespace smalloc::format
