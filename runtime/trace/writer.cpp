// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// writer.cpp opens the trace's file and writes chunks as frames: zstd level 1 with a checksum, in a
// workspace of the thread. A thread whose chunks hardly shrink uses a quicker level. If the file
// cannot grow, a short write stops the recording; the reader skips the torn frame.
#define ZSTD_STATIC_LINKING_ONLY
#include "runtime/trace/writer.h"
#include "smalloc/files/quiet_file.h"

#include <zstd.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace smalloc::trace {
namespace {

constexpr int kLevel = 1;
/// Addresses in no order hardly shrink, and level 1 takes several times as long as everything else
/// to find that out. After a chunk that kept more than kKeptOf8 eighths of its bytes, the thread's
/// next kQuickChunks chunks are written at a level that only looks for repeats.
constexpr int kQuickLevel = -64;
constexpr size_t kKeptOf8 = 4;
constexpr unsigned kQuickChunks = 31;
const char kSchemaText[] =
    "chunk thread sequence start_ns; site id kind offset text; allocate dt site bytes address; "
    "free dt address; reallocate dt site bytes address old; access dt weight count (grain write "
    "repeats)...; touch dt weight count (grain write again [repeats])...; walk dt iterations count "
    "(grain write stride)...; fault dt minor major; phase dt "
    "text; segment start bytes text; end dt lost; sample threshold; "
    "new dt address [site]; gone dt address; spots dt width grain (grain * 2 + write).... "
    "Integers are LEB128, ids 8 bytes; dt in ns since the last record.";

// Rounds up, so that what lies behind it is aligned.
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
    return S_ISDIR(there.st_mode) ? EISDIR : EEXIST; // a trace can only stand beside a file
  int fd = ::open(path_, kFlags, 0600);
  for (unsigned attempt = 0; fd < 0 && errno == EEXIST && attempt < 100; attempt++) {
    // The file is of another process of this run or of an earlier run. One with this process's
    // number is of this process before it executed another program.
    beside_ = attempt == 0;
    snprintf(path_ + length, sizeof path_ - length, attempt ? ".%d.%u" : ".%d",
             static_cast<int>(getpid()), attempt);
    fd = ::open(path_, kFlags, 0600);
  }
  if (fd < 0)
    return errno;
  file_.keep(fd);
  unsigned char *memory = static_cast<unsigned char *>(map(kChunkBytes + work_bytes()));
  if (!memory) {
    abandon();
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
  int error = EIO;
  if (!chunk.full() && !append(memory, chunk.size(), memory + kChunkBytes, nullptr, error))
    error = 0;
  munmap(memory, kChunkBytes + work_bytes());
  if (error)
    abandon();
  else
    state_.store(State::kRecording, std::memory_order_release);
  return error;
}

// Removes the file: without a header it is no trace. This process has created it, and no other has
// it open.
void Output::abandon() {
  unlink(path_);
  close();
}

bool Output::write_chunk(const unsigned char *chunk, size_t bytes, void *work,
                         unsigned *quick_chunks) {
  if (state_.load(std::memory_order_relaxed) == State::kOff)
    return false;
  int error;
  const char *why = append(chunk, bytes, work, quick_chunks, error);
  if (why)
    stop(why);
  return !why;
}

const char *Output::append(const unsigned char *chunk, size_t bytes, void *work,
                           unsigned *quick_chunks, int &error) {
  error = ENOMEM;
  ZSTD_CCtx *context = ZSTD_initStaticCCtx(work, context_bytes());
  if (!context)
    return "the compressor cannot start";
  auto *frame = static_cast<unsigned char *>(work) + context_bytes();
  ZSTD_CCtx_reset(context, ZSTD_reset_session_and_parameters); // a static context has none at first
  const bool quick = quick_chunks && *quick_chunks > 0;
  ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, quick ? kQuickLevel : kLevel);
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  const size_t size = ZSTD_compress2(context, frame, frame_bytes(), chunk, bytes);
  if (ZSTD_isError(size))
    return "a chunk cannot be compressed";
  if (quick)
    --*quick_chunks;
  else if (quick_chunks && size > bytes / 8 * kKeptOf8)
    *quick_chunks = kQuickChunks;
  const int fd = file_.descriptor();
  if (fd < 0) {
    error = EBADF;
    return "the program has closed the file, and it cannot be opened again";
  }
  const ssize_t written = write_quietly(fd, frame, size);
  if (written == static_cast<ssize_t>(size))
    return nullptr;
  error = written < 0 ? errno : ENOSPC;
  return error == ENOSPC || error == EFBIG || error == EDQUOT ? "no space is left for the file"
                                                              : "the file cannot be written";
}

void Output::stop(const char *why) {
  end();
  if (warned_.exchange(true))
    return;
  char line[sizeof path_ + 128];
  const int n = snprintf(line, sizeof line, "smalloc: warning: trace (%s): %s; recording stopped\n",
                         path_, why);
  if (n > 0 && write_quietly(2, line,
                             static_cast<size_t>(n) < sizeof line ? static_cast<size_t>(n)
                                                                  : sizeof line - 1) < 0)
    return; // stderr is closed: ignore
}

void Output::close() {
  end();
  file_.close();
}

} // namespace smalloc::trace
