// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// doctor_program.cpp checks what in a program's file prevents superpages: no sites, no loader, no
// weak entry to switch on, or its own free(). A libsmalloc that is not early enough in the order of
// libraries to receive every free() also does.
#include "runtime/cli/doctor/doctor.h"
#include "runtime/cli/input_file.h"
#include "runtime/cli/installation.h"
#include "runtime/cli/sites/closed_entries.h"
#include "runtime/cli/sites/elf_sites.h"

#include <algorithm>

#include <fmt/format.h>

namespace smalloc::cli {
namespace {

void check_order(const std::string &path, const ElfImage &image, Checks &checks) {
  const auto libraries = image.needed_libraries();
  const auto position = [&](std::string_view prefix) {
    return std::find_if(libraries.begin(), libraries.end(),
                        [&](const std::string &name) { return name.starts_with(prefix); }) -
           libraries.begin();
  };
  const auto ours = position("libsmalloc");
  if (ours == static_cast<ptrdiff_t>(libraries.size())) {
    checks.push_back({"program-link", Verdict::kWarn, false,
                      "it is not linked with libsmalloc: superpages need a preload",
                      fmt::format("smalloc run -- {}", path)});
    return;
  }
  // free() is in libc, operator delete in the C++ library. The first library in this order receives
  // the pointers.
  for (const char *peer : {"libc.so", "libstdc++.so", "libc++.so"})
    if (const auto theirs = position(peer); theirs < ours) {
      checks.push_back({"program-link", Verdict::kFail, false,
                        fmt::format("{} comes before libsmalloc: its free would receive "
                                    "libsmalloc's pointers, so superpages stay off",
                                    libraries[static_cast<size_t>(theirs)]),
                        "put -Wl,--no-as-needed -lsmalloc before other libraries"});
      return;
    }
  checks.push_back({"program-link", Verdict::kOk, true,
                    "it is linked with libsmalloc, before the C library", ""});
}

bool defines(const ElfImage &image, std::string_view name) {
  const auto symbols = image.dynamic_symbols(name);
  return std::any_of(symbols.begin(), symbols.end(), [&](const DynamicSymbol &symbol) {
    return symbol.defined && symbol.name == name;
  });
}

// Checks whether the program defines free() or realloc(). The linker exports a function that a
// library uses, and the program's definition precedes those of all libraries.
void check_own_allocator(const ElfImage &image, Checks &checks) {
  if (defines(image, fmt::format("__smalloc_v{}_malloc", SMALLOC_ABI_VERSION)))
    return; // these are the functions of libsmalloc.a
  for (const char *name : {"free", "realloc"})
    if (defines(image, name)) {
      checks.push_back(
          {"program-allocator", Verdict::kFail, name,
           fmt::format("it defines {}() itself, which would receive pointers of libsmalloc, so "
                       "superpages stay off",
                       name),
           "# leave its own allocator out of the build"});
      return;
    }
  if (defines(image, "_ZdlPv"))
    checks.push_back({"program-allocator", Verdict::kWarn, "operator delete",
                      "it replaces operator delete, so what it makes with new gets no superpages",
                      ""});
}

} // namespace

void check_program(const std::string &path, Checks &checks) {
  const auto bytes = read_file(path, "cannot read the program", kProgramInput);
  const ElfImage image = parse_elf(bytes, path);
  if (image.interpreter().find("ld-musl") != std::string::npos) {
    checks.push_back({"program-libc", Verdict::kFail, "musl",
                      "it uses musl, which libsmalloc does not serve: it is built for glibc",
                      "build it for glibc (smalloc run starts it unchanged)"});
    return;
  }
  const auto sites = read_sites(image).sites;
  const size_t rewritten =
      static_cast<size_t>(std::count_if(sites.begin(), sites.end(), [](const Site &site) {
        return (site.record.flags & SMALLOC_SITE_REWRITTEN) != 0;
      }));
  if (sites.empty())
    checks.push_back(
        {"program-sites", Verdict::kWarn, 0,
         "it was not compiled with the plugin, or without optimisation, or with a sanitizer; or it "
         "allocates nothing",
         compile_hint("...")});
  else
    checks.push_back({"program-sites", Verdict::kOk, sites.size(),
                      fmt::format("{} allocation site{}, {} rewritten", sites.size(),
                                  sites.size() == 1 ? "" : "s", rewritten),
                      ""});
  if (image.relocatable())
    return; // the rest depends on the link
  if (!image.has_dynamic_table()) {
    checks.push_back(
        {"program-static", Verdict::kFail, true,
         "it is static: nothing can be preloaded; it has superpages only when it was linked "
         "with libsmalloc.a",
         "link with smalloc-cc -static, or without -static"});
    return;
  }
  check_order(path, image, checks);
  check_own_allocator(image, checks);
  if (rewritten == 0 || image.sections.empty())
    return;
  if (const auto closed = closed_entries(image, sites))
    checks.push_back({"program-entries", Verdict::kWarn, false, closed->why, closed->cure});
  else
    checks.push_back({"program-entries", Verdict::kOk, true,
                      "its rewritten calls can be switched on by libsmalloc", ""});
}

} // namespace smalloc::cli
