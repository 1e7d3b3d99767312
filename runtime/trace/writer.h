// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// writer.h decides how events leave the traced process: each thread fills a chunk of its own, and
// when it is full compresses it and appends it to the file by one write(2) (O_APPEND keeps frames
// whole), so that threads never wait for each other. A failing write stops the recording, never
// the program.
//
// No malloc, no exceptions, no C++ runtime: memory comes from mmap.
#ifndef RUNTIME_TRACE_WRITER_H
#define RUNTIME_TRACE_WRITER_H

#include "runtime/trace/format.h"
#include "smalloc/files/kept_file.h"

#include <atomic>
#include <sys/types.h>

namespace smalloc::trace {

/// The file. One in a process.
class Output {
public:
  /// Creates `path` (never over an existing file: then ".PID" is appended) and writes the header:
  /// "key=value\n" lines. Returns 0 or an errno value; then no file of ours is left.
  int open(const char *path, const char *header, size_t header_bytes);
  bool recording() const { return state_.load(std::memory_order_relaxed) == State::kRecording; }
  /// No event is taken any more, but what has been is still written. False: nothing is being recorded.
  bool begin_end() {
    State before = State::kRecording;
    return state_.compare_exchange_strong(before, State::kEnding);
  }
  bool ending() const { return state_.load(std::memory_order_relaxed) == State::kEnding; }
  /// Compresses a chunk and appends it. `work` is a compressor's workspace of work_bytes().
  /// False: the recording has been stopped.
  /// quick_chunks: the caller's, at first 0, for how many more chunks compressing well is not tried.
  bool write_chunk(const unsigned char *chunk, size_t bytes, void *work,
                   unsigned *quick_chunks = nullptr);
  /// Records no more; the first time, one warning line with the reason goes to standard error.
  void stop(const char *why);
  /// In a child of fork the parent's file stays as it is.
  void close();
  /// Records no more, and says nothing. The file stays open: another thread may be writing to it, and its number must not become
  /// that of a file of the program's meanwhile.
  void end() { state_.store(State::kOff, std::memory_order_release); }
  static size_t work_bytes();
  const char *path() const { return path_; }
  /// Did something stand there already, so that it is not the path that was given?
  bool beside() const { return beside_; }

private:
  /// nullptr: all of it is written; else why not, for people, and in `error` an errno value.
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

/// One thread's chunk. Only its thread appends; close() may be called by another one at exit (busy_).
class ThreadChunk {
public:
  /// With extra_bytes for the owner. nullptr when there is no memory.
  static ThreadChunk *create(Output &output, uint64_t thread, size_t extra_bytes = 0);
  void destroy();

  /// context: which inlined copy of the site; 0: none.
  void allocate(uint64_t now_ns, uint64_t site, uint64_t bytes, uint64_t address,
                uint64_t context = 0);
  void free(uint64_t now_ns, uint64_t address);
  void reallocate(uint64_t now_ns, uint64_t site, uint64_t bytes, uint64_t address,
                  uint64_t old_address, uint64_t context = 0);
  void site(uint64_t id, SiteKind kind, uint64_t offset, const char *text, size_t text_bytes);
  /// Consecutive ones of one base page become one run of the record.
  struct Access {
    uint64_t address;
    uint32_t repeats; ///< accesses to the same page right after this one
    bool write;
  };
  void accesses(uint64_t now_ns, uint64_t weight, const Access *list, size_t count);
  /// The same of addresses, | kWrites, of weight 1.
  void told(uint64_t now_ns, const uint64_t *list, size_t count);
  /// A loop's references; at most kMostWalkReferences. One that visits very many pages becomes several records.
  void walk(uint64_t now_ns, uint64_t iterations, const WalkReference *list, size_t count);
  void faults(uint64_t now_ns, uint64_t minor, uint64_t major);
  void phase(uint64_t now_ns, const char *text, size_t text_bytes);
  void segment(uint64_t start, uint64_t bytes, const char *text, size_t text_bytes);
  /// Taken after Output::begin_end() as well. lost_elsewhere: events of chunks that get no end of their own.
  void end(uint64_t now_ns, uint64_t lost_elsewhere = 0);
  uint64_t lost() const { return lost_.load(std::memory_order_relaxed); }
  /// Of a sample that changes: accesses from here on are of regions whose hash is below it. What is written so far goes out first.
  void sampled_below(uint64_t threshold);
  void flush();
  /// The same for good, by the thread that ends the process, after Output::begin_end(). Waits for a chunk that is being written, since
  /// the kernel cuts a write short whose process ends; naps of a millisecond that are left for that.
  void close(unsigned &naps);
  /// The chunk goes to another thread; flushed before.
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
  std::atomic<uint64_t> lost_{0}; ///< who ends the recording asks for it
  uint64_t last_address_ = 0, last_site_ = 0,
           last_context_ = 0; ///< of the chunk's allocations and frees
  uint64_t threshold_ = 0;    ///< 0: the header says it
  uint64_t spots_low_ = 0;    ///< of the last spots, whose
  unsigned spot_bytes_ = 0;   ///< 0: the last list was none
  unsigned spots_unseen_ = 0; ///< lists that may still go without a search for the lowest
  size_t mapped_bytes_;
  unsigned quick_chunks_ = 0;
  std::atomic<bool> busy_{false}, writing_{false};
  Bytes bytes_;
  void *work_;
};

} // namespace smalloc::trace
#endif
