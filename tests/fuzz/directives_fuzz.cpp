// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// directives_fuzz: reads any text as a directives file without harm. The printed form of the result
// reads and prints as the same.
#include "runtime/directives/directives_file.h"
#include "tests/fuzz/fuzz.h"

using namespace smalloc::directives;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const std::string_view text(reinterpret_cast<const char *>(data), size);
  File file;
  try {
    file = parse(text);
  } catch (const FormatError &) {
    return 0;
  }
  const std::string once = print(file);
  const File again = parse(once);
  FUZZ_CHECK(again.bad_lines.empty());
  FUZZ_CHECK(again.entries.size() == file.entries.size());
  FUZZ_CHECK(print(again) == once);
  FUZZ_CHECK(compare(file, again).empty());
  return 0;
}
