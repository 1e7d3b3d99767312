// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// system_view.cpp parses the kernel's small text files. A file of another form counts as absent.
#include "runtime/cli/system_view.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <unistd.h>

namespace smalloc::cli {

std::optional<std::string> SystemView::read(const std::string &path) const {
  std::ifstream file(root_ + path);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf()))
    return std::nullopt;
  std::string result = text.str();
  while (!result.empty() && result.back() == '\n')
    result.pop_back();
  return result;
}

std::optional<uint64_t> SystemView::read_number(const std::string &path) const {
  const auto text = read(path);
  if (!text)
    return std::nullopt;
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
  return error == std::errc() && end != text->data() ? std::optional(number) : std::nullopt;
}

std::optional<std::string> SystemView::read_choice(const std::string &path) const {
  const auto text = read(path);
  if (!text)
    return std::nullopt;
  const size_t open = text->find('['), close = text->find(']');
  if (open == std::string::npos || close == std::string::npos || close < open)
    return std::nullopt;
  return text->substr(open + 1, close - open - 1);
}

std::vector<std::string> SystemView::list(const std::string &path) const {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto &entry : std::filesystem::directory_iterator(root_ + path, error))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

bool SystemView::exists(const std::string &path) const {
  std::error_code error;
  return std::filesystem::exists(root_ + path, error);
}

uint64_t base_page_bytes(const SystemView &system) {
  if (system.real())
    return static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const std::string maps = system.read("/proc/self/smaps").value_or("");
  const std::string key = "KernelPageSize:";
  const size_t at = maps.find(key);
  const uint64_t kib =
      at == std::string::npos ? 0 : std::strtoull(maps.c_str() + at + key.size(), nullptr, 10);
  return std::has_single_bit(kib) && kib <= 1024 ? kib << 10 : 4096;
}

uint64_t superpage_bytes(const SystemView &system) {
  const std::string folder = "/sys/kernel/mm/transparent_hugepage";
  const uint64_t bytes = system.read_number(folder + "/hpage_pmd_size").value_or(0);
  return std::has_single_bit(bytes) ? bytes : 0;
}

std::string thp_mode(const SystemView &system) {
  return system.read_choice("/sys/kernel/mm/transparent_hugepage/enabled").value_or("absent");
}

std::vector<HugetlbPool> hugetlb_pools(const SystemView &system) {
  const std::string folder = "/sys/kernel/mm/hugepages";
  std::vector<HugetlbPool> pools;
  for (const std::string &name : system.list(folder)) {
    uint64_t kib = 0;
    constexpr std::string_view prefix = "hugepages-";
    if (!name.starts_with(prefix) ||
        std::from_chars(name.data() + prefix.size(), name.data() + name.size(), kib).ec !=
            std::errc())
      continue;
    const std::string base = folder + "/" + name + "/";
    pools.push_back({kib * 1024, system.read_number(base + "nr_hugepages").value_or(0),
                     system.read_number(base + "free_hugepages").value_or(0),
                     system.read_number(base + "resv_hugepages").value_or(0),
                     system.read_number(base + "nr_overcommit_hugepages").value_or(0)});
  }
  std::sort(pools.begin(), pools.end(),
            [](const HugetlbPool &a, const HugetlbPool &b) { return a.page_bytes < b.page_bytes; });
  return pools;
}

} // namespace smalloc::cli
