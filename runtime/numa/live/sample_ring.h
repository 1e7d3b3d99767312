// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// sample_ring.h passes sampled accesses from the program's threads to the profiler. It is a ring
// that any number of threads write to and one reads, without a lock and without waiting. A reader
// that is too slow loses the oldest samples, and knows their number: a sampler may lose, a program
// must not wait. A writer that was killed or stopped in the middle costs its one sample.
#ifndef RUNTIME_NUMA_LIVE_SAMPLE_RING_H
#define RUNTIME_NUMA_LIVE_SAMPLE_RING_H

#include <atomic>
#include <stddef.h>
#include <stdint.h>

namespace smalloc::numa {

class SampleRing {
public:
  static constexpr size_t kSlots = 1u << 14; ///< 256 KiB

  /// Adds a sample. Any thread, also inside a signal handler.
  void put(uint64_t address, uint32_t cpu) {
    const uint64_t ticket = head_.fetch_add(1, std::memory_order_relaxed);
    Slot &slot = slots_[ticket % kSlots];
    // The stamp is odd while the slot is written: (ticket + 1) * 2 - 1, then (ticket + 1) * 2. It
    // never decreases. A writer that was stopped for a whole lap has lost its sample. It must not
    // take the slot back from a later writer, for which the reader would wait.
    uint64_t seen = slot.stamp.load(std::memory_order_relaxed), ours = ticket * 2 + 1;
    do
      if (seen > ours)
        return;
    while (!slot.stamp.compare_exchange_weak(seen, ours, std::memory_order_relaxed));
    // A reader that sees this sample sees that it is being written.
    slot.what.store(address << kCpuBits | (cpu & ((1u << kCpuBits) - 1)),
                    std::memory_order_release);
    slot.stamp.compare_exchange_strong(ours, ours + 1, std::memory_order_release,
                                       std::memory_order_relaxed);
  }
  /// Takes the oldest sample; the reader only. False: there is none now.
  bool take(uint64_t &address, uint32_t &cpu) {
    for (;;) {
      const uint64_t head = head_.load(std::memory_order_acquire);
      if (tail_ == head)
        return false;
      if (head - tail_ > kSlots) {
        lost_ += head - tail_ - kSlots;
        tail_ = head - kSlots;
      }
      Slot &slot = slots_[tail_ % kSlots];
      const uint64_t wanted = tail_ * 2 + 2;
      const uint64_t before = slot.stamp.load(std::memory_order_acquire);
      if (before < wanted && head - tail_ < kSlots / 2)
        return false; // its writer is not done; it will be, or others overtake it
      const uint64_t what = slot.what.load(std::memory_order_acquire);
      const uint64_t after = slot.stamp.load(std::memory_order_relaxed);
      tail_++;
      if (before == wanted && after == wanted) {
        address = what >> kCpuBits;
        cpu = static_cast<uint32_t>(what & ((1u << kCpuBits) - 1));
        return true;
      }
      lost_++;
    }
  }
  uint64_t lost() const { return lost_; }

private:
  static constexpr unsigned kCpuBits = 12; ///< user addresses have 52 bits at most
  struct Slot {
    std::atomic<uint64_t> stamp{0}, what{0};
  };
  std::atomic<uint64_t> head_{0};
  uint64_t tail_ = 0, lost_ = 0;
  Slot slots_[kSlots];
};

} // namespace smalloc::numa
#endif
