// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// format.h defines the bytes of a trace (docs/internals/trace-format.md). A file is a row of zstd
// frames, each one chunk. A chunk is a row of records {type, payload bytes, payload}; a reader
// skips unknown types by their length. Each chunk belongs to one thread and can be read without any
// other, so a torn file gives all its whole chunks.
//
// Used inside the traced process too: no allocation, no exceptions.
#ifndef RUNTIME_TRACE_FORMAT_H
#define RUNTIME_TRACE_FORMAT_H

#include <stddef.h>
#include <stdint.h>

namespace smalloc::trace {

inline constexpr uint64_t kVersion = 1;
inline constexpr char kMagic[] = "smalloc.trace/1\n"; ///< opens the payload of a header
inline constexpr uint32_t kFrameMagic = 0xFD2FB528; ///< zstd's; a reader finds the next frame by it
inline constexpr size_t kChunkBytes = size_t{64} << 10;    ///< a writer's chunk
inline constexpr size_t kMostChunkBytes = size_t{1} << 20; ///< largest chunk that a reader takes
inline constexpr size_t kMostFrameBytes = kMostChunkBytes + (kMostChunkBytes >> 6) + 1024;
inline constexpr size_t kMostAccesses = 1024; ///< in one record
/// Unit of recorded addresses (a grain): 2^kGrainShift bytes.
inline constexpr unsigned kGrainShift = 4;
inline constexpr size_t kMostWalkReferences = 16;
/// Bit of an address that the program passes: the access writes.
inline constexpr uint64_t kWrites = uint64_t{1} << 63;
/// Most pages of one walk, so that no file keeps a reader busy for ever. A writer splits walks of
/// more than half as many.
inline constexpr double kMostWalkPages = 1 << 17;

/// Type of a record. dt: nanoseconds since the previous record of the chunk (of the first record:
/// since the chunk's start).
enum class Type : uint64_t {
  kHeader = 1,     ///< kMagic, then "key=value\n" lines
  kSchema = 2,     ///< text for people: the fields of each type
  kChunk = 3,      ///< thread, sequence, start in ns since the trace began
  kSite = 4,       ///< id (8 bytes), kind, offset, text
  kAllocate = 5,   ///< dt, site (8 bytes), bytes, address
  kFree = 6,       ///< dt, address
  kReallocate = 7, ///< as kAllocate, then old address and the context if any (8 bytes)
  /// dt, weight, count, then count pairs (zigzag(grain - last grain) * 2 + write, repeats)
  kAccess = 8,
  kFault = 9,    ///< dt, minor faults, major faults: of the process so far
  kPhase = 10,   ///< dt, text
  kSegment = 11, ///< start, bytes, text: static data
  kEnd = 12,     ///< dt, records lost
  /// dt, iterations, count, then count pairs (zigzag(grain - last grain) * 2 + write,
  /// zigzag(stride))
  kWalk = 13,
  /// as kAccess; entries: zigzag(grain - last grain) * 4 + write * 2 + again, then repeats if
  /// again
  kTouch = 14,
  /// threshold: the chunk's accesses are of regions whose hash is below it; the second record of
  /// a chunk, if present
  kSample = 15,
  /// kAllocate in fewer bytes: dt, zigzag(address - last), bytes; then site and context (8 bytes
  /// each; the context may be missing), unless both equal the last one's
  kNew = 16,
  kGone = 17, ///< kFree: dt, zigzag(address - last)
  /// accesses in no order: dt, bytes of each (2 to 4), lowest grain, then to the record's end
  /// (grain - lowest) * 2 + write
  kSpots = 18,
};

/// Reference of a loop: its address in the first iteration, and what each iteration adds.
struct WalkReference {
  uint64_t address;
  int64_t stride;
  bool write;
};
/// Returns the base pages that one iteration visits anew.
inline double walk_pages(int64_t stride) {
  const double step = stride < 0 ? -static_cast<double>(stride) : static_cast<double>(stride);
  return step < 4096 ? step / 4096 : 1;
}

/// Threshold of a recording of all regions of 2 MiB. Otherwise those are recorded whose hash is
/// below rate * 2^32 (docs/internals/trace-format.md).
inline constexpr uint64_t kEveryRegion = uint64_t{1} << 32;
inline uint64_t region_hash(uint64_t address) {
  return ((address >> 21) * 0x9e3779b97f4a7c15u) >> 32;
}

/// Kind of a site.
enum SiteKind : uint64_t {
  kCompilerSite = 0,  ///< the plugin's id; text: function, newline, file:line, newline, pattern
  kReturnAddress = 1, ///< text: path of the image; offset: of the call's return address in it
  kInlineChain = 2,   ///< id: of a context; text: its inline chain, innermost first, a line each
};

/// Appends to a fixed buffer. What does not fit is left out and sets full().
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
  /// Returns the place of the next byte. A caller that has checked left() writes there and passes
  /// the end of it to append_to().
  unsigned char *end() { return data_ + size_; }
  void append_to(const unsigned char *end) { size_ = static_cast<size_t>(end - data_); }
  void clear() {
    size_ = 0;
    full_ = false;
  }
  /// Drops what was appended since size() was `size`.
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

/// Reads what Bytes wrote. Past the end everything is 0 and ok() is false.
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
  /// Returns the next `bytes` bytes as a cursor of their own.
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
