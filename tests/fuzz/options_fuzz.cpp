// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// options_fuzz: any text in SMALLOC_CONF leaves options in range, costs at most one warning line
// for each item, and changes nothing but heap:off in a set-uid program.
#include "smalloc/config/options.h"
#include "tests/fuzz/fuzz.h"

#include <string>

using namespace smalloc;

namespace {

size_t warnings;

void count_warning(Text line) {
  warnings++;
  FUZZ_CHECK(line.size >= 2 && line.size <= 512);
  FUZZ_CHECK(std::string(line.data, line.size).rfind("smalloc: warning: SMALLOC_CONF: '", 0) == 0);
  FUZZ_CHECK(line.data[line.size - 1] == '\n');
  for (size_t i = 0; i + 1 < line.size; i++)
    FUZZ_CHECK(line.data[i] != '\n');
}

size_t items_in(Text conf) {
  size_t items = 0;
  for (size_t i = 0; i < conf.size; i++)
    items += conf.data[i] != ',' && (i == 0 || conf.data[i - 1] == ',');
  return items;
}

bool same(const Options &a, const Options &b) {
  return a.heap == b.heap && a.heap_given == b.heap_given && a.pages == b.pages &&
         a.force == b.force && a.budget_bytes == b.budget_bytes &&
         a.budget_percent == b.budget_percent && a.cache_bytes == b.cache_bytes &&
         a.promote == b.promote && a.reserve_bytes == b.reserve_bytes &&
         a.stats_at_exit == b.stats_at_exit && a.debug == b.debug &&
         a.abort_on_error == b.abort_on_error && !strcmp(a.sysfs, b.sysfs);
}

void check_in_range(const Options &o) {
  FUZZ_CHECK(o.heap <= HeapStrategy::kMigrate);
  FUZZ_CHECK(o.heap_given || o.heap == Options{}.heap);
  FUZZ_CHECK(o.pages <= PageBacking::kBase && o.promote <= PromotePolicy::kThread);
  FUZZ_CHECK(o.budget_percent <= 100);
  const size_t length = strnlen(o.sysfs, sizeof o.sysfs);
  FUZZ_CHECK(length < sizeof o.sysfs);
}

/// Compares parse_bytes with arithmetic that cannot overflow. Numbers of 19 and more digits may be
/// refused; accepted ones must be right.
void check_bytes(Text text) {
  size_t digits = 0;
  unsigned __int128 value = 0;
  while (digits < text.size && digits < 25 && text.data[digits] >= '0' && text.data[digits] <= '9')
    value = value * 10 + static_cast<unsigned>(text.data[digits++] - '0');
  bool valid = digits > 0 && digits < 25 && text.size - digits <= 1;
  if (valid && digits < text.size) {
    switch (text.data[digits]) {
    case 'k':
    case 'K':
      value <<= 10;
      break;
    case 'm':
    case 'M':
      value <<= 20;
      break;
    case 'g':
    case 'G':
      value <<= 30;
      break;
    case 't':
    case 'T':
      value <<= 40;
      break;
    default:
      valid = false;
    }
  }
  valid = valid && value <= UINT64_MAX;
  uint64_t bytes = 0;
  const bool taken = parse_bytes(text, bytes);
  if (taken && digits < 25) // beyond that: zeros in front
    FUZZ_CHECK(valid && bytes == static_cast<uint64_t>(value));
  FUZZ_CHECK(taken || !valid || digits >= 19);
}

} // namespace

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const Text conf(reinterpret_cast<const char *>(data), size);
  const size_t items = items_in(conf);
  Options once;
  warnings = 0;
  parse_options(conf, false, once, count_warning);
  FUZZ_CHECK(warnings <= items);
  check_in_range(once);

  Options twice = once; // the last value of a key counts, so a second reading changes nothing
  parse_options(conf, false, twice, nullptr);
  FUZZ_CHECK(same(once, twice));

  Options privileged;
  warnings = 0;
  parse_options(conf, true, privileged, count_warning);
  FUZZ_CHECK(warnings == 0);
  Options expected;
  if (privileged.heap_given) {
    expected.heap = HeapStrategy::kOff;
    expected.heap_given = true;
  }
  FUZZ_CHECK(same(privileged, expected));

  check_bytes(conf);
  return 0;
}
