// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// writer.cpp decides how a chunk becomes a frame (zstd level 1 with a checksum, or less where that hardly helps, in a
// workspace of its thread) and what happens when the file cannot grow: a short write stops the recording; the torn frame
// is skipped by the reader. SIGXFSZ, which a file size limit sends, is kept from the program.
#define ZSTD_STATIC_LINKING_ONLY
#include "runtime/trace/writer.h"

#include <zstd.h>

#include <bit>
#include <errno.h>
#include <fcntl.h>
#include <new>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

namespace smalloc::trace {
namespace {

constexpr int kLevel = 1;
/// Addresses in no order hardly shrink, and level 1 takes several times as long as everything else to find that out: after a
/// chunk that kept more than this share of its bytes, the thread's next ones are written at a level that only looks for repeats.
constexpr int kQuickLevel = -1;
constexpr size_t kKeptOf8 = 5;
constexpr unsigned kQuickChunks = 15;
constexpr size_t kMostRecordBytes =
    48 + kMostAccesses * 20; ///< the longest record there is, and what is written ahead
static_assert(kMostRecordBytes < kChunkBytes / 2);
constexpr size_t kMostText = 2048;
constexpr unsigned kPageShift = 12; // runs are of base pages
static_assert(kMostAccesses < 1 << 14, "a count of runs has two bytes");
/// A chunk that is older is written by its thread's next event, so that a killed process loses little.
constexpr uint64_t kOldestNs = 1000000000;

const char kSchemaText[] =
    "chunk thread sequence start_ns; site id kind offset text; allocate dt site bytes address; "
    "free dt address; reallocate dt site bytes address old; access dt weight count (grain write "
    "repeats)...; touch dt weight count (grain write again [repeats])...; walk dt iterations count "
    "(grain write stride)...; fault dt minor major; phase dt "
    "text; segment start bytes text; end dt lost. "
    "Integers are LEB128, ids 8 bytes; dt in ns since the last record.";

// Rounded, so that what lies behind it is aligned.
size_t context_bytes() {
  const size_t usual = ZSTD_estimateCCtxSize_usingCParams(ZSTD_getCParams(kLevel, kChunkBytes, 0));
  const size_t quick =
      ZSTD_estimateCCtxSize_usingCParams(ZSTD_getCParams(kQuickLevel, kChunkBytes, 0));
  return ((usual > quick ? usual : quick) + 63) & ~size_t{63};
}
size_t frame_bytes() { return (ZSTD_compressBound(kChunkBytes) + 63) & ~size_t{63}; }

void *map(size_t bytes) {
  void *p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return p == MAP_FAILED ? nullptr : p;
}

unsigned char *put_varint(unsigned char *out, uint64_t value) {
  for (; value >= 0x80; value >>= 7)
    *out++ = static_cast<unsigned char>(value | 0x80);
  *out++ = static_cast<unsigned char>(value);
  return out;
}

// The same without a branch on the number's length, which nobody foresees where addresses jump about. Writes up to 8 bytes
// behind the number's own. Groups of 7 bits are moved apart in three steps; all but the last get the bit that says so.
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

// write(2) without SIGXFSZ.
ssize_t write_quietly(int fd, const void *data, size_t bytes) {
  sigset_t limit, before;
  sigemptyset(&limit);
  sigaddset(&limit, SIGXFSZ);
  pthread_sigmask(SIG_BLOCK, &limit, &before);
  ssize_t n;
  do
    n = write(fd, data, bytes);
  while (n < 0 && errno == EINTR);
  const int error = errno;
  if (n < 0 && error == EFBIG && !sigismember(&before, SIGXFSZ)) {
    const timespec now = {};
    sigtimedwait(&limit, nullptr, &now);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return n;
}

} // namespace

size_t Output::work_bytes() { return context_bytes() + frame_bytes(); }

int Output::open(const char *path, const char *header, size_t header_bytes) {
  const size_t length = strlen(path);
  if (length == 0 || length + 24 > sizeof path_)
    return ENAMETOOLONG;
  memcpy(path_, path, length + 1);
  constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC;
  struct stat there;
  if (stat(path, &there) == 0 && !S_ISREG(there.st_mode))
    return S_ISDIR(there.st_mode) ? EISDIR : EEXIST; // nothing that a trace may stand beside
  fd_ = ::open(path_, kFlags, 0600);
  for (unsigned attempt = 0; fd_ < 0 && errno == EEXIST && attempt < 100; attempt++) {
    // Of another process of the same run, which was first, or of an earlier run. What has our number, too, is of this process before
    // it became another program.
    beside_ = attempt == 0;
    snprintf(path_ + length, sizeof path_ - length, attempt ? ".%d.%u" : ".%d",
             static_cast<int>(getpid()), attempt);
    fd_ = ::open(path_, kFlags, 0600);
  }
  if (fd_ < 0)
    return errno;
  // A low number is one that the program expects to get, and may close.
  const int high = fcntl(fd_, F_DUPFD_CLOEXEC, 200);
  if (high >= 0) {
    ::close(fd_);
    fd_ = high;
  }
  recording_.store(true, std::memory_order_release);
  unsigned char *memory = static_cast<unsigned char *>(map(kChunkBytes + work_bytes()));
  if (!memory) {
    stop(nullptr);
    return ENOMEM;
  }
  Bytes chunk(memory, kChunkBytes);
  const size_t payload = sizeof kMagic - 1 + header_bytes;
  chunk.varint(static_cast<uint64_t>(Type::kHeader));
  chunk.varint(payload);
  chunk.text(kMagic, sizeof kMagic - 1);
  chunk.text(header, header_bytes);
  chunk.varint(static_cast<uint64_t>(Type::kSchema));
  chunk.varint(sizeof kSchemaText - 1);
  chunk.text(kSchemaText, sizeof kSchemaText - 1);
  const bool written = !chunk.full() && write_chunk(memory, chunk.size(), memory + kChunkBytes);
  munmap(memory, kChunkBytes + work_bytes());
  return written ? 0 : EIO;
}

bool Output::write_chunk(const unsigned char *chunk, size_t bytes, void *work,
                         unsigned *quick_chunks) {
  if (!recording())
    return false;
  ZSTD_CCtx *context = ZSTD_initStaticCCtx(work, context_bytes());
  if (!context) {
    stop("the compressor cannot start");
    return false;
  }
  auto *frame = static_cast<unsigned char *>(work) + context_bytes();
  ZSTD_CCtx_reset(context, ZSTD_reset_session_and_parameters); // a static context starts with none
  const bool quick = quick_chunks && *quick_chunks > 0;
  ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, quick ? kQuickLevel : kLevel);
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  const size_t size = ZSTD_compress2(context, frame, frame_bytes(), chunk, bytes);
  if (ZSTD_isError(size)) {
    stop("a chunk cannot be compressed");
    return false;
  }
  if (quick)
    --*quick_chunks;
  else if (quick_chunks && size > bytes / 8 * kKeptOf8)
    *quick_chunks = kQuickChunks;
  const ssize_t written = write_quietly(fd_, frame, size);
  if (written == static_cast<ssize_t>(size))
    return true;
  stop(written < 0 && errno != ENOSPC && errno != EFBIG && errno != EDQUOT
           ? "the file cannot be written"
           : "no space is left for the file");
  return false;
}

void Output::stop(const char *why) {
  recording_.store(false, std::memory_order_release);
  if (!why || warned_.exchange(true))
    return;
  char line[sizeof path_ + 128];
  const int n = snprintf(line, sizeof line, "smalloc: warning: trace (%s): %s; recording stopped\n",
                         path_, why);
  if (n > 0 &&
      write(2, line,
            static_cast<size_t>(n) < sizeof line ? static_cast<size_t>(n) : sizeof line - 1) < 0)
    return; // nobody listens
}

void Output::close() {
  recording_.store(false, std::memory_order_release);
  if (fd_ >= 0)
    ::close(fd_);
  fd_ = -1;
}

ThreadChunk::ThreadChunk(Output &output, uint64_t thread, size_t bytes)
    : output_(output), thread_(thread), mapped_bytes_(bytes),
      bytes_(reinterpret_cast<unsigned char *>(this + 1), kChunkBytes),
      work_(reinterpret_cast<unsigned char *>(this + 1) + kChunkBytes) {}

// One mapping: this object, its chunk, the compressor's workspace, the owner's extra bytes.
ThreadChunk *ThreadChunk::create(Output &output, uint64_t thread, size_t extra_bytes) {
  static_assert(sizeof(ThreadChunk) % 8 == 0);
  const size_t bytes = sizeof(ThreadChunk) + kChunkBytes + Output::work_bytes() + extra_bytes;
  void *memory = map(bytes);
  return memory ? new (memory) ThreadChunk(output, thread, bytes) : nullptr;
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
  last_ns_ = start_ns_ = now_ns;
}

// True: there is room for the longest record, and the caller must leave (busy_ is set).
bool ThreadChunk::begin(uint64_t now_ns) {
  if (!output_.recording())
    return false;
  if (busy_.exchange(true, std::memory_order_acquire)) {
    lost_++; // a signal handler inside a record, or the process is ending
    return false;
  }
  if (bytes_.left() < kMostRecordBytes || now_ns > start_ns_ + kOldestNs)
    write_out();
  if (bytes_.size() == 0)
    open_chunk(now_ns);
  return true;
}

void ThreadChunk::write_out() {
  if (bytes_.size())
    output_.write_chunk(bytes_.data(), bytes_.size(), work_, &quick_chunks_);
  bytes_.clear();
}

/// A record's payload in a small buffer of its own, appended with type and length at the end.
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
  void time(uint64_t now_ns) {
    p.varint(now_ns > chunk_.last_ns_ ? now_ns - chunk_.last_ns_ : 0);
    if (now_ns > chunk_.last_ns_)
      chunk_.last_ns_ = now_ns;
  }

private:
  ThreadChunk &chunk_;
  Type type_;
  unsigned char payload_[kMostText + 64];

public:
  Bytes p;
};

void ThreadChunk::allocate(uint64_t now_ns, uint64_t site, uint64_t bytes, uint64_t address) {
  if (!begin(now_ns))
    return;
  Record r(*this, Type::kAllocate);
  r.time(now_ns);
  r.p.fixed64(site);
  r.p.varint(bytes);
  r.p.varint(address);
}

void ThreadChunk::free(uint64_t now_ns, uint64_t address) {
  if (!begin(now_ns))
    return;
  Record r(*this, Type::kFree);
  r.time(now_ns);
  r.p.varint(address);
}

void ThreadChunk::reallocate(uint64_t now_ns, uint64_t site, uint64_t bytes, uint64_t address,
                             uint64_t old_address) {
  if (!begin(now_ns))
    return;
  Record r(*this, Type::kReallocate);
  r.time(now_ns);
  r.p.fixed64(site);
  r.p.varint(bytes);
  r.p.varint(address);
  r.p.varint(old_address);
}

void ThreadChunk::site(uint64_t id, SiteKind kind, uint64_t offset, const char *text,
                       size_t text_bytes) {
  if (!begin(last_ns_))
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

void ThreadChunk::told(uint64_t now_ns, const uint64_t *list, size_t count) {
  put_accesses(
      now_ns, 1,
      [list](size_t i) { return Access{list[i] & ~kWrites, 0, (list[i] & kWrites) != 0}; }, count);
}

template <class At>
void ThreadChunk::put_accesses(uint64_t now_ns, uint64_t weight, At at, size_t count) {
  for (size_t first = 0; first < count;) {
    const size_t most = first + (count - first < kMostAccesses ? count - first : kMostAccesses);
    if (!begin(now_ns))
      return;
    // Straight into the chunk: the length goes in front in two bytes, whatever it is.
    constexpr size_t kLengthBytes = 3;
    bytes_.varint(static_cast<uint64_t>(Type::kTouch));
    const size_t length_at = bytes_.size();
    for (size_t i = 0; i < kLengthBytes; i++)
      bytes_.byte(0);
    bytes_.varint(now_ns > last_ns_ ? now_ns - last_ns_ : 0);
    if (now_ns > last_ns_)
      last_ns_ = now_ns;
    bytes_.varint(weight);
    const size_t runs_at = bytes_.size(); // how many, in two bytes as well
    bytes_.byte(0);
    bytes_.byte(0);
    size_t runs = 0;
    uint64_t last = 0;
    unsigned char *out = bytes_.end(); // begin() has seen that the longest record fits
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
  double pages = 0; // an iteration
  for (size_t i = 0; i < count; i++)
    pages += walk_pages(list[i].stride);
  for (uint64_t done = 0; done < iterations;) {
    uint64_t n = iterations - done;
    if (pages * static_cast<double>(n) > kPagesAtATime)
      n = static_cast<uint64_t>(kPagesAtATime / pages);
    if (!begin(now_ns))
      return;
    // Straight into the chunk, as accesses: loops may be short.
    constexpr size_t kLengthBytes = 2;
    bytes_.varint(static_cast<uint64_t>(Type::kWalk));
    unsigned char *const length_at = bytes_.end(), *const payload = length_at + kLengthBytes;
    unsigned char *out = put_varint(payload, now_ns > last_ns_ ? now_ns - last_ns_ : 0);
    if (now_ns > last_ns_)
      last_ns_ = now_ns;
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
  if (!begin(now_ns))
    return;
  Record r(*this, Type::kFault);
  r.time(now_ns);
  r.p.varint(minor);
  r.p.varint(major);
}

void ThreadChunk::phase(uint64_t now_ns, const char *text, size_t text_bytes) {
  if (!begin(now_ns))
    return;
  Record r(*this, Type::kPhase);
  r.time(now_ns);
  r.p.text(text, text_bytes < kMostText ? text_bytes : kMostText);
}

void ThreadChunk::segment(uint64_t start, uint64_t bytes, const char *text, size_t text_bytes) {
  if (!begin(last_ns_))
    return;
  Record r(*this, Type::kSegment);
  r.p.varint(start);
  r.p.varint(bytes);
  r.p.text(text, text_bytes < kMostText ? text_bytes : kMostText);
}

void ThreadChunk::end(uint64_t now_ns) {
  if (!begin(now_ns))
    return;
  Record r(*this, Type::kEnd);
  r.time(now_ns);
  r.p.varint(lost_);
}

void ThreadChunk::flush() {
  if (busy_.exchange(true, std::memory_order_acquire))
    return;
  write_out();
  busy_.store(false, std::memory_order_release);
}

void ThreadChunk::drop() {
  bytes_.clear();
  lost_ = 0;
  sequence_ = 0;
  busy_.store(false, std::memory_order_relaxed);
}

} // namespace smalloc::trace
