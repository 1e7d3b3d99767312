// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// machine_profile_fuzz: any text is either refused with a reason, or gives a valid machine profile
// whose written form reads back as the same profile.
#include "runtime/format/machine_json.h"
#include "tests/fuzz/fuzz.h"

#include <nlohmann/json.hpp>

using namespace smalloc::format;

namespace {

void check_number(const Number &n) {
  for (const auto &part : {n.value, n.low, n.high})
    FUZZ_CHECK(!part || (*part >= 0 && *part <= 1e18));
  FUZZ_CHECK(!n.low || !n.high || *n.low <= *n.high);
}

void check_profile(const MachineProfile &p) {
  FUZZ_CHECK(!p.name.empty() && p.name.size() <= 64);
  FUZZ_CHECK(p.base_page_bytes >= 1024 && !(p.base_page_bytes & (p.base_page_bytes - 1)));
  FUZZ_CHECK(p.last_level());
  FUZZ_CHECK(p.reach() <= 1 << 24);
  for (const TlbLevel &level : p.tlb) {
    FUZZ_CHECK(level.level >= 1 && level.level <= 4 && !level.page_bytes.empty());
    FUZZ_CHECK(*level.ways.value <= *level.entries.value);
    check_number(level.entries);
    check_number(level.ways);
  }
  for (const WalkCost &cost : p.walk_cost)
    check_number(cost.cycles);
  for (const auto *list : {&p.first_touch_ns, &p.bandwidth_bytes_per_second})
    for (const PerPage &entry : *list)
      check_number(entry.value);
  for (const Number *n : {&p.backing_page_bytes, &p.reach_pages, &p.l2_hit_cycles, &p.collapse_ns,
                          &p.read_first_ns, &p.prefetch_max_stride_bytes})
    check_number(*n);
}

} // namespace

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  MachineProfile profile;
  try {
    profile = parse_machine({reinterpret_cast<const char *>(data), size});
  } catch (const MachineFormatError &error) {
    FUZZ_CHECK(*error.what());
    return 0;
  }
  check_profile(profile);
  const auto document = machine_document(profile);
  FUZZ_CHECK(machine_document(parse_machine(document.dump())) == document);
  return 0;
}
