// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// miss_counter.h decides what is counted of a process' address translation: its accesses that miss the data TLB, in user mode, where a PMU
// tells them. Two counters and no interrupts: the program pays for them when its threads are switched. Never where a seccomp
// filter is in force, which may end the process for the question.
#ifndef SMALLOC_PROCESS_MISS_COUNTER_H
#define SMALLOC_PROCESS_MISS_COUNTER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct perf_event_attr;

namespace smalloc {

class MissCounter {
public:
  /// The system's, or a test's.
  struct Calls {
    bool (*is_filtered)();
    int (*open)(perf_event_attr &event); ///< a descriptor, or -1
    bool (*identity)(int fd, uint64_t &id);
    ssize_t (*read)(int fd, void *to, size_t bytes);
    void (*close)(int fd);
  };
  static const Calls kKernel;

  /// Of this thread, and of all that it and they start; not of child processes. Once. System calls only.
  void start(const Calls &calls = kKernel);
  /// So far, in threads that have ended as well. False: nobody knows (no PMU, closed to this user, a filter, Linux before 5.13, or the program
  /// has closed the descriptors).
  bool read(uint64_t &misses) const;

private:
  struct Event {
    int fd = -1;
    uint64_t id = 0; ///< a program that closes every descriptor may have a file of its own there
  };
  Event open(uint64_t operation) const;
  bool read(const Event &event, uint64_t &count) const;

  const Calls *calls_ = nullptr;
  Event loads_, stores_; ///< many processors count both as loads
};

} // namespace smalloc
#endif
