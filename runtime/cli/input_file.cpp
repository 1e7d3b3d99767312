// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// input_file.cpp decides what the user is told of a file that cannot be read.
#include "runtime/cli/input_file.h"

#include "runtime/cli/diagnostics.h"
#include "smalloc/include/smalloc/input_file.h"

#include <cerrno>

#include <unistd.h>

namespace smalloc::cli {
namespace {

class Descriptor {
public:
  explicit Descriptor(const std::string &path)
      : fd(smalloc_open_input(path.c_str(), &size, &why)) {}
  ~Descriptor() {
    if (fd >= 0)
      close(fd);
  }
  Descriptor(const Descriptor &) = delete;
  Descriptor &operator=(const Descriptor &) = delete;
  size_t size = 0;
  const char *why = nullptr;
  const int fd;
};

} // namespace

std::vector<unsigned char> read_file(const std::string &path, const std::string &what,
                                     const std::string &wanted) {
  Descriptor file(path);
  if (file.why)
    throw Failure{what, path, file.why, wanted.empty() ? "ls -l " + path : wanted, kFailed};
  if (file.fd < 0) {
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
  std::vector<unsigned char> bytes(file.size);
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
