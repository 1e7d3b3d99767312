// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// kept_input.cpp distinguishes files from pipes, and copies what a pipe delivers into a file.
#include "runtime/study/kept_input.h"

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <system_error>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

namespace smalloc::study {
namespace {

using Clock = std::chrono::steady_clock;

[[noreturn]] void fail() { throw std::system_error(errno, std::generic_category()); }

int temporary_file() {
  std::FILE *file = std::tmpfile();
  const int fd = file ? fcntl(fileno(file), F_DUPFD_CLOEXEC, 3) : -1;
  const int error = errno;
  if (file)
    std::fclose(file);
  errno = error;
  return fd;
}

void write_all(int fd, const char *data, size_t bytes) {
  while (bytes > 0) {
    const ssize_t put = write(fd, data, bytes);
    if (put < 0 && errno != EINTR)
      fail();
    data += put > 0 ? put : 0;
    bytes -= put > 0 ? static_cast<size_t>(put) : 0;
  }
}

} // namespace

KeptInput::KeptInput(int fd, void (*waiting)()) {
  struct stat info;
  if (fstat(fd, &info) != 0)
    return; // closed
  if (S_ISREG(info.st_mode)) {
    start_ = lseek(fd, 0, SEEK_CUR);
    fd_ = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    return;
  }
  if (!S_ISFIFO(info.st_mode) && !S_ISSOCK(info.st_mode))
    return;
  fd_ = temporary_file();
  if (fd_ < 0)
    fail();
  const auto start = Clock::now();
  char data[1 << 16];
  for (bool silent = true;;) {
    struct pollfd waiter = {fd, POLLIN, 0};
    const int ready = poll(&waiter, 1, silent ? 100 : -1);
    if (silent && Clock::now() - start > std::chrono::seconds(2)) {
      silent = false;
      waiting();
    }
    if (ready == 0 || (ready < 0 && errno == EINTR))
      continue;
    const ssize_t got = read(fd, data, sizeof data);
    if (got == 0)
      break;
    if (got < 0 && errno != EINTR && errno != EAGAIN)
      fail();
    if (got > 0)
      write_all(fd_, data, static_cast<size_t>(got));
  }
}

KeptInput::~KeptInput() {
  if (fd_ >= 0)
    close(fd_);
}

int KeptInput::rewound() {
  if (fd_ >= 0)
    lseek(fd_, start_, SEEK_SET);
  return fd_;
}

} // namespace smalloc::study
