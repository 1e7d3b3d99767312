// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// child_process.h runs a command as a child. A signal that one process sends to this one (kill, a
// batch system, timeout) is forwarded to the command; a terminal's signals reach the command
// anyway. StartReport shows whether the command was started at all, since a status of 126 or 127
// may be its own.
#pragma once

#include <csignal>

#include <sys/types.h>

struct rusage;

namespace smalloc::cli {

// Holds signals back for wait_for(). Created before the fork and valid until its end, so that no
// signal is lost in between.
class ForwardedSignals {
public:
  ForwardedSignals();
  ~ForwardedSignals();
  ForwardedSignals(const ForwardedSignals &) = delete;
  ForwardedSignals &operator=(const ForwardedSignals &) = delete;

  // Restores the original signal settings in the child, before it executes the command.
  void give_back() const;
  // Waits until the child has ended; returns its wait status. After that, a terminal's signals do
  // not end this process: its remaining work is short.
  int wait_for(pid_t child, rusage &usage) const;

private:
  sigset_t taken_, before_;
  struct sigaction child_ended_;
};

// A pipe, created before the fork. A successful exec in the child closes it without data.
class StartReport {
public:
  StartReport();
  ~StartReport();
  StartReport(const StartReport &) = delete;
  StartReport &operator=(const StartReport &) = delete;

  // Reports, in the child, that the command could not be started.
  void say_not_started() const;
  // Waits, in the parent, until the start is known. Called once.
  bool started();

private:
  int ends_[2] = {-1, -1};
};

} // namespace smalloc::cli
