// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// study_setup.cpp has the settings of the configurations and checks which are possible.
#include "runtime/cli/study/study_setup.h"

#include "runtime/cli/input_file.h"
#include "runtime/cli/installation.h"
#include "runtime/cli/process/settings_check.h"
#include "runtime/cli/sites/elf_sites.h"
#include "runtime/cli/system_view.h"
#include "runtime/errors/diagnostics.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

namespace smalloc::cli {
namespace {

const std::vector<StudySetup> kSetups = {
    {"base", "heap:superpage,pages:base", true, true},
    {"thp", "heap:superpage,pages:thp", true, false},
    {"auto", "heap:auto", true, false},
    {"hugetlb", "heap:superpage,pages:hugetlb", true, false},
    {"64k", "heap:superpage,pages:mthp", true, false},
    {"1g", "heap:superpage,pages:1g", true, false},
    {"static", "heap:superpage,pages:base,program:static", true, false},
    {"text", "heap:superpage,pages:base,program:text", true, false},
    {"stack", "heap:superpage,pages:base,program:stack", true, false},
    {"all", "heap:superpage,pages:thp,program:static+text+stack", true, false},
    {"program", "", false, false},
};

// Returns why this system has no such pages; empty: it has.
std::string obstacle(const std::string &name) {
  const SystemView system;
  if (name == "thp" || name == "auto" || name == "static" || name == "text" || name == "stack" ||
      name == "all") {
    const std::string mode = thp_mode(system);
    return mode == "never" || mode == "absent" ? "transparent huge pages: " + mode : std::string();
  }
  if (name == "64k") {
    const auto mode =
        system.read_choice("/sys/kernel/mm/transparent_hugepage/hugepages-64kB/enabled");
    return !mode              ? std::string("this kernel has no 64 KiB pages")
           : *mode == "never" ? std::string("hugepages-64kB/enabled is never")
                              : std::string();
  }
  if (name == "hugetlb" || name == "1g") {
    const uint64_t bytes = name == "1g" ? uint64_t{1} << 30 : uint64_t{2} << 20;
    for (const HugetlbPool &pool : hugetlb_pools(system))
      if (pool.page_bytes == bytes && pool.available() > 0)
        return {};
    return "the pool has no free page";
  }
  return {};
}

// Throws, before any run, for settings that libsmalloc would warn of in each run and replace by its
// default.
void check_settings(const std::string &text, const std::string &settings) {
  const std::string why = complaint_about(settings);
  if (why.empty())
    return;
  throw Failure{"cannot understand the command line", "--config " + text, why,
                "smalloc study --config 'mine=heap:auto,budget:64m' -- ./app", kUsage};
}

std::string cure(const std::string &name) {
  if (name == "hugetlb")
    return "sysctl -w vm.nr_hugepages=512";
  if (name == "1g")
    return "echo 4 > /sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages";
  if (name == "64k")
    return "echo madvise > /sys/kernel/mm/transparent_hugepage/hugepages-64kB/enabled";
  return "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled";
}

} // namespace

std::vector<StudySetup> study_setups(const std::vector<std::string> &wanted,
                                     const std::vector<std::string> &extra,
                                     std::vector<std::string> &skipped) {
  std::vector<StudySetup> result;
  const auto add = [&](StudySetup setup) {
    for (const StudySetup &other : result)
      if (other.name == setup.name)
        throw Failure{"cannot understand the command line", setup.name,
                      "the configuration is named twice", "smalloc study --help", kUsage};
    result.push_back(std::move(setup));
  };
  for (const std::string &name : wanted) {
    const auto found = std::find_if(kSetups.begin(), kSetups.end(),
                                    [&](const StudySetup &s) { return s.name == name; });
    if (found == kSetups.end()) {
      std::string names;
      for (const StudySetup &setup : kSetups)
        names += (names.empty() ? "" : ", ") + setup.name;
      throw Failure{"unknown pages", name, "they are " + names, "smalloc study --help", kUsage};
    }
    if (const std::string why = obstacle(name); !why.empty())
      throw Failure{"no such pages on this system", name, why, cure(name), kFailed};
    add(*found);
  }
  if (wanted.empty())
    for (const StudySetup &setup : kSetups)
      if (setup.with_library && setup.conf.find(":on") == std::string::npos) {
        if (const std::string why = obstacle(setup.name); !why.empty())
          skipped.push_back(fmt::format("{}: {}", setup.name, why));
        else
          add(setup);
      }
  for (const std::string &text : extra) {
    const size_t equals = text.find('=');
    if (equals == 0 || equals == std::string::npos)
      throw Failure{"cannot understand the command line", text, "it is not NAME=KEY:VALUE,...",
                    "smalloc study --config 'mine=heap:auto,budget:64m' -- ./app", kUsage};
    check_settings(text, text.substr(equals + 1));
    add({text.substr(0, equals), text.substr(equals + 1), true, false});
  }
  return result;
}

std::string study_library(const std::string &command) {
  if (const auto program = find_program(command)) {
    try {
      const auto bytes = read_file(*program, "cannot read the program", kProgramInput);
      if (looks_like_elf(bytes)) {
        const ElfImage image = parse_elf(bytes, *program);
        if (image.interpreter().empty())
          print_warning("no superpages for this program", *program,
                        "it is a static executable, which loads no library",
                        "link it without -static");
      }
    } catch (const Failure &) {
      // Not readable, or of another kind; the run will show it.
    }
  }
  const char *name = "libsmalloc.so";
  const auto path = find_library(name);
  if (!path || path->find_first_of(" :") != std::string::npos)
    throw Failure{"cannot preload the library", path.value_or(name),
                  path ? "LD_PRELOAD separates names by spaces and colons" : "it was not found",
                  path ? "install smalloc under a path without them"
                       : "build or install smalloc again: cmake --build build",
                  kFailed};
  return *path;
}

study::RunPlan study_plan(const StudySetup &setup, const std::vector<std::string> &command,
                          const std::string &library) {
  study::RunPlan plan;
  plan.command = command;
  plan.without_thp = setup.without_thp;
  if (setup.with_library) {
    const char *users = std::getenv("LD_PRELOAD"), *conf = std::getenv("SMALLOC_CONF");
    plan.environment["LD_PRELOAD"] = users && *users ? library + ":" + users : library;
    std::string text = conf && *conf ? std::string(conf) + "," + setup.conf : setup.conf;
    plan.environment["SMALLOC_CONF"] = std::move(text);
  }
  return plan;
}

} // namespace smalloc::cli
