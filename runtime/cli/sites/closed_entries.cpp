// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// closed_entries.cpp identifies the linker by the .comment section and derives the remedy.
#include "runtime/cli/sites/closed_entries.h"

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>

namespace smalloc::cli {
namespace {

constexpr char kOption[] = "-Wl,-z,dynamic-undefined-weak";

// Returns mold's version: "mold 1.10.1 (compatible with GNU ld)" -> "1.10.1"; empty: another
// linker.
std::string version_of_mold(const ElfImage &image) {
  for (const ElfSection &section : image.sections) {
    if (section.name != ".comment")
      continue;
    const ByteSpan bytes = image.contents(section);
    const std::string_view text(reinterpret_cast<const char *>(bytes.data()), bytes.size());
    for (size_t at = 0; at < text.size();) {
      const std::string_view line = text.substr(at, text.find('\0', at) - at);
      if (line.starts_with("mold "))
        return std::string(line.substr(5, line.find(' ', 5) - 5));
      at += line.size() + 1;
    }
  }
  return {};
}

} // namespace

std::optional<ClosedEntries> closed_entries(const ElfImage &image, const std::vector<Site> &sites) {
  if (image.sections.empty() || !image.has_dynamic_table() || image.relocatable() ||
      std::none_of(sites.begin(), sites.end(), [](const Site &site) {
        return (site.record.flags & SMALLOC_SITE_REWRITTEN) != 0;
      }))
    return std::nullopt;
  // If the program defines the entries, it contains libsmalloc.a.
  if (!image.dynamic_symbols(fmt::format("__smalloc_v{}_", SMALLOC_ABI_VERSION)).empty())
    return std::nullopt;
  const std::string mold = version_of_mold(image);
  if (mold.empty())
    return ClosedEntries{
        "the linker resolved its references to libsmalloc to null: -z nodynamic-undefined-weak",
        fmt::format("link with {}", kOption)};
  unsigned major = 0, minor = 0;
  std::sscanf(mold.c_str(), "%u.%u", &major, &minor);
  const bool obeys = major > 2 || (major == 2 && minor >= 37);
  return ClosedEntries{
      fmt::format("the linker resolved its references to libsmalloc to null: mold {} does so in "
                  "executables",
                  mold),
      obeys ? fmt::format("link with {}", kOption)
            : "link with another linker (-fuse-ld=lld), with smalloc-cc, or with mold 2.37 or "
              "later and " +
                  std::string(kOption)};
}

} // namespace smalloc::cli
