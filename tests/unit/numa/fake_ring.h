// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// fake_ring.h is a ring buffer as perf_event_open(2) documents it, written by a test instead of the
// kernel.
#ifndef TESTS_UNIT_NUMA_FAKE_RING_H
#define TESTS_UNIT_NUMA_FAKE_RING_H

#include "runtime/numa/live/perf_ring.h"

#include <linux/perf_event.h>
#include <memory>
#include <vector>

namespace smalloc::numa {

class FakeRing {
public:
  static constexpr size_t kHeader = 4096;
  explicit FakeRing(size_t data_bytes)
      : data_bytes_(data_bytes), memory_(new uint64_t[(kHeader + data_bytes) / 8]()) {}
  /// Uses memory of the caller, which the "kernel" writes.
  FakeRing(void *memory, size_t data_bytes)
      : data_bytes_(data_bytes), other_(static_cast<char *>(memory)) {}

  PerfRing reader(uint64_t sample_type) {
    return PerfRing(base(), kHeader, data_bytes_, sample_type);
  }
  void record(uint32_t type, const std::vector<uint64_t> &words) {
    perf_event_header h = {type, 0, static_cast<uint16_t>(sizeof h + words.size() * 8)};
    put(&h, sizeof h);
    put(words.data(), words.size() * 8);
  }
  void raw_header(uint32_t type, uint16_t size) {
    perf_event_header h = {type, 0, size};
    put(&h, sizeof h);
  }
  uint64_t head() const { return page()->data_head; }
  uint64_t tail() const { return page()->data_tail; }

private:
  char *base() const { return other_ ? other_ : reinterpret_cast<char *>(memory_.get()); }
  perf_event_mmap_page *page() const { return reinterpret_cast<perf_event_mmap_page *>(base()); }
  void put(const void *from, size_t bytes) {
    const auto *at = static_cast<const char *>(from);
    for (size_t i = 0; i < bytes; i++)
      base()[kHeader + (page()->data_head + i) % data_bytes_] = at[i];
    page()->data_head += bytes;
  }
  size_t data_bytes_;
  std::unique_ptr<uint64_t[]> memory_;
  char *other_ = nullptr;
};

} // namespace smalloc::numa
#endif
