// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// trace_fuzz: reads any bytes as a trace without harm: as the records of one chunk, and as a file
// with torn and damaged frames. Each byte of the file is part of a complete chunk or counted as
// skipped.
#include "runtime/trace/reader.h"
#include "tests/fuzz/fuzz.h"

#include <string>
#include <sys/mman.h>
#include <unistd.h>

using namespace smalloc::trace;

namespace {

void check_event(const Event &event, const uint8_t *data, size_t size) {
  FUZZ_CHECK(event.accesses.size() <= kMostAccesses);
  FUZZ_CHECK(event.weight > 0);
  if (!event.text.empty() && data) {
    const auto *text = reinterpret_cast<const uint8_t *>(event.text.data());
    FUZZ_CHECK(text >= data && text + event.text.size() <= data + size);
  }
}

void read_as_chunk(const uint8_t *data, size_t size) {
  ChunkReader reader({data, size});
  Event event;
  uint64_t events = 0;
  while (reader.next(event)) {
    check_event(event, data, size);
    events += event.type != Type::kAccess; // a loop's record stands for many of these
  }
  FUZZ_CHECK((events + reader.unknown_records()) * 2 <= size); // each record takes two bytes
}

void read_as_file(const uint8_t *data, size_t size) {
  static const int fd = memfd_create("trace", MFD_CLOEXEC);
  FUZZ_CHECK(fd >= 0 && ftruncate(fd, 0) == 0);
  FUZZ_CHECK(pwrite(fd, data, size, 0) == static_cast<ssize_t>(size));
  try {
    Reader reader("/proc/self/fd/" + std::to_string(fd));
    FUZZ_CHECK(reader.skipped_bytes() <= size && reader.chunks() > 0);
    reader.read([&](const Event &event) { check_event(event, nullptr, 0); });
  } catch (const TraceError &) {
  }
}

} // namespace

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  read_as_chunk(data, size);
  read_as_file(data, size);
  return 0;
}
