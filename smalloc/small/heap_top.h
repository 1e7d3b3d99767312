// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// heap_top.h keeps the free memory at the top of malloc's heap for a while. A program that frees
// the rows of a matrix often requests as many for the next matrix within a second. glibc gives the
// free top back at once, and the next rows fault their pages in again. While the top is kept, glibc
// does not trim. It is given back
//   - after kKeptNs without a request to malloc's heap,
//   - once the program has used less of the heap for kKeptNs,
//   - before other memory would raise the peak of the process (ResidentPeak).
// glibc trims the heap when it frees a large object, and only then. So HeapTop holds one untouched
// object, the *trigger*, and frees it to trim, from any thread.
#ifndef SMALLOC_SMALL_HEAP_TOP_H
#define SMALLOC_SMALL_HEAP_TOP_H

#include <atomic>

namespace smalloc {

/// The program's malloc.
struct NextMalloc {
  void *(*malloc)(size_t);
  void (*free)(void *);
  size_t (*top_bytes)(); ///< the free bytes at the end of its heap; 0: not known
};

/// Not thread-safe, but for keeps(): its owner locks (JoiningHeap).
class HeapTop {
public:
  static constexpr uint64_t kKeptNs = 1000000000;
  /// Least size of a heap whose top is kept. The helper thread, which gives it back, costs more
  /// than a smaller top.
  static constexpr size_t kLeastBytes = size_t{32} << 20;

  /// Sets the bytes that glibc leaves at the top when it trims.
  void set_pad(size_t bytes);
  /// True while glibc does not trim.
  bool keeps() const { return trigger_.load(std::memory_order_relaxed) != nullptr; }
  /// Records a request at time `now` (ns), which returned an object that ends at `used_to`, below
  /// the break `end`. Begins to keep the top; gives it back once it has been free for kKeptNs.
  void note_use(uint64_t now, uintptr_t used_to, uintptr_t end, const NextMalloc &next);
  /// Gives the free top back, and lets glibc trim again.
  void give_back();
  /// Gives `bytes` of the free top back, at least an eighth of it, and keeps the rest.
  void give_back(uint64_t bytes, const NextMalloc &next);
  /// Gives the free top back if the program has requested nothing for kKeptNs. Returns keeps().
  bool give_back_if_idle(uint64_t now) {
    if (keeps() && now >= used_ns_ + kKeptNs)
      give_back();
    return keeps();
  }

private:
  /// From this size on glibc's free() trims (FASTBIN_CONSOLIDATION_THRESHOLD).
  static constexpr size_t kTriggerBytes = size_t{64} << 10;
  /// glibc counts the free top in a walk over all free chunks. If that takes longer, the whole top
  /// is given back instead.
  static constexpr uint64_t kMostWalkNs = 50000;
  static void set_trim_threshold(size_t bytes);
  bool begin(const NextMalloc &next);
  size_t top_bytes(const NextMalloc &next);
  size_t trim_threshold() const { return 2 * pad_; }

  size_t pad_ = 0;
  std::atomic<void *> trigger_{nullptr};
  void (*free_)(void *) = nullptr;
  bool walks_ = true;                          ///< the last walk took at most kMostWalkNs
  uint64_t used_ns_ = 0, window_ns_ = 0;       ///< the last request; start of this window
  uintptr_t highest_ = 0, highest_before_ = 0; ///< ends of objects in this window and the last one
};

} // namespace smalloc
#endif
