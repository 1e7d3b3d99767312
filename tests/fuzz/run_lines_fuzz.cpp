// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// run_lines_fuzz: reads any text as reports of runs without harm. Accepted reports have the
// documented form.
#include "runtime/database/run_lines.h"
#include "tests/fuzz/fuzz.h"

using namespace smalloc::database;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string_view text(reinterpret_cast<const char *>(data), size);
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string why;
    const auto run = parse_run_line(text.substr(0, end), why);
    text.remove_prefix(std::min(end + 1, text.size()));
    FUZZ_CHECK(run.has_value() == why.empty());
    if (!run)
      continue;
    FUZZ_CHECK(!run->program.empty() &&
               run->program.find_first_not_of("0123456789abcdef") == std::string::npos);
    FUZZ_CHECK(run->kind == "base" || run->kind == "superpages");
    FUZZ_CHECK(run->started_ns >= 0 && run->pid >= 0 && run->peak_bytes.value_or(0) >= 0);
    for (const Validation &v : run->validations)
      FUZZ_CHECK(v.site.size() == 16 && (v.context.empty() || v.context.size() == 16) &&
                 !v.verdict.empty());
  }
  return 0;
}
