// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// miss_counter.h counts a process' accesses that miss the data TLB, in user mode, where a PMU can.
// It uses two counters and no interrupts, so the only cost is at a switch between threads. It does
// nothing under a seccomp filter, which may kill the process for the system call.
#ifndef SMALLOC_PROCESS_MISS_COUNTER_H
#define SMALLOC_PROCESS_MISS_COUNTER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct perf_event_attr;

namespace smalloc {

class MissCounter {
public:
  /// System calls that it uses; tests replace them.
  struct Calls {
    bool (*is_filtered)();
    int (*open)(perf_event_attr &event); ///< returns a descriptor, or -1
    bool (*identity)(int fd, uint64_t &id);
    ssize_t (*read)(int fd, void *to, size_t bytes);
    void (*close)(int fd);
  };
  static const Calls kKernel;

  /// Starts to count in this thread and in all threads that descend from it from now on, but not in
  /// child processes. Works once. Makes system calls only.
  void start(const Calls &calls = kKernel);
  /// Sets `misses` to the count so far, including threads that have ended. Returns false if the
  /// count is unknown: no PMU, no permission, a filter, Linux before 5.13, or the program has
  /// closed the descriptors.
  bool read(uint64_t &misses) const;

private:
  struct Event {
    int fd = -1;
    uint64_t id = 0; ///< identity of the event: a program that closes every descriptor may reuse
                     ///< the number
  };
  Event open(uint64_t operation) const;
  bool read(const Event &event, uint64_t &count) const;

  const Calls *calls_ = nullptr;
  Event loads_, stores_; ///< many processors count loads and stores as loads
};

} // namespace smalloc
#endif
