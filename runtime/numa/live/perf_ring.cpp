// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// perf_ring.cpp decodes the fields of a sample in the order that the kernel documents.
#include "runtime/numa/live/perf_ring.h"

#include <linux/perf_event.h>
#include <string.h>

namespace smalloc::numa {
namespace {

constexpr uint64_t kDecodable = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
                                PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR | PERF_SAMPLE_CPU |
                                PERF_SAMPLE_PERIOD | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_WEIGHT |
                                PERF_SAMPLE_DATA_SRC;
/// Longest record that is decoded. A sample of smalloc's events has less than 300 bytes; longer
/// records are skipped.
constexpr size_t kMostRecordBytes = 512;

class Fields {
public:
  Fields(const unsigned char *at, size_t bytes) : at_(at), left_(bytes) {}
  bool take(uint64_t &value) { return take(&value, sizeof value); }
  bool take(uint32_t &a, uint32_t &b) { return take(&a, sizeof a) && take(&b, sizeof b); }

private:
  bool take(void *to, size_t bytes) {
    if (left_ < bytes)
      return false;
    memcpy(to, at_, bytes);
    at_ += bytes;
    left_ -= bytes;
    return true;
  }
  const unsigned char *at_;
  size_t left_;
};

} // namespace

bool PerfRing::can_decode(uint64_t sample_type) { return (sample_type & ~kDecodable) == 0; }

void PerfRing::copy_out(uint64_t from, void *to, size_t bytes) const {
  const char *data = header_ + data_offset_;
  const size_t at = from & (data_bytes_ - 1);
  const size_t first = bytes < data_bytes_ - at ? bytes : data_bytes_ - at;
  memcpy(to, data + at, first);
  memcpy(static_cast<char *>(to) + first, data, bytes - first);
}

bool PerfRing::decode(const unsigned char *record, size_t bytes, PerfSample &s) const {
  Fields fields(record, bytes);
  uint64_t ignored;
  uint32_t reserved;
  s = PerfSample();
  if ((sample_type_ & PERF_SAMPLE_IDENTIFIER && !fields.take(ignored)) ||
      (sample_type_ & PERF_SAMPLE_IP && !fields.take(s.ip)) ||
      (sample_type_ & PERF_SAMPLE_TID && !fields.take(s.process, s.thread)) ||
      (sample_type_ & PERF_SAMPLE_TIME && !fields.take(s.time_ns)) ||
      (sample_type_ & PERF_SAMPLE_ADDR && !fields.take(s.address)) ||
      (sample_type_ & PERF_SAMPLE_CPU && !fields.take(s.cpu, reserved)) ||
      (sample_type_ & PERF_SAMPLE_PERIOD && !fields.take(ignored)))
    return false;
  if (sample_type_ & PERF_SAMPLE_REGS_USER) {
    uint64_t abi;
    if (!fields.take(abi))
      return false;
    if (abi != PERF_SAMPLE_REGS_ABI_NONE) { // a thread without user mode has no registers
      for (uint64_t &r : s.registers)
        if (!fields.take(r))
          return false;
      s.has_registers = abi == PERF_SAMPLE_REGS_ABI_64;
    }
  }
  if ((sample_type_ & PERF_SAMPLE_WEIGHT && !fields.take(ignored)) ||
      (sample_type_ & PERF_SAMPLE_DATA_SRC && !fields.take(s.data_source)))
    return false;
  return true;
}

bool PerfRing::next(PerfSample &sample) {
  if (!header_)
    return false;
  auto *page = reinterpret_cast<perf_event_mmap_page *>(header_);
  const uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
  uint64_t tail = page->data_tail; // only this reader writes it
  bool found = false;
  while (!found && tail != head) {
    perf_event_header h;
    const uint64_t there = head - tail;
    if (there > data_bytes_ || there < sizeof h) {
      malformed_++;
      tail = head;
      break;
    }
    copy_out(tail, &h, sizeof h);
    if (h.size < sizeof h || h.size > there || h.size % 8) {
      malformed_++;
      tail = head;
      break;
    }
    unsigned char record[kMostRecordBytes];
    const size_t bytes = h.size - sizeof h;
    if (bytes <= sizeof record) {
      copy_out(tail + sizeof h, record, bytes);
      if (h.type == PERF_RECORD_SAMPLE) {
        found = decode(record, bytes, sample);
        malformed_ += !found;
      } else if (h.type == PERF_RECORD_LOST && bytes >= 16) {
        uint64_t n;
        memcpy(&n, record + 8, sizeof n);
        lost_ += n;
      }
    }
    tail += h.size;
  }
  __atomic_store_n(&page->data_tail, tail, __ATOMIC_RELEASE);
  return found;
}

} // namespace smalloc::numa
