// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// write_file() writes a new file beside its place and renames it into the place. Two conditions
// hold for that: all symbolic links end at nothing or at a regular file with one name, and the new
// file can keep owner and mode. A path through /proc (/dev/stdout) is open elsewhere and must stay
// the same file.
#include "runtime/cli/written_file.h"

#include "runtime/errors/diagnostics.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace smalloc::cli {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void cannot_write(const std::string &path, int error, const std::string &option) {
  throw Failure{"cannot write the result", path, error_text(error),
                is_no_room(error) ? room_hint(error, option + " FILE") : std::string(), kFailed};
}

// Returns the path at the end of all links. Nothing: in /proc, in a cycle, or in a missing folder.
std::optional<fs::path> end_of_links(fs::path path) {
  for (unsigned hops = 0; hops < 40; hops++) {
    std::error_code error;
    const fs::path folder =
        fs::canonical(path.parent_path().empty() ? "." : path.parent_path(), error);
    if (error || *std::next(folder.begin(), folder != folder.root_path()) == "proc")
      return std::nullopt;
    path = folder / path.filename();
    if (!fs::is_symlink(fs::symlink_status(path, error)))
      return path;
    path = folder / fs::read_symlink(path, error);
    if (error)
      return std::nullopt;
  }
  return std::nullopt;
}

int write_all(int fd, const std::string &text) {
  for (size_t at = 0; at < text.size();) {
    const ssize_t written = write(fd, text.data() + at, text.size() - at);
    if (written < 0 && errno != EINTR)
      return errno;
    at += written > 0 ? static_cast<size_t>(written) : 0;
  }
  return 0;
}

// Returns 0, or an errno value.
int write_and_close(int fd, const std::string &text) {
  const int error = write_all(fd, text);
  const int closed = close(fd) == 0 ? 0 : errno;
  return error ? error : closed;
}

// Writes beside the place and renames. Returns false if that is impossible here; nothing is changed
// then.
bool write_beside(const std::string &path, const std::string &text, const std::string &option) {
  const auto place = end_of_links(path);
  if (!place)
    return false;
  struct stat there;
  const bool exists = lstat(place->c_str(), &there) == 0;
  if (exists &&
      (!S_ISREG(there.st_mode) || there.st_nlink != 1 || access(place->c_str(), W_OK) != 0))
    return false;
  const std::string fresh =
      (place->parent_path() / fmt::format(".{}.{}", place->filename().string(), getpid())).string();
  const int fd = open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0 && is_no_room(errno))
    cannot_write(path, errno, option);
  if (fd < 0)
    return false;
  const bool same = !exists || (fchown(fd, there.st_uid, there.st_gid) == 0 &&
                                fchmod(fd, there.st_mode & 07777) == 0);
  int error = write_and_close(fd, text);
  if (!error && same && rename(fresh.c_str(), place->c_str()) != 0)
    error = errno;
  if (error || !same)
    unlink(fresh.c_str());
  if (error)
    cannot_write(path, error, option);
  return same;
}

[[noreturn]] void not_to_be_opened(const std::string &path, int error, const std::string &option) {
  throw Failure{"cannot write the result", path, error_text(error),
                is_no_room(error) ? room_hint(error, option + " FILE")
                                  : option + " FILE in a folder that you may write",
                kFailed};
}

// Refuses to overwrite a program or a trace: it is most likely the input of the command, named as
// output by mistake, and could not be restored.
void keep_programs_and_traces(const std::string &path, const std::string &option) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) // also a pipe must not be read
    return;
  char begin[4] = {};
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  const bool read_it = fd >= 0 && read(fd, begin, sizeof begin) == sizeof begin;
  if (fd >= 0)
    close(fd);
  const std::string_view magic(begin, sizeof begin);
  const bool program = magic == "\177ELF";
  if (read_it && (program || magic == "\x28\xb5\x2f\xfd"))
    throw Failure{"cannot write the result", path, program ? "it is a program" : "it is a trace",
                  option + " OTHER-FILE", kFailed};
}

} // namespace

bool is_no_room(int error) { return error == ENOSPC || error == EDQUOT || error == EFBIG; }

std::string room_hint(int error, const std::string &command) {
  return error == EFBIG ? "ulimit -f unlimited, before it" : command + " on a disk with room";
}

void check_can_write(const std::string &path, const std::string &option) {
  if (path.empty())
    return;
  keep_programs_and_traces(path, option);
  struct stat there;
  int error = stat(path.c_str(), &there) == 0 ? 0 : errno;
  if (error == ENOENT) {
    const fs::path folder = fs::path(path).parent_path();
    error = access(folder.empty() ? "." : folder.c_str(), W_OK | X_OK) == 0 ? 0 : errno;
  } else if (!error && S_ISDIR(there.st_mode)) {
    error = EISDIR;
  } else if (!error && access(path.c_str(), W_OK) != 0) {
    error = errno;
  }
  if (error)
    not_to_be_opened(path, error, option);
}

void write_file(const std::string &path, const std::string &text, const std::string &option) {
  keep_programs_and_traces(path, option);
  if (write_beside(path, text, option))
    return;
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0)
    not_to_be_opened(path, errno, option);
  if (const int error = write_and_close(fd, text))
    cannot_write(path, error, option);
}

int lack_of_room(const std::string &folder) {
  std::string name = fs::path(folder.empty() ? "." : folder) / ".smalloc.XXXXXX";
  const int fd = mkostemp(name.data(), O_CLOEXEC);
  if (fd < 0)
    return is_no_room(errno) ? errno : 0;
  unlink(name.c_str());
  const int error = write_and_close(fd, std::string(4096, ' '));
  return is_no_room(error) ? error : 0;
}

} // namespace smalloc::cli
