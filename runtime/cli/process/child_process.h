// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// child_process.h decides how a command that we stay beside is ended: by whoever ends us. What one process sends us (kill, a batch
// system, timeout) goes on to the command; what a terminal sends has reached it already. And how we know whether it has begun at all:
// a status of 126 or 127 may be its own.
#pragma once

#include <csignal>

#include <sys/types.h>

struct rusage;

namespace smalloc::cli {

// Made before the fork, so that no signal gets lost between the two; from then on until its end these signals wait for wait_for().
class ForwardedSignals {
public:
  ForwardedSignals();
  ~ForwardedSignals();
  ForwardedSignals(const ForwardedSignals &) = delete;
  ForwardedSignals &operator=(const ForwardedSignals &) = delete;

  // In the child, before it becomes the command: everything as it was given to us.
  void give_back() const;
  // Until the child has ended; its wait status. From then on a terminal's signals do not end us either: what remains to be done is short.
  int wait_for(pid_t child, rusage &usage) const;

private:
  sigset_t taken_, before_;
  struct sigaction child_ended_;
};

// A pipe, made before the fork, that is closed without a word when the child becomes the command.
class StartReport {
public:
  StartReport();
  ~StartReport();
  StartReport(const StartReport &) = delete;
  StartReport &operator=(const StartReport &) = delete;

  // In the child, which is still ours.
  void say_not_started() const;
  // In the parent, once: waits until it is known.
  bool started();

private:
  int ends_[2] = {-1, -1};
};

} // namespace smalloc::cli
