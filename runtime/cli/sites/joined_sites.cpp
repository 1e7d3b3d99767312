// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// joined_sites.cpp shows a site that other units decide. The site gets the pattern and the costs of
// the deciding access. Its reason names the loop, the loop's file, and the path from the site to
// it.
#include "runtime/cli/sites/elf_sites.h"
#include "runtime/cli/sites/site_report.h"
#include "smalloc/sites/key_join.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

namespace smalloc::cli {
namespace {

// Returns the key with a readable name: "argument 1 of _Z4walkPd" ends with a linkage name.
std::string readable_key(const std::string &name) {
  const size_t linkage = name.rfind(' ') + 1;
  return name.substr(0, linkage) + readable_function(name.substr(linkage));
}

// True if the site's reason begins with that of the access, which ends with " (FILE)". The join may
// find the walk of the site's own unit.
bool tells(const std::string &why, const std::string &of_access) {
  const std::string walk = of_access.substr(0, of_access.rfind(" ("));
  return !walk.empty() && why.starts_with(walk) &&
         (why.size() == walk.size() || why[walk.size()] == ';');
}

// Takes over the decision of the access and its flags, as modules.cpp does.
void take(Site &site, const JoinedAccess &found) {
  struct smalloc_site &r = site.record;
  const smalloc_key_access &access = *found.access;
  const std::string through = readable_key(string_of(*found.block, access.name));
  std::string reason = string_of(*found.block, access.why);
  if (!through.empty())
    reason += ", through " + through;
  const std::string leaves =
      found.first ? readable_key(string_of(*found.first_block, found.first->name)) : "";
  if (!leaves.empty() && leaves != through)
    reason += ", which it reaches as " + leaves;
  r.pattern = access.pattern;
  r.misses_per_access = access.misses_per_access;
  if (access.min_bytes == SMALLOC_UNKNOWN) {
    if (!tells(site.why, string_of(*found.block, access.why)))
      site.why += "; elsewhere: " + reason; // another unit, or another loop of this unit
    return;
  }
  r.flags &= ~SMALLOC_SITE_UNDECIDED;
  if (r.flags & SMALLOC_SITE_MANY)
    r.flags |= SMALLOC_SITE_SMALL;
  r.saving_cycles_per_access = access.saving_cycles_per_access;
  r.confidence = access.confidence;
  r.min_bytes = access.min_bytes;
  r.decision = access.min_bytes == 0 ? SMALLOC_DECISION_SUPERPAGE : SMALLOC_DECISION_RUNTIME;
  const uint64_t pages =
      std::min<uint64_t>(access.min_bytes / 4096 + (access.min_bytes % 4096 != 0), UINT32_MAX);
  if (site.cell_word)
    site.cell_word = SMALLOC_WORD(r.decision, r.flags, r.page_shift, r.decided_by, pages);
  site.joined = true;
  site.why = reason;
}

bool believable(const smalloc_key_access &access) {
  return access.pattern <= SMALLOC_PATTERN_POINTER_CHASING && access.confidence <= 100;
}

// Returns the functions that return fresh memory according to the units.
std::set<std::string> wrappers_of(const std::vector<uint64_t> &keys, const KeyJoin &join) {
  std::set<std::string> names;
  KeyBlocks blocks(keys.data(), keys.data() + keys.size());
  while (const smalloc_keys *block = blocks.next())
    for (uint32_t i = 0; i < block->flow_count; i++)
      if ((flows_of(*block)[i].flags & SMALLOC_FLOW_WRAPPER) &&
          join.is_wrapper(flows_of(*block)[i].from))
        names.insert(string_of(*block, flows_of(*block)[i].name));
  return names;
}

// Merges the variables of units: a Fortran COMMON block is a variable in each unit that names it,
// but one in the program. The unit with the largest saving counts.
void merge_variables(std::vector<Site> &sites) {
  std::map<uint64_t, const Site *> best;
  const auto asks = [](const Site &site) {
    return std::pair(site.record.decision != SMALLOC_DECISION_BASE,
                     site.record.saving_cycles_per_access);
  };
  for (const Site &site : sites)
    if (site.record.flags & SMALLOC_SITE_STATIC) {
      const Site *&known = best[site.record.id];
      if (!known || asks(*known) < asks(site))
        known = &site;
    }
  std::set<uint64_t> offsets;
  for (const auto &[id, site] : best)
    offsets.insert(site->file_offset);
  std::erase_if(sites, [&](const Site &site) {
    return (site.record.flags & SMALLOC_SITE_STATIC) && !offsets.contains(site.file_offset);
  });
}

} // namespace

void join_units(SiteTable &table) {
  merge_variables(table.sites);
  KeyJoin join(table.keys.data(), table.keys.data() + table.keys.size());
  std::vector<uint64_t> scratch((join.scratch_bytes() + sizeof(uint64_t) - 1) / sizeof(uint64_t));
  if (!scratch.empty())
    join.run(scratch.data());
  const std::set<std::string> wrappers = wrappers_of(table.keys, join);
  const size_t all = table.sites.size();
  std::erase_if(table.sites, [&](const Site &site) {
    return (site.record.flags & SMALLOC_SITE_CONTEXT) && !wrappers.contains(site.callee);
  });
  if (table.sites.size() < all)
    table.notes.push_back(
        fmt::format("{} call{} left out that would be sites if {} allocated",
                    all - table.sites.size(), all - table.sites.size() == 1 ? "" : "s",
                    all - table.sites.size() == 1 ? "the function" : "the functions"));
  for (Site &site : table.sites) {
    const struct smalloc_site &r = site.record;
    if (!(r.flags & SMALLOC_SITE_UNDECIDED) || !(r.flags & SMALLOC_SITE_REWRITTEN))
      continue;
    const JoinedAccess found = join.of(r.node);
    if (found.access && believable(*found.access))
      take(site, found);
  }
}

} // namespace smalloc::cli
