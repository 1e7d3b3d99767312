// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// input_file.cpp decides what is refused before a byte is read: folders, pipes and devices.
#include "runtime/cli/input_file.h"

#include "runtime/cli/diagnostics.h"

#include <cerrno>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace smalloc::cli {
namespace {

class Descriptor {
public:
  explicit Descriptor(const std::string &path)
      // O_NONBLOCK: opening a pipe that nobody writes must not wait.
      : fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
  ~Descriptor() {
    if (fd >= 0)
      close(fd);
  }
  Descriptor(const Descriptor &) = delete;
  Descriptor &operator=(const Descriptor &) = delete;
  const int fd;
};

} // namespace

std::vector<unsigned char> read_file(const std::string &path, const std::string &what,
                                     const std::string &wanted) {
  Descriptor file(path);
  struct stat info;
  if (file.fd < 0 || fstat(file.fd, &info) != 0) {
    std::string hint;
    const int error = errno;
    if (error == ENOENT && !path.empty()) {
      // The nearest folder that is there.
      std::string folder = path;
      do {
        const size_t slash = folder.find_last_of('/');
        folder.resize(slash == std::string::npos ? 0 : slash);
      } while (!folder.empty() && access(folder.c_str(), F_OK) != 0);
      hint = "ls -l " + (folder.empty() && path.front() != '/' ? folder : folder + "/");
    } else if (error == EACCES)
      hint = "ls -l " + path;
    while (!hint.empty() && hint.back() == ' ')
      hint.pop_back();
    // An empty name, most often an unset variable of a script, must be seen as one.
    throw Failure{what, path.empty() ? "''" : path, error_text(error), hint, kFailed};
  }
  if (!S_ISREG(info.st_mode))
    throw Failure{what, path,
                  S_ISDIR(info.st_mode) ? "it is a directory" : "it is not a regular file",
                  wanted.empty() ? "ls -l " + path : wanted, kFailed};
  std::vector<unsigned char> bytes(static_cast<size_t>(info.st_size));
  size_t have = 0;
  while (have < bytes.size()) {
    const ssize_t got = read(file.fd, bytes.data() + have, bytes.size() - have);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      throw Failure{what, path, error_text(errno), {}, kFailed};
    if (got == 0)
      break;
    have += static_cast<size_t>(got);
  }
  bytes.resize(have);
  return bytes;
}

} // namespace smalloc::cli
