// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// joining_heap.h serves the small objects of sites whose request size is not constant
// (SMALLOC_SITE_ANY_SIZE) under heap:auto. Size classes round these requests up and keep freed
// objects apart by class. A site whose sizes drift takes 1.2 to 1.5 times the memory there. The
// program's malloc joins freed neighbours, so these objects come from it. Its heap below the break
// gets superpages by madvise: the break moves by one step at a time, and the new part is advised
// before it is touched. That happens before the program reaches the unit that contains the break:
// the upper part of that unit is not mapped yet.
#ifndef SMALLOC_SMALL_JOINING_HEAP_H
#define SMALLOC_SMALL_JOINING_HEAP_H

#include "smalloc/base/spin_lock.h"
#include "smalloc/base/units.h"
#include "smalloc/os/os_hooks.h"

#include <atomic>

namespace smalloc {

class JoiningHeap {
public:
  /// A step is 1/16 of the heap within these bounds: malloc keeps up to two steps unused at its
  /// top.
  static constexpr size_t kStepBytes = size_t{8} << 20, kMostStepBytes = size_t{32} << 20;
  static constexpr size_t kStepsOfHeap = 16;
  /// Requested bytes from which the heap gets superpages. In a heap of this size, one superpage at
  /// its end is a quarter of it at most. The page faults that it saves are worth that. Until then
  /// malloc maps requests of 128 KiB and more separately.
  static constexpr size_t kLeastBytes = size_t{8} << 20;

  /// False if the size classes serve the request without waste, and faster. An array that doubles
  /// as it grows (a vector, a string, a buffer) requests powers of two, or three times one. Above
  /// kMostExact bytes a size class takes a page more than its objects need.
  static bool takes(size_t bytes) {
    const size_t lowest = bytes & (size_t{0} - bytes);
    return bytes > kMostExact || (bytes != lowest && bytes != 3 * lowest);
  }
  static constexpr size_t kMostExact = 8192;
  /// Bytes that a thread requests between two looks.
  static constexpr uint32_t kLookBytes = 256u << 10;
  struct Malloc {
    void *(*malloc)(size_t);
    void (*free)(void *);
  };
  /// Reads the break and advises the new part of the heap. `p`: what malloc has returned for
  /// `bytes` bytes, or nullptr. `requested`: bytes that this thread has requested since its last
  /// look. False: malloc serves the thread from another arena, which has no heap below the break.
  SMALLOC_COLD bool look(const OsHooks &os, const void *p, size_t bytes, size_t requested,
                         const Malloc &next);

private:
  void set_step(size_t bytes);
  uintptr_t move_break(uintptr_t end, const void *p, size_t bytes, const Malloc &next);
  /// glibc joins free neighbours before it serves a request of more than 1 KiB.
  static constexpr size_t kJoinsBytes = 4096;
  /// Consecutive looks that find the program higher up in the last unit. A unit has at most eight.
  static constexpr unsigned kMovesAt = 3;
  SpinLock lock_;
  unsigned rises_ = 0;
  size_t requested_ = 0; ///< by all threads, until the steps are set
  uintptr_t seen_ = 0;   ///< what malloc had returned at the last look
  size_t step_ = 0;      ///< the step that was set; 0: glibc's default
  uintptr_t first_ = 0,
            advised_ = 0; ///< end of the heap at the first look; end of the advised part
};

} // namespace smalloc
#endif
