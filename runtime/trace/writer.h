// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// writer.h writes events out of the traced process. Each thread fills a chunk of its own. It
// compresses a full chunk and appends it to the file by one write(2), and O_APPEND keeps frames
// whole. So threads never wait for each other. A failing write stops the recording, never the
// program.
//
// No malloc, no exceptions, no C++ runtime: memory comes from mmap.
#ifndef RUNTIME_TRACE_WRITER_H
#define RUNTIME_TRACE_WRITER_H

#include "runtime/trace/format.h"
#include "smalloc/files/kept_file.h"

#include <atomic>
#include <sys/types.h>

namespace smalloc::trace {

/// The trace's file. One in a process.
class Output {
public:
  /// Creates `path` and writes the header: "key=value\n" lines. If a file exists there, ".PID" is
  /// appended to the path, or ".PID.N" if that exists, too. Returns 0 or an errno value; on failure
  /// no created file is left.
  int open(const char *path, const char *header, size_t header_bytes);
  bool recording() const { return state_.load(std::memory_order_relaxed) == State::kRecording; }
  /// Takes no more events; those taken before are still written. False: nothing is being recorded.
  bool begin_end() {
    State before = State::kRecording;
    return state_.compare_exchange_strong(before, State::kEnding);
  }
  bool ending() const { return state_.load(std::memory_order_relaxed) == State::kEnding; }
  /// Compresses a chunk and appends it. `work`: a compressor's workspace of work_bytes(). False:
  /// the recording has been stopped.
  /// quick_chunks: the caller's counter, at first 0: chunks that are still to be compressed quickly
  /// instead of well.
  bool write_chunk(const unsigned char *chunk, size_t bytes, void *work,
                   unsigned *quick_chunks = nullptr);
  /// Stops the recording. The first call prints one warning line with `why` to standard error.
  void stop(const char *why);
  /// Closes the file in a child of fork; the parent's file stays as it is.
  void close();
  /// Stops the recording without a message. The file stays open: another thread may be writing to
  /// it, and a file of the program's must not get its descriptor meanwhile.
  void end() { state_.store(State::kOff, std::memory_order_release); }
  static size_t work_bytes();
  const char *path() const { return path_; }
  /// True if a file stood at the given path, so that path() is that path with ".PID". False also if
  /// that existed, too: then this process itself recorded before it executed another program.
  bool beside() const { return beside_; }

private:
  /// Returns nullptr if all is written, else the reason in words; `error` is then an errno value.
  const char *append(const unsigned char *chunk, size_t bytes, void *work, unsigned *quick_chunks,
                     int &error);
  void abandon();

  KeptFile file_;
  enum class State : unsigned char { kOff, kRecording, kEnding };
  std::atomic<State> state_{State::kOff};
  std::atomic<bool> warned_{false};
  bool beside_ = false;
  char path_[4096] = {};
};

/// One thread's chunk. Only its thread appends; another one may call close() when the process ends.
/// busy_ is their lock.
class ThreadChunk {
public:
  /// Creates a chunk with `extra_bytes` for the owner. Returns nullptr if there is no memory.
  static ThreadChunk *create(Output &output, uint64_t thread, size_t extra_bytes = 0);
  void destroy();

  /// Records an allocation. context: the inlined copy of the site; 0: none.
  void allocate(uint64_t now_ns, uint64_t site, uint64_t bytes, uint64_t address,
                uint64_t context = 0);
  void free(uint64_t now_ns, uint64_t address);
  /// Object after a reallocation.
  struct Object {
    uint64_t site, bytes, address;
    uint64_t context = 0; ///< as of allocate()
  };
  void reallocate(uint64_t now_ns, const Object &object, uint64_t old_address);
  void site(uint64_t id, SiteKind kind, uint64_t offset, const char *text, size_t text_bytes);
  /// An access. Consecutive ones of one base page become one run of the record.
  struct Access {
    uint64_t address;
    uint32_t repeats; ///< accesses to the same page right after this one
    bool write;
  };
  void accesses(uint64_t now_ns, uint64_t weight, const Access *list, size_t count);
  /// Records accesses of weight 1, each an address | kWrites.
  void told(uint64_t now_ns, const uint64_t *list, size_t count);
  /// Records a loop with at most kMostWalkReferences references. One that visits very many pages
  /// becomes several records.
  void walk(uint64_t now_ns, uint64_t iterations, const WalkReference *list, size_t count);
  void faults(uint64_t now_ns, uint64_t minor, uint64_t major);
  void phase(uint64_t now_ns, const char *text, size_t text_bytes);
  void segment(uint64_t start, uint64_t bytes, const char *text, size_t text_bytes);
  /// Records the end, also after Output::begin_end(). lost_elsewhere: events lost by chunks that
  /// get no end of their own.
  void end(uint64_t now_ns, uint64_t lost_elsewhere = 0);
  uint64_t lost() const { return lost_.load(std::memory_order_relaxed); }
  /// Records a new threshold of the sample: later accesses are of regions whose hash is below it.
  /// Writes out earlier records first.
  void sampled_below(uint64_t threshold);
  void flush();
  /// Flushes for good, on the thread that ends the process, after Output::begin_end(). Waits for a
  /// chunk that is being written, since the kernel cuts a write short when its process ends. naps:
  /// naps of a millisecond that are left for waiting.
  void close(unsigned &naps);
  /// Gives the chunk to another thread; it must be flushed before.
  void restart(uint64_t thread) {
    thread_ = thread;
    sequence_ = 0;
  }
  void *extra() { return static_cast<unsigned char *>(work_) + Output::work_bytes(); }
  /// Drops what is not written yet (in a child of fork: it is the parent's).
  void drop();

  ThreadChunk *next = nullptr, *next_idle = nullptr; ///< the owner's lists

private:
  ThreadChunk(Output &output, uint64_t thread, size_t bytes);
  class Record;
  bool begin(uint64_t now_ns, size_t room, bool last = false);
  bool seize(unsigned &naps);
  uint64_t elapsed(uint64_t now_ns);
  unsigned char *begin_short(Type type, uint64_t now_ns);
  void end_short(const unsigned char *out);
  void spots(uint64_t now_ns, const uint64_t *list, size_t count, uint64_t low, unsigned width);
  void open_chunk(uint64_t now_ns);
  void write_out();
  template <class At> void put_accesses(uint64_t now_ns, uint64_t weight, At at, size_t count);

  Output &output_;
  uint64_t thread_, sequence_ = 0, last_ns_ = 0, start_ns_ = 0;
  std::atomic<uint64_t> lost_{0}; ///< read by the thread that ends the recording
  uint64_t last_address_ = 0, last_site_ = 0,
           last_context_ = 0; ///< of the chunk's allocations and frees
  uint64_t threshold_ = 0;    ///< 0: as in the header
  uint64_t spots_low_ = 0;    ///< lowest address of the last spots
  unsigned spot_bytes_ = 0;   ///< bytes of each of the last spots; 0: the last list had none
  unsigned spots_unseen_ = 0; ///< lists that may still be written without a search for the lowest
  size_t mapped_bytes_;
  unsigned quick_chunks_ = 0;
  std::atomic<bool> busy_{false}, writing_{false};
  Bytes bytes_;
  void *work_;
};

} // namespace smalloc::trace
#endif
