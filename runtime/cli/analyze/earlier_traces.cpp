// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// earlier_traces.cpp renames earlier traces to NAME.before while the command runs. A user who kills
// this command finds them under a name that explains itself and that no process of the run would
// use.
#include "runtime/cli/analyze/earlier_traces.h"

#include "runtime/cli/output.h"
#include "runtime/errors/diagnostics.h"
#include "runtime/trace/reader.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <regex.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace smalloc::cli {
namespace {

namespace fs = std::filesystem;

bool is_taken(const std::string &path) {
  std::error_code error;
  return fs::symlink_status(path, error).type() != fs::file_type::not_found;
}

// Throws if `old` is no trace: this command must not move foreign files.
void check_is_trace(const std::string &old) {
  std::error_code error;
  const bool regular = fs::is_regular_file(fs::symlink_status(old, error));
  if (regular && fs::file_size(old, error) > 0) {
    try {
      const trace::Reader reader(old);
    } catch (const trace::TraceError &) {
      throw Failure{"cannot record", old, "it exists and is not a trace",
                    "smalloc record -o OTHER-NAME", kRunFailed};
    }
  } else if (!regular) {
    throw Failure{"cannot record", old, "it exists and is not a regular file",
                  fs::is_directory(old, error) ? "smalloc record -o " + old + "/app.trace"
                                               : "smalloc record -o OTHER-NAME",
                  kRunFailed};
  }
}

} // namespace

std::vector<std::string> traces_of(const std::string &pattern, fs::file_time_type since) {
  std::string text; // file name as a regular expression
  const fs::path whole = fs::absolute(expand_file_name(pattern, "\x01"));
  for (char c : whole.filename().string())
    if (c == '\x01')
      text += "[0-9]+";
    else
      text += std::strchr(".[]{}()\\*+?|^$", c) ? std::string{'\\', c} : std::string(1, c);
  const fs::path folder =
      fs::path(expand_file_name(pattern, "\x01")).parent_path(); // as the user typed it
  std::vector<std::string> found;
  regex_t name;
  if (regcomp(&name, ("^" + text + "(\\.[0-9]+)*$").c_str(), REG_EXTENDED | REG_NOSUB) != 0)
    return found;
  std::error_code error;
  for (const auto &entry : fs::directory_iterator(whole.parent_path(), error)) {
    const std::string other = entry.path().filename().string();
    if (regexec(&name, other.c_str(), 0, nullptr, 0) == 0 && entry.last_write_time(error) >= since)
      found.push_back(folder.empty() ? other : (folder / other).string());
  }
  regfree(&name);
  std::sort(found.begin(), found.end());
  return found;
}

// Locks the trace's name against other smalloc records. The kernel drops the lock when this process
// ends in any way. On a file system without locks nothing is locked.
void EarlierTraces::lock(const std::string &pattern) {
  const fs::path path = expand_file_name(pattern);
  const std::string name =
      path.parent_path() / fmt::format(".{}.recording", path.filename().string());
  while (true) {
    const int fd = open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
      return; // the trace will report it if it cannot be created either
    const bool locked = flock(fd, LOCK_EX | LOCK_NB) == 0;
    const int error = locked ? 0 : errno;
    struct stat ours, there;
    if (locked && fstat(fd, &ours) == 0 && stat(name.c_str(), &there) == 0 &&
        ours.st_ino == there.st_ino) {
      lock_name_ = name;
      lock_ = fd;
      return;
    }
    close(fd);
    if (error == EWOULDBLOCK)
      throw Failure{"cannot record", pattern, "another smalloc record is writing it",
                    "smalloc record -o OTHER-NAME, or one with %p", kRunFailed};
    if (error)
      return;
    // The owner of the lock removed the file between open and flock: try again.
  }
}

void EarlierTraces::unlock() {
  if (lock_ < 0)
    return;
  unlink(lock_name_.c_str());
  close(lock_);
  lock_ = -1;
}

void EarlierTraces::put_aside(const std::string &pattern) {
  lock(pattern);
  const std::vector<std::string> old = traces_of(pattern, fs::file_time_type::min());
  for (const std::string &path : old)
    check_is_trace(path);
  for (const std::string &path : old) {
    std::string meanwhile = path + ".before";
    for (unsigned n = 2; is_taken(meanwhile); n++)
      meanwhile = fmt::format("{}.before-{}", path, n);
    std::error_code error;
    fs::rename(path, meanwhile, error);
    if (error)
      throw Failure{"cannot record", path, error_text(error.value()), {}, kRunFailed};
    aside_.emplace_back(path, meanwhile);
  }
}

void EarlierTraces::remove() {
  std::error_code error;
  for (const auto &[path, meanwhile] : aside_)
    if (!fs::remove(meanwhile, error) && error)
      print_warning("an earlier trace could not be removed", meanwhile, error_text(error.value()));
  aside_.clear();
}

void EarlierTraces::give_back() {
  for (const auto &[path, meanwhile] : aside_) {
    std::error_code error = std::make_error_code(std::errc::file_exists);
    if (!is_taken(path))
      fs::rename(meanwhile, path, error);
    if (error)
      print_warning("the earlier trace could not be renamed back", path, error_text(error.value()),
                    fmt::format("mv {} {}", meanwhile, path));
  }
  aside_.clear();
}

} // namespace smalloc::cli
