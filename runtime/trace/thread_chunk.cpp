// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// thread_chunk.cpp encodes each record in as few instructions as possible, since the program waits
// here at each allocation and access. Frequent records are written straight into the chunk; begin()
// has checked that the longest record fits.
#include "runtime/trace/writer.h"

#include <bit>
#include <new>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

namespace smalloc::trace {
namespace {

constexpr size_t kMostRecordBytes =
    48 + kMostAccesses * 20; ///< longest record, with what is written ahead
static_assert(kMostRecordBytes < kChunkBytes / 2);
constexpr size_t kMostText = 2048;
constexpr size_t kMostShortBytes = 64; ///< a record with a length below 128, with what is written
                                       ///< ahead
constexpr unsigned kPageShift = 12;    // runs are of base pages
static_assert(kMostAccesses < 1 << 14, "a count of runs has two bytes");
/// Largest window of addresses of one kSpots record.
constexpr uint64_t kWindowGrains = uint64_t{1} << 31;
/// If more than one access in this number is to the page of the one before, runs take fewer bytes
/// than spots.
constexpr size_t kRunsOf = 4;
/// Most lists that may take their base from an earlier list; it may lie below their own lowest
/// address.
constexpr unsigned kMostUnseen = 16;
/// Age of a chunk from which the thread's next event writes it, so that a killed process loses
/// little.
constexpr uint64_t kOldestNs = 1000000000;
constexpr unsigned kFlushTries = 200;
constexpr long kNapNs = 1000000;
constexpr unsigned kNapsOfNobody = 20; ///< for a chunk that is not being written

unsigned char *put_varint(unsigned char *out, uint64_t value) {
  for (; value >= 0x80; value >>= 7)
    *out++ = static_cast<unsigned char>(value | 0x80);
  *out++ = static_cast<unsigned char>(value);
  return out;
}

// Encodes without a branch on the number's length, which is unpredictable where addresses jump
// about. Writes up to 8 bytes behind the number's own. Three steps move groups of 7 bits apart; all
// but the last group get the continuation bit.
unsigned char *put_varint_ahead(unsigned char *out, uint64_t value) {
  if (value >> 56)
    return put_varint(out, value);
  uint64_t bytes = (value & 0x000000000fffffff) | (value & 0x00fffffff0000000) << 4;
  bytes = (bytes & 0x00003fff00003fff) | (bytes & 0x0fffc0000fffc000) << 2;
  bytes = (bytes & 0x007f007f007f007f) | (bytes & 0x3f803f803f803f80) << 1;
  const unsigned last = (63u - static_cast<unsigned>(__builtin_clzll(bytes | 1))) / 8;
  bytes |= 0x8080808080808080 & ((uint64_t{1} << (8 * last)) - 1);
  if constexpr (std::endian::native == std::endian::big)
    bytes = __builtin_bswap64(bytes);
  memcpy(out, &bytes, sizeof bytes);
  return out + last + 1;
}

void put_fixed32(unsigned char *out, uint32_t value) {
  if constexpr (std::endian::native == std::endian::big)
    value = __builtin_bswap32(value);
  memcpy(out, &value, sizeof value);
}

unsigned char *put_fixed64(unsigned char *out, uint64_t value) {
  if constexpr (std::endian::native == std::endian::big)
    value = __builtin_bswap64(value);
  memcpy(out, &value, sizeof value);
  return out + sizeof value;
}

} // namespace

ThreadChunk::ThreadChunk(Output &output, uint64_t thread, size_t bytes)
    : output_(output), thread_(thread), mapped_bytes_(bytes),
      bytes_(reinterpret_cast<unsigned char *>(this + 1), kChunkBytes),
      work_(reinterpret_cast<unsigned char *>(this + 1) + kChunkBytes) {}

// Creates a chunk in one mapping: this object, its buffer, the compressor's workspace, the owner's
// extra bytes.
ThreadChunk *ThreadChunk::create(Output &output, uint64_t thread, size_t extra_bytes) {
  static_assert(sizeof(ThreadChunk) % 8 == 0);
  const size_t bytes = sizeof(ThreadChunk) + kChunkBytes + Output::work_bytes() + extra_bytes;
  void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : new (memory) ThreadChunk(output, thread, bytes);
}

void ThreadChunk::destroy() { munmap(this, mapped_bytes_); }

void ThreadChunk::open_chunk(uint64_t now_ns) {
  unsigned char payload[32];
  Bytes p(payload, sizeof payload);
  p.varint(thread_);
  p.varint(sequence_++);
  p.varint(now_ns);
  bytes_.varint(static_cast<uint64_t>(Type::kChunk));
  bytes_.varint(p.size());
  bytes_.text(reinterpret_cast<const char *>(payload), p.size());
  if (threshold_) {
    p.clear();
    p.varint(threshold_);
    bytes_.varint(static_cast<uint64_t>(Type::kSample));
    bytes_.varint(p.size());
    bytes_.text(reinterpret_cast<const char *>(payload), p.size());
  }
  last_ns_ = start_ns_ = now_ns;
  last_address_ = last_site_ = last_context_ = 0;
}

// Begins a record. True: the chunk has room for `room` bytes; busy_ is set, and the caller must
// clear it.
// last: the recording may be ending.
bool ThreadChunk::begin(uint64_t now_ns, size_t room, bool last) {
  if (!output_.recording() && !last) {
    if (output_.ending())
      lost_.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  if (busy_.exchange(true, std::memory_order_acquire)) {
    lost_.fetch_add(
        1, std::memory_order_relaxed); // a signal handler inside a record, or the process is ending
    return false;
  }
  if (bytes_.left() < room || now_ns > start_ns_ + kOldestNs)
    write_out();
  if (bytes_.size() == 0)
    open_chunk(now_ns);
  return true;
}

void ThreadChunk::write_out() {
  if (bytes_.size()) {
    writing_.store(true, std::memory_order_relaxed);
    output_.write_chunk(bytes_.data(), bytes_.size(), work_, &quick_chunks_);
    writing_.store(false, std::memory_order_relaxed);
  }
  bytes_.clear();
}

/// Builds a record's payload in a small buffer of its own; the destructor appends it with type and
/// length.
class ThreadChunk::Record {
public:
  Record(ThreadChunk &chunk, Type type)
      : chunk_(chunk), type_(type), p(payload_, sizeof payload_) {}
  ~Record() {
    chunk_.bytes_.varint(static_cast<uint64_t>(type_));
    chunk_.bytes_.varint(p.size());
    chunk_.bytes_.text(reinterpret_cast<const char *>(payload_), p.size());
    chunk_.busy_.store(false, std::memory_order_release);
  }
  void time(uint64_t now_ns) { p.varint(chunk_.elapsed(now_ns)); }

private:
  ThreadChunk &chunk_;
  Type type_;
  unsigned char payload_[kMostText + 64];

public:
  Bytes p;
};

uint64_t ThreadChunk::elapsed(uint64_t now_ns) {
  if (now_ns <= last_ns_)
    return 0;
  const uint64_t dt = now_ns - last_ns_;
  last_ns_ = now_ns;
  return dt;
}

// Begins a record whose length takes one byte. Returns the place of its second field.
unsigned char *ThreadChunk::begin_short(Type type, uint64_t now_ns) {
  unsigned char *out = bytes_.end();
  *out = static_cast<unsigned char>(type);
  return put_varint_ahead(out + 2, elapsed(now_ns));
}

void ThreadChunk::end_short(const unsigned char *out) {
  unsigned char *start = bytes_.end();
  start[1] = static_cast<unsigned char>(out - start - 2);
  bytes_.append_to(out);
  busy_.store(false, std::memory_order_release);
}

void ThreadChunk::allocate(uint64_t now_ns, uint64_t site, uint64_t bytes, uint64_t address,
                           uint64_t context) {
  if (!begin(now_ns, kMostShortBytes))
    return;
  unsigned char *out = begin_short(Type::kNew, now_ns);
  const bool other = site != last_site_ || context != last_context_;
  out = put_varint_ahead(out, zigzag(static_cast<int64_t>(address - last_address_)));
  out = put_varint_ahead(out, bytes);
  if (other) {
    out = put_fixed64(out, site);
    if (context)
      out = put_fixed64(out, context);
    last_site_ = site;
    last_context_ = context;
  }
  last_address_ = address;
  end_short(out);
}

void ThreadChunk::free(uint64_t now_ns, uint64_t address) {
  if (!begin(now_ns, kMostShortBytes))
    return;
  unsigned char *out = begin_short(Type::kGone, now_ns);
  out = put_varint_ahead(out, zigzag(static_cast<int64_t>(address - last_address_)));
  last_address_ = address;
  end_short(out);
}

void ThreadChunk::reallocate(uint64_t now_ns, const Object &object, uint64_t old_address) {
  if (!begin(now_ns, kMostRecordBytes))
    return;
  Record r(*this, Type::kReallocate);
  r.time(now_ns);
  r.p.fixed64(object.site);
  r.p.varint(object.bytes);
  r.p.varint(object.address);
  r.p.varint(old_address);
  if (object.context)
    r.p.fixed64(object.context);
}

void ThreadChunk::site(uint64_t id, SiteKind kind, uint64_t offset, const char *text,
                       size_t text_bytes) {
  if (!begin(last_ns_, kMostRecordBytes))
    return;
  Record r(*this, Type::kSite);
  r.p.fixed64(id);
  r.p.varint(kind);
  r.p.varint(offset);
  r.p.text(text, text_bytes < kMostText ? text_bytes : kMostText);
}

void ThreadChunk::accesses(uint64_t now_ns, uint64_t weight, const Access *list, size_t count) {
  put_accesses(now_ns, weight, [list](size_t i) { return list[i]; }, count);
}

namespace {
// Returns the bytes that hold an offset within `span` bytes and the bit for a write.
unsigned spot_bytes(uint64_t span) {
  const uint64_t grains = span >> kGrainShift;
  return grains >> 15 == 0 ? 2 : grains >> 23 == 0 ? 3 : grains < kWindowGrains ? 4 : 8;
}
} // namespace

void ThreadChunk::told(uint64_t now_ns, const uint64_t *list, size_t count) {
  // Most lists have the addresses of the list before: then it suffices that no offset has more
  // bits.
  if (spot_bytes_ && --spots_unseen_ && count <= kMostAccesses) {
    uint64_t bits = 0;
    for (size_t i = 0; i < count; i++)
      bits |= (list[i] & ~kWrites) - spots_low_;
    if (spot_bytes(bits) <= spot_bytes_)
      return spots(now_ns, list, count, spots_low_, spot_bytes(bits));
  }
  uint64_t low = UINT64_MAX, high = 0, last = UINT64_MAX;
  size_t again = 0;
  for (size_t i = 0; i < count; i++) {
    const uint64_t address = list[i] & ~kWrites;
    low = address < low ? address : low;
    high = address > high ? address : high;
    again += (address ^ last) >> kPageShift == 0;
    last = address;
  }
  low &= ~((uint64_t{1} << kGrainShift) - 1);
  spot_bytes_ = 0;
  if (count <= kMostAccesses && again <= count / kRunsOf && spot_bytes(high - low) <= 4) {
    spots_low_ = low;
    spot_bytes_ = spot_bytes(high - low);
    spots_unseen_ = kMostUnseen;
    return spots(now_ns, list, count, low, spot_bytes_);
  }
  put_accesses(
      now_ns, 1,
      [list](size_t i) { return Access{list[i] & ~kWrites, 0, (list[i] & kWrites) != 0}; }, count);
}

// Appends accesses with the same number of bytes each: no branch, and no instruction to spare.
// Writes two bytes behind the last.
void ThreadChunk::spots(uint64_t now_ns, const uint64_t *list, size_t count, uint64_t low,
                        unsigned width) {
  if (!begin(now_ns, count * width + kMostShortBytes))
    return;
  const uint64_t base = low >> kGrainShift;
  unsigned char fields[32], *field = put_varint(fields, elapsed(now_ns));
  field = put_varint(field, width);
  field = put_varint(field, base);
  const auto fields_bytes = static_cast<size_t>(field - fields);
  unsigned char *out = bytes_.end();
  *out++ = static_cast<unsigned char>(Type::kSpots);
  out = put_varint(out, fields_bytes + count * width);
  memcpy(out, fields, fields_bytes);
  out += fields_bytes;
  const auto twice = static_cast<uint32_t>(base) << 1;
  for (size_t i = 0; i < count; i++, out += width) {
    const uint64_t told = list[i];
    put_fixed32(out, (static_cast<uint32_t>(told >> (kGrainShift - 1)) & ~1u) - twice +
                         static_cast<uint32_t>(told >> 63));
  }
  bytes_.append_to(out);
  busy_.store(false, std::memory_order_release);
}

template <class At>
void ThreadChunk::put_accesses(uint64_t now_ns, uint64_t weight, At at, size_t count) {
  for (size_t first = 0; first < count;) {
    const size_t most = first + (count - first < kMostAccesses ? count - first : kMostAccesses);
    if (!begin(now_ns, kMostRecordBytes))
      return;
    // Straight into the chunk: the length in front takes kLengthBytes bytes, whatever it is.
    constexpr size_t kLengthBytes = 3;
    bytes_.varint(static_cast<uint64_t>(Type::kTouch));
    const size_t length_at = bytes_.size();
    for (size_t i = 0; i < kLengthBytes; i++)
      bytes_.byte(0);
    bytes_.varint(elapsed(now_ns));
    bytes_.varint(weight);
    const size_t runs_at = bytes_.size(); // their number, in two bytes
    bytes_.byte(0);
    bytes_.byte(0);
    size_t runs = 0;
    uint64_t last = 0;
    unsigned char *out = bytes_.end(); // begin() has checked that the longest record fits
    for (Access next = at(first); first < most;) {
      const uint64_t address = next.address, grain = address >> kGrainShift;
      uint64_t repeats = next.repeats;
      bool write = next.write;
      while (++first < most) {
        next = at(first);
        if ((next.address ^ address) >> kPageShift != 0)
          break;
        repeats += next.repeats + uint64_t{1};
        write |= next.write;
      }
      runs++;
      out = put_varint_ahead(out, zigzag(static_cast<int64_t>(grain - last)) << 2 |
                                      (write ? 2 : 0) | (repeats ? 1 : 0));
      if (repeats)
        out = put_varint(out, repeats);
      last = grain;
    }
    bytes_.append_to(out);
    auto *many = const_cast<unsigned char *>(bytes_.data()) + runs_at;
    many[0] = static_cast<unsigned char>((runs & 0x7f) | 0x80);
    many[1] = static_cast<unsigned char>(runs >> 7);
    size_t length = bytes_.size() - length_at - kLengthBytes;
    auto *at = const_cast<unsigned char *>(bytes_.data()) + length_at;
    for (size_t i = 0; i < kLengthBytes; i++, length >>= 7)
      at[i] = static_cast<unsigned char>((length & 0x7f) | (i + 1 < kLengthBytes ? 0x80 : 0));
    busy_.store(false, std::memory_order_release);
  }
}

void ThreadChunk::walk(uint64_t now_ns, uint64_t iterations, const WalkReference *list,
                       size_t count) {
  static_assert(kMostWalkReferences * 20 + 40 < kMostRecordBytes &&
                kMostWalkReferences * 20 + 30 < 1 << 14);
  constexpr double kPagesAtATime = 1 << 16;
  double pages = 0; // of one iteration
  for (size_t i = 0; i < count; i++)
    pages += walk_pages(list[i].stride);
  for (uint64_t done = 0; done < iterations;) {
    uint64_t n = iterations - done;
    if (pages * static_cast<double>(n) > kPagesAtATime)
      n = static_cast<uint64_t>(kPagesAtATime / pages);
    if (!begin(now_ns, kMostRecordBytes))
      return;
    // Straight into the chunk, as for accesses: loops may be short.
    constexpr size_t kLengthBytes = 2;
    bytes_.varint(static_cast<uint64_t>(Type::kWalk));
    unsigned char *const length_at = bytes_.end(), *const payload = length_at + kLengthBytes;
    unsigned char *out = put_varint(payload, elapsed(now_ns));
    out = put_varint(out, n);
    out = put_varint(out, count);
    uint64_t last = 0;
    for (size_t i = 0; i < count; i++) {
      const uint64_t address = list[i].address + static_cast<uint64_t>(list[i].stride) * done;
      const uint64_t grain = address >> kGrainShift;
      out = put_varint(out,
                       zigzag(static_cast<int64_t>(grain - last)) << 1 | (list[i].write ? 1 : 0));
      out = put_varint(out, zigzag(list[i].stride));
      last = grain;
    }
    const auto length = static_cast<size_t>(out - payload);
    length_at[0] = static_cast<unsigned char>((length & 0x7f) | 0x80);
    length_at[1] = static_cast<unsigned char>(length >> 7);
    bytes_.append_to(out);
    busy_.store(false, std::memory_order_release);
    done += n;
  }
}

void ThreadChunk::faults(uint64_t now_ns, uint64_t minor, uint64_t major) {
  if (!begin(now_ns, kMostRecordBytes))
    return;
  Record r(*this, Type::kFault);
  r.time(now_ns);
  r.p.varint(minor);
  r.p.varint(major);
}

void ThreadChunk::phase(uint64_t now_ns, const char *text, size_t text_bytes) {
  if (!begin(now_ns, kMostRecordBytes))
    return;
  Record r(*this, Type::kPhase);
  r.time(now_ns);
  r.p.text(text, text_bytes < kMostText ? text_bytes : kMostText);
}

void ThreadChunk::segment(uint64_t start, uint64_t bytes, const char *text, size_t text_bytes) {
  if (!begin(last_ns_, kMostRecordBytes))
    return;
  Record r(*this, Type::kSegment);
  r.p.varint(start);
  r.p.varint(bytes);
  r.p.text(text, text_bytes < kMostText ? text_bytes : kMostText);
}

void ThreadChunk::end(uint64_t now_ns, uint64_t lost_elsewhere) {
  if (!begin(now_ns, kMostRecordBytes, true))
    return;
  Record r(*this, Type::kEnd);
  r.time(now_ns);
  r.p.varint(lost() + lost_elsewhere);
}

void ThreadChunk::sampled_below(uint64_t threshold) {
  if (threshold == threshold_ || busy_.exchange(true, std::memory_order_acquire))
    return;
  write_out();
  threshold_ = threshold;
  busy_.store(false, std::memory_order_release);
}

// Waits for the chunk and takes it. Another thread is seldom long at a record, but a write may take
// a second where others keep the disk busy. False: the owner took longer, or this thread itself has
// interrupted it; it keeps its chunk.
bool ThreadChunk::seize(unsigned &naps) {
  unsigned of_nobody = 0;
  for (unsigned tries = 0; busy_.exchange(true, std::memory_order_acquire); tries++) {
    if (tries < kFlushTries) {
      sched_yield();
      continue;
    }
    if (naps == 0 || (!writing_.load(std::memory_order_relaxed) && of_nobody++ == kNapsOfNobody))
      return false;
    naps--;
    const timespec nap = {0, kNapNs};
    nanosleep(&nap, nullptr);
  }
  return true;
}

void ThreadChunk::flush() {
  unsigned none = 0;
  if (!seize(none))
    return;
  write_out();
  busy_.store(false, std::memory_order_release);
}

void ThreadChunk::close(unsigned &naps) {
  if (seize(naps))
    write_out();
}

void ThreadChunk::drop() {
  bytes_.clear();
  lost_ = 0;
  sequence_ = 0;
  threshold_ = 0;
  busy_.store(false, std::memory_order_relaxed);
}

} // namespace smalloc::trace
