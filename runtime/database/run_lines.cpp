// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// run_lines.cpp imports reports in an order that loses nothing.
// - It renames the files, so that programs that end now begin new ones.
// - It locks them, which waits for programs that had them open. (Those lock them shared, and check
// whether they still have their names.)
// - It reads them, stores the runs, and removes them.
// A command that is killed in between, or that the database refuses, leaves renamed files. The next
// command finds them.
#include "runtime/database/run_lines.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <random>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace smalloc::database {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr size_t kMostLineBytes = size_t{1} << 20, kMostFileBytes = size_t{64} << 20;
constexpr size_t kMostTextBytes = 4096, kMostDirectives = 4096;
constexpr int64_t kMostNumber = int64_t{1} << 62; // ns since 1970: until 2116
constexpr size_t kFilesAtOnce = 64;               // one open file each
constexpr size_t kRunsAtOnce =
    2048; // in a transaction, so that other commands need not wait for a whole month's reports
constexpr char kTaken[] = ".importing";

struct Bad {
  std::string why;
};

std::string text(const json &object, const char *key) {
  const auto at = object.find(key);
  if (at == object.end() || at->is_null())
    return {};
  if (!at->is_string() || at->get_ref<const std::string &>().size() > kMostTextBytes)
    throw Bad{std::string(key) + " is no short text"};
  return at->get<std::string>();
}

std::string hex_text(const json &object, const char *key, size_t digits) {
  std::string value = text(object, key);
  const bool hex = std::all_of(value.begin(), value.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
  });
  if (!hex || (digits && !value.empty() && value.size() != digits))
    throw Bad{std::string(key) + " is not hexadecimal"};
  return value;
}

std::optional<int64_t> integer(const json &object, const char *key) {
  const auto at = object.find(key);
  if (at == object.end() || at->is_null())
    return std::nullopt;
  if (!at->is_number_integer() ||
      (at->is_number_unsigned() && at->get<uint64_t>() > uint64_t{kMostNumber}) ||
      at->get<int64_t>() < 0 || at->get<int64_t>() > kMostNumber)
    throw Bad{std::string(key) + " is no number"};
  return at->get<int64_t>();
}

std::optional<double> real(const json &object, const char *key) {
  const auto at = object.find(key);
  if (at == object.end() || at->is_null())
    return std::nullopt;
  if (!at->is_number() || !(at->get<double>() >= 0) || at->get<double>() > 1e15)
    throw Bad{std::string(key) + " is no number"};
  return at->get<double>();
}

template <class T> T needed(std::optional<T> value, const char *key) {
  if (!value)
    throw Bad{std::string(key) + " is missing"};
  return *value;
}

std::string one_of(const std::string &value, std::initializer_list<const char *> names,
                   const char *key) {
  if (std::find(names.begin(), names.end(), value) == names.end())
    throw Bad{std::string(key) + " is unknown"};
  return value;
}

Run run_of(const json &object) {
  if (text(object, "schema") != "smalloc.run/1")
    throw Bad{"its schema is not smalloc.run/1"};
  Run run;
  run.program = hex_text(object, "program", 0);
  if (run.program.empty() || run.program.size() > 128)
    throw Bad{"program is no build-id"};
  run.path = text(object, "path");
  run.host = text(object, "host");
  run.machine = text(object, "machine");
  run.pid = needed(integer(object, "pid"), "pid");
  run.started_ns = needed(integer(object, "started_ns"), "started_ns");
  run.kind = one_of(text(object, "kind"), {"base", "superpages"}, "kind");
  run.input = hex_text(object, "input", 16);
  run.policy = one_of(text(object, "policy"), {"", "same-input", "other-input", "base"}, "policy");
  visit_columns(run, [&](const char *name, auto &member) {
    using Member = std::remove_reference_t<decltype(member)>;
    if constexpr (std::is_same_v<Member, std::optional<double>>)
      member = real(object, name);
    else if constexpr (std::is_same_v<Member, std::optional<int64_t>>)
      member = integer(object, name);
  });
  const auto list = object.find("directives");
  if (list == object.end())
    return run;
  if (!list->is_array() || list->size() > kMostDirectives)
    throw Bad{"directives is no list"};
  for (const json &item : *list) {
    if (!item.is_object())
      throw Bad{"a directive is no object"};
    Validation v;
    v.site = hex_text(item, "site", 16);
    if (v.site.empty())
      throw Bad{"a directive has no site"};
    v.context = hex_text(item, "context", 16);
    v.taken = item.value("taken", json(false)) == json(true);
    v.superpages_predicted = integer(item, "superpages_predicted").value_or(0);
    v.superpages_peak = integer(item, "superpages_peak").value_or(0);
    v.live_bytes_peak = integer(item, "live_bytes_peak").value_or(0);
    v.verdict = one_of(text(item, "verdict"), {"held", "failed", "short", "unused", "not-taken"},
                       "verdict");
    run.validations.push_back(std::move(v));
  }
  return run;
}

// Opens a regular file of this user; -1: there is none.
int open_ours(const fs::path &path) {
  const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  struct stat info;
  if (fd >= 0 && (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || info.st_uid != geteuid() ||
                  static_cast<uint64_t>(info.st_size) > kMostFileBytes)) {
    close(fd);
    return -1;
  }
  return fd;
}

// Appends the file's contents to `all`. False: a part could not be read.
bool read_contents(int fd, std::string &all) {
  char piece[65536];
  for (;;) {
    const ssize_t n = read(fd, piece, sizeof piece);
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0 || all.size() > kMostFileBytes)
      return n >= 0;
    all.append(piece, static_cast<size_t>(n));
  }
}

// Returns a name for a file that is being imported, which no other command has.
fs::path unused_name(const fs::path &file) {
  std::random_device random;
  const uint64_t number = uint64_t{random()} << 32 | random();
  return fmt::format("{}.{}-{:016x}{}", file.string(), getpid(), number, kTaken);
}

// A file of reports, locked against other commands and against programs that write. Not locked if
// another command was faster.
class LockedReports {
public:
  explicit LockedReports(fs::path path) : path_(std::move(path)), fd_(open_ours(path_)) {
    if (fd_ < 0)
      return;
    // Waits for programs that are writing, and for another command that is importing the same file.
    while (flock(fd_, LOCK_EX) != 0 && errno == EINTR) {
    }
    struct stat info;
    if (fstat(fd_, &info) != 0 || info.st_nlink == 0) { // the other command has imported it
      close(fd_);
      fd_ = -1;
    }
  }
  LockedReports(LockedReports &&other) noexcept
      : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)), is_read_(other.is_read_) {
  }
  LockedReports &operator=(LockedReports &&) = delete;
  ~LockedReports() {
    if (fd_ >= 0)
      close(fd_);
  }
  bool is_locked() const { return fd_ >= 0; }
  /// Removes the file if it has been read to its end; else the next command tries again.
  void remove() const {
    if (is_read_)
      unlink(path_.c_str());
  }

  void read_into(std::vector<Run> &runs, Imported &imported) {
    std::string all;
    is_read_ = read_contents(fd_, all);
    if (!is_read_)
      all.resize(all.rfind('\n') + 1); // npos + 1: no line
    for (size_t at = 0; at < all.size();) {
      const size_t end = std::min(all.find('\n', at), all.size());
      const std::string_view line(all.data() + at, end - at);
      at = end + 1;
      if (line.empty())
        continue;
      std::string why;
      if (auto run = parse_run_line(line, why))
        runs.push_back(std::move(*run));
      else
        imported.bad_lines++;
    }
  }

private:
  fs::path path_;
  int fd_;
  bool is_read_ = false;
};

} // namespace

std::optional<Run> parse_run_line(std::string_view line, std::string &why) {
  if (line.size() > kMostLineBytes) {
    why = "it is too long";
    return std::nullopt;
  }
  // Bounds the nesting: a run has three levels, and a copy of a JSON value recurses into it.
  int depth = 0;
  const auto shallow = [&depth](int level, json::parse_event_t, json &) {
    depth = std::max(depth, level);
    return level <= 4;
  };
  const json object = json::parse(line, shallow, false);
  if (!object.is_object() || depth > 4) {
    why = "it is no JSON object";
    return std::nullopt;
  }
  try {
    return run_of(object);
  } catch (const Bad &bad) {
    why = bad.why;
  } catch (const json::exception &) {
    why = "a value is of another type than expected";
  }
  return std::nullopt;
}

Imported import_runs(const std::string &folder, History &history) {
  Imported imported;
  std::error_code error;
  std::vector<fs::path> files;
  for (const fs::directory_entry &entry : fs::directory_iterator(folder, error)) {
    fs::path file = entry.path();
    if (file.extension() == ".jsonl") {
      const int fd = open_ours(file);
      if (fd < 0)
        continue;
      close(fd);
      // No two commands may rename onto one another: an interrupted one may have left its file, and
      // its process id may be used again, or in another container at the same time.
      const fs::path taken = unused_name(file);
      if (rename(file.c_str(), taken.c_str()) != 0)
        continue; // another command was faster
      file = taken;
    }
    if (file.extension() == kTaken)
      files.push_back(std::move(file));
  }
  // All commands lock the files in this order, and before the database, so that no two commands
  // wait for each other.
  std::sort(files.begin(), files.end());
  files.erase(std::unique(files.begin(), files.end()), files.end()); // listed under both names
  for (size_t first = 0; first < files.size(); first += kFilesAtOnce) {
    std::vector<LockedReports> locked;
    std::vector<Run> runs;
    for (size_t i = first; i < std::min(first + kFilesAtOnce, files.size()); i++)
      if (LockedReports reports(files[i]); reports.is_locked()) {
        reports.read_into(runs, imported);
        locked.push_back(std::move(reports));
      }
    for (size_t at = 0; at < runs.size(); at += kRunsAtOnce) {
      const auto begin = runs.begin() + static_cast<ptrdiff_t>(at);
      const auto count = static_cast<ptrdiff_t>(std::min(kRunsAtOnce, runs.size() - at));
      for (const bool fresh : history.store_runs({begin, begin + count}))
        (fresh ? imported.runs : imported.known)++;
    }
    for (const LockedReports &reports : locked) // only after the runs are stored
      reports.remove();
  }
  return imported;
}

} // namespace smalloc::database
