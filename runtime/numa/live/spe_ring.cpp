// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// spe_ring.cpp reads the packets that it knows and skips the others. A record ends at an end
// packet, or at a time stamp.
#include "runtime/numa/live/spe_ring.h"

namespace smalloc::numa {
namespace {

constexpr unsigned kPadding = 0x00, kEnd = 0x01, kTimeStamp = 0x71;
constexpr unsigned kExtended = 0x20, kAlignment = 0x00; // the second byte of an extended header
constexpr unsigned kEvents = 0x42, kSource = 0x43;      // of header & 0xcf
constexpr unsigned kContext = 0x64, kOperation = 0x48;  // of header & 0xfc
constexpr unsigned kCounter = 0x98, kAddress = 0xb0;    // of header & 0xf8
constexpr unsigned kInstructionAddress = 0, kDataAddress = 2; // indices of address packets
constexpr unsigned kTotalLatency = 0;                         // of counter packets
constexpr unsigned kLoadOrStore = 1;                          // of operation packets
constexpr unsigned kRefill = 3, kTlbWalk = 5, kLastLevelMiss = 9, kRemote = 10; // bits of events
/// Clears bits 63 to 56: a tag of data, or exception level and security of code.
constexpr uint64_t kAddressMask = (uint64_t{1} << 56) - 1;

struct Packet {
  size_t header_bytes = 1, payload_bytes = 0;
  unsigned kind = 0, index = 0;
  bool ends = false; // the record
};

// Fills what the last byte of the packet's header contains. False: no known packet.
bool classify(unsigned header, Packet &packet) {
  const bool extended = packet.header_bytes == 2;
  packet.payload_bytes = size_t{1} << (header >> 4 & 3);
  if (!extended && (header == kEnd || header == kTimeStamp)) {
    packet.ends = true;
    if (header == kEnd)
      packet.payload_bytes = 0;
  } else if ((header & 0xf8) == kAddress || (header & 0xf8) == kCounter) {
    packet.kind = header & 0xf8;
    packet.index |= header & 7;
  } else if (!extended && ((header & 0xcf) == kEvents || (header & 0xcf) == kSource)) {
    packet.kind = header & 0xcf;
  } else if (!extended && ((header & 0xfc) == kContext || (header & 0xfc) == kOperation)) {
    packet.kind = header & 0xfc;
    packet.index = header & 3;
  } else {
    return false;
  }
  return true;
}

} // namespace

void SpeRing::apply(unsigned kind, unsigned index, uint64_t payload) {
  const auto bit = [payload](unsigned n) { return (payload >> n & 1) != 0; };
  switch (kind) {
  case kEvents:
    open_.missed_first_level = bit(kRefill);
    open_.missed_last_level = bit(kLastLevelMiss);
    open_.remote = bit(kRemote);
    open_.missed_tlb = bit(kTlbWalk);
    break;
  case kOperation:
    open_.store = index == kLoadOrStore && bit(0);
    open_.load = index == kLoadOrStore && !bit(0);
    break;
  case kContext:
    open_.thread = static_cast<uint32_t>(payload);
    break;
  case kCounter:
    if (index == kTotalLatency)
      open_.cycles = static_cast<uint32_t>(payload);
    break;
  case kAddress:
    if (index == kInstructionAddress)
      open_.ip = payload & kAddressMask;
    else if (index == kDataAddress)
      open_.address = payload & kAddressMask;
    break;
  default:
    break;
  }
}

bool SpeRing::next(SpeRecord &record) {
  if (!page_)
    return false;
  const uint64_t head = __atomic_load_n(&page_->aux_head, __ATOMIC_ACQUIRE);
  uint64_t tail = page_->aux_tail; // only this reader writes it
  bool found = false;
  if (head - tail > aux_bytes_) {
    malformed_++;
    tail = head;
  }
  while (!found && tail != head) {
    const uint64_t left = head - tail;
    const unsigned first = byte(tail);
    unsigned header = first;
    Packet packet;
    if ((first & 0xfc) == kExtended) {
      if (left < 2)
        break; // the rest comes later
      header = byte(tail + 1);
      if (header == kAlignment) { // padding up to a power of two
        const uint64_t to = uint64_t{2} << (first & 0xf);
        const uint64_t gap = to - (tail & (to - 1));
        if (left < gap)
          break;
        tail += gap;
        continue;
      }
      packet.index = (first & 3) << 3;
      packet.header_bytes = 2;
    } else if (header == kPadding) {
      tail++;
      continue;
    }
    if (!classify(header, packet)) {
      malformed_ += !damaged_;
      damaged_ = true; // until the record's end
      tail++;
      continue;
    }
    const size_t whole = packet.header_bytes + packet.payload_bytes;
    if (left < whole)
      break;
    if (!packet.ends) {
      uint64_t payload = 0;
      for (size_t i = 0; i < packet.payload_bytes; i++)
        payload |= uint64_t{byte(tail + packet.header_bytes + i)} << (8 * i);
      apply(packet.kind, packet.index, payload);
    } else {
      found = !damaged_;
      record = open_;
      open_ = SpeRecord();
      damaged_ = false;
    }
    tail += whole;
  }
  __atomic_store_n(&page_->aux_tail, tail, __ATOMIC_RELEASE);
  return found;
}

} // namespace smalloc::numa
