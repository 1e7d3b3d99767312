// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// input_file.cpp reads a file and explains why a file cannot be read.
#include "runtime/cli/input_file.h"

#include "runtime/errors/diagnostics.h"
#include "smalloc/include/smalloc/input_file.h"

#include <algorithm>
#include <cerrno>
#include <fmt/format.h>

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

constexpr size_t kFirstBytes = 4096;

bool begins(const std::vector<unsigned char> &bytes, std::string_view start) {
  const auto first =
      std::find_if(bytes.begin(), bytes.end(), [](unsigned char c) { return c > ' '; });
  return static_cast<size_t>(bytes.end() - first) >= start.size() &&
         std::equal(start.begin(), start.end(), first,
                    [](char a, unsigned char b) { return static_cast<unsigned char>(a) == b; });
}

} // namespace

std::vector<unsigned char> read_file(const std::string &path, const std::string &what,
                                     InputKind kind, const std::string &wanted) {
  Descriptor file(path);
  if (file.why)
    throw Failure{what, path, file.why, wanted.empty() ? "ls -l " + path : wanted, kFailed};
  if (file.fd < 0) {
    std::string hint;
    const int error = errno;
    if (error == ENOENT && !path.empty()) {
      // Name the nearest ancestor folder that exists.
      std::string folder = path;
      do {
        const size_t slash = folder.find_last_of('/');
        folder.resize(slash == std::string::npos ? 0 : slash);
      } while (!folder.empty() && access(folder.c_str(), F_OK) != 0);
      hint = "ls -l " + (folder.empty() && path.front() != '/' ? "." : folder + "/");
    } else if (error == EACCES)
      hint = "ls -l " + path;
    // Show an empty name, often an unset variable of a script, as ''.
    throw Failure{what, path.empty() ? "''" : path, error_text(error), hint, kFailed};
  }
  if (file.size > kind.most)
    throw Failure{what, path, fmt::format("it is larger than {} MiB", kind.most >> 20),
                  wanted.empty() ? "ls -l " + path : wanted, kFailed};
  std::vector<unsigned char> bytes;
  size_t have = 0;
  const auto read_until = [&](size_t end) {
    bytes.resize(end);
    while (have < end) {
      const ssize_t got = read(file.fd, bytes.data() + have, end - have);
      if (got < 0 && errno == EINTR)
        continue;
      if (got < 0)
        throw Failure{what, path, error_text(errno), {}, kFailed};
      if (got == 0)
        break;
      have += static_cast<size_t>(got);
    }
    bytes.resize(have);
  };
  read_until(std::min(file.size, kFirstBytes));
  if (have == kFirstBytes && begins(bytes, kind.start))
    read_until(file.size);
  return bytes;
}

} // namespace smalloc::cli
