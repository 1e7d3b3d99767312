// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// child_process.cpp forwards signals from other processes to the command: those that request the
// end of a program, and SIGUSR1 and SIGUSR2. A signal that is ignored (nohup) stays ignored.
// Signals from the kernel, such as a terminal's, are not forwarded: they reach each process of the
// group.
#include "runtime/cli/process/child_process.h"

#include <cerrno>
#include <initializer_list>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace smalloc::cli {

ForwardedSignals::ForwardedSignals() {
  sigemptyset(&taken_);
  for (const int number : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2}) {
    struct sigaction now;
    if (sigaction(number, nullptr, &now) == 0 && now.sa_handler != SIG_IGN)
      sigaddset(&taken_, number);
  }
  // If SIGCHLD is ignored, the kernel does not report a child's end.
  struct sigaction plain = {};
  plain.sa_handler = SIG_DFL;
  sigaction(SIGCHLD, &plain, &child_ended_);
  sigaddset(&taken_, SIGCHLD);
  sigprocmask(SIG_BLOCK, &taken_, &before_);
}

void ForwardedSignals::give_back() const {
  sigaction(SIGCHLD, &child_ended_, nullptr);
  sigprocmask(SIG_SETMASK, &before_, nullptr);
}

ForwardedSignals::~ForwardedSignals() { give_back(); }

int ForwardedSignals::wait_for(pid_t child, rusage &usage) const {
  int status = 0;
  for (;;) {
    siginfo_t info;
    const int number = sigwaitinfo(&taken_, &info);
    if (number == SIGCHLD) {
      const pid_t ended = wait4(child, &status, WNOHANG, &usage);
      if (ended == child || (ended < 0 && errno != EINTR))
        break;
    } else if (number > 0 && info.si_code <= 0 && info.si_pid != child) {
      kill(child, number);
    }
  }
  std::signal(SIGINT, SIG_IGN);
  std::signal(SIGQUIT, SIG_IGN);
  return status;
}

StartReport::StartReport() {
  if (pipe2(ends_, O_CLOEXEC) != 0)
    ends_[0] = ends_[1] = -1; // then the command counts as started
}

StartReport::~StartReport() {
  for (const int end : ends_)
    if (end >= 0)
      close(end);
}

void StartReport::say_not_started() const {
  while (write(ends_[1], "n", 1) < 0 && errno == EINTR) {
  }
}

bool StartReport::started() {
  if (ends_[1] >= 0)
    close(ends_[1]);
  ends_[1] = -1;
  char word;
  ssize_t got;
  do
    got = read(ends_[0], &word, 1);
  while (got < 0 && errno == EINTR);
  return got != 1;
}

} // namespace smalloc::cli
