// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// format.h decides the bytes of a trace (docs/trace-format.md): a file is a row of zstd frames, each
// one chunk; a chunk is a row of records, {type, payload bytes, payload}; unknown types are skipped
// by their length. Each chunk belongs to one thread and can be read without any other, so a torn
// file gives all its whole chunks.
//
// Used inside the traced process too: no allocation, no exceptions.
#ifndef RUNTIME_TRACE_FORMAT_H
#define RUNTIME_TRACE_FORMAT_H

#include <stddef.h>
#include <stdint.h>

namespace smalloc::trace {

inline constexpr uint64_t kVersion = 1;
inline constexpr char kMagic[] = "smalloc.trace/1\n"; ///< opens the payload of a header
inline constexpr uint32_t kFrameMagic = 0xFD2FB528; ///< zstd's, where a reader finds its feet again
inline constexpr size_t kChunkBytes = size_t{64} << 10;    ///< what a writer fills
inline constexpr size_t kMostChunkBytes = size_t{1} << 20; ///< what a reader takes
inline constexpr size_t kMostFrameBytes = kMostChunkBytes + (kMostChunkBytes >> 6) + 1024;
inline constexpr size_t kMostAccesses = 1024; ///< in one record
/// Addresses of accesses are kept in steps of this.
inline constexpr unsigned kGrainShift = 4;
inline constexpr size_t kMostWalkReferences = 16;
/// In an address that a program tells: the access writes.
inline constexpr uint64_t kWrites = uint64_t{1} << 63;
/// Of one walk: a writer splits longer ones far below, so that no file makes a reader work for ever.
inline constexpr double kMostWalkPages = 1 << 17;

/// dt: nanoseconds since the record before in the chunk (the first: since the chunk's start).
enum class Type : uint64_t {
  kHeader = 1,     ///< kMagic, then "key=value\n" lines
  kSchema = 2,     ///< text for people: what the types mean
  kChunk = 3,      ///< thread, sequence, start in ns since the trace began
  kSite = 4,       ///< id (8 bytes), kind, offset, text
  kAllocate = 5,   ///< dt, site (8 bytes), bytes, address
  kFree = 6,       ///< dt, address
  kReallocate = 7, ///< dt, site (8 bytes), bytes, address, old address
  kAccess =
      8, ///< dt, weight, count, then count pairs (zigzag(grain - last grain) * 2 + write, repeats)
  kFault = 9,    ///< dt, minor faults, major faults: of the process so far
  kPhase = 10,   ///< dt, text
  kSegment = 11, ///< start, bytes, text: static data
  kEnd = 12,     ///< dt, records lost
  kWalk =
      13, ///< dt, iterations, count, then count pairs (zigzag(grain - last grain) * 2 + write, zigzag(stride))
  kTouch =
      14, ///< as kAccess, entries zigzag(grain - last grain) * 4 + write * 2 + again, then repeats if again
  kSample =
      15, ///< threshold: accesses in the chunk are of regions whose hash is below it; second in a chunk, or not at all
  kNew =
      16, ///< kAllocate in fewer bytes: dt, zigzag(address - last), bytes, then the site and its context (8 bytes each; no context: none) unless they are the last one's
  kGone = 17, ///< kFree: dt, zigzag(address - last)
  kSpots =
      18, ///< accesses in no order: dt, bytes of each (2 to 4), grain, then to the record's end (grain - the first) * 2 + write
};

/// One reference of a loop: its address in the first iteration, and what each iteration adds.
struct WalkReference {
  uint64_t address;
  int64_t stride;
  bool write;
};
/// Base pages that one iteration of it visits anew.
inline double walk_pages(int64_t stride) {
  const double step = stride < 0 ? -static_cast<double>(stride) : static_cast<double>(stride);
  return step < 4096 ? step / 4096 : 1;
}

/// Which regions of 2 MiB are recorded: those whose hash is below rate * 2^32 (docs/trace-format.md).
inline constexpr uint64_t kEveryRegion = uint64_t{1} << 32;
inline uint64_t region_hash(uint64_t address) {
  return ((address >> 21) * 0x9e3779b97f4a7c15u) >> 32;
}

/// kind of a site.
enum SiteKind : uint64_t {
  kCompilerSite = 0,  ///< the plugin's id; text: function, newline, file:line, newline, pattern
  kReturnAddress = 1, ///< text: path of the image; offset: of the call's return address in it
  kInlineChain = 2,   ///< id: of a context; text: its inline chain, innermost first, a line each
};

/// Appends to a fixed buffer; what does not fit sets full() and is left out.
class Bytes {
public:
  Bytes(unsigned char *data, size_t capacity) : data_(data), capacity_(capacity) {}
  void byte(unsigned char value) {
    if (size_ < capacity_)
      data_[size_++] = value;
    else
      full_ = true;
  }
  void varint(uint64_t value) {
    while (value >= 0x80) {
      byte(static_cast<unsigned char>(value | 0x80));
      value >>= 7;
    }
    byte(static_cast<unsigned char>(value));
  }
  void fixed64(uint64_t value) {
    for (int i = 0; i < 8; i++)
      byte(static_cast<unsigned char>(value >> (8 * i)));
  }
  void text(const char *data, size_t bytes) {
    for (size_t i = 0; i < bytes; i++)
      byte(static_cast<unsigned char>(data[i]));
  }
  const unsigned char *data() const { return data_; }
  size_t size() const { return size_; }
  size_t left() const { return capacity_ - size_; }
  bool full() const { return full_; }
  /// The next byte's place, for who has seen that there is left() enough; append_to() tells how far it came.
  unsigned char *end() { return data_ + size_; }
  void append_to(const unsigned char *end) { size_ = static_cast<size_t>(end - data_); }
  void clear() {
    size_ = 0;
    full_ = false;
  }
  /// Takes back what was appended after a size() of before.
  void cut(size_t size) {
    size_ = size;
    full_ = false;
  }

private:
  unsigned char *data_;
  size_t capacity_, size_ = 0;
  bool full_ = false;
};

inline uint64_t zigzag(int64_t value) {
  return (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63);
}
inline int64_t unzigzag(uint64_t value) {
  return static_cast<int64_t>(value >> 1) ^ -static_cast<int64_t>(value & 1);
}

/// Reads what Bytes wrote; past the end everything is 0 and ok() false.
class Cursor {
public:
  Cursor(const unsigned char *data, size_t size) : at_(data), end_(data + size) {}
  uint64_t varint() {
    uint64_t value = 0;
    for (unsigned shift = 0; at_ < end_ && shift < 64; shift += 7) {
      const unsigned char b = *at_++;
      value |= uint64_t{b & 0x7fu} << shift;
      if (!(b & 0x80))
        return value;
    }
    ok_ = false;
    return 0;
  }
  uint64_t fixed64() {
    if (end_ - at_ < 8) {
      ok_ = false;
      return 0;
    }
    uint64_t value = 0;
    for (int i = 0; i < 8; i++)
      value |= uint64_t{*at_++} << (8 * i);
    return value;
  }
  /// A piece of that many bytes as a cursor of its own.
  Cursor piece(uint64_t bytes) {
    if (bytes > left()) {
      ok_ = false;
      return {end_, 0};
    }
    Cursor part(at_, static_cast<size_t>(bytes));
    at_ += bytes;
    return part;
  }
  const unsigned char *data() const { return at_; }
  size_t left() const { return static_cast<size_t>(end_ - at_); }
  /// REQUIRES: bytes <= left().
  void skip(size_t bytes) { at_ += bytes; }
  bool ok() const { return ok_; }

private:
  const unsigned char *at_, *end_;
  bool ok_ = true;
};

} // namespace smalloc::trace
#endif
