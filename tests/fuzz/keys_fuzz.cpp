// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// keys_fuzz: joins any section of summaries. The join must stay inside the section and its scratch
// memory, and end. The input is a whole section.
#include "smalloc/sites/key_join.h"
#include "tests/fuzz/fuzz.h"

#include <cstring>
#include <memory>

using namespace smalloc;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  // Exactly as many bytes as the section has, so that a sanitizer sees the first one beyond.
  const std::unique_ptr<char[]> section(new char[size ? size : 1]); // aligned as malloc aligns
  if (size)
    memcpy(section.get(), data, size);
  const char *stop = section.get() + size;
  KeyJoin join(section.get(), stop);
  const size_t bytes = join.scratch_bytes();
  FUZZ_CHECK(bytes <= 64 * size + 64 * 1024);
  if (bytes == 0)
    return 0;
  const std::unique_ptr<uint64_t[]> scratch(new uint64_t[(bytes + 7) / 8]());
  join.run(scratch.get());
  KeyBlocks blocks(section.get(), stop);
  while (const smalloc_keys *block = blocks.next()) {
    for (uint32_t i = 0; i < block->flow_count; i++) {
      const smalloc_flow &flow = flows_of(*block)[i];
      FUZZ_CHECK(strlen(string_of(*block, flow.name)) < size);
      const JoinedAccess found = join.of(flow.from);
      if (!found.access)
        continue;
      const char *at = reinterpret_cast<const char *>(found.access);
      FUZZ_CHECK(at >= section.get() && at + sizeof *found.access <= stop);
      FUZZ_CHECK(strlen(string_of(*found.block, found.access->why)) < size);
    }
  }
  return 0;
}
