// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// profile_store.cpp finds a profile and replaces it.
#include "runtime/cli/machine/profile_store.h"

#include "runtime/benefit/cost_model.h"
#include "runtime/cli/input_file.h"
#include "runtime/cli/output.h"
#include "runtime/cli/sites/site_report.h"
#include "runtime/cli/written_file.h"
#include "runtime/errors/diagnostics.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace smalloc::cli {
namespace {

[[noreturn]] void cannot_store(const std::string &path, int error) {
  throw Failure{"cannot store the machine profile", path, error_text(error),
                is_no_room(error)
                    ? room_hint(error, "smalloc calibrate --profile FILE")
                    : "smalloc calibrate --profile FILE, in a folder that you may write",
                kFailed};
}

// A temporary file beside the target, so that the rename stays within one file system.
class TemporaryFile {
public:
  explicit TemporaryFile(const std::string &target) : name_(target + ".XXXXXX") {
    fd_ = mkostemp(name_.data(), 02000000 /* O_CLOEXEC */);
    if (fd_ < 0)
      cannot_store(target, errno);
  }
  ~TemporaryFile() {
    if (fd_ >= 0)
      close(fd_);
    if (!name_.empty())
      unlink(name_.c_str());
  }
  TemporaryFile(const TemporaryFile &) = delete;
  TemporaryFile &operator=(const TemporaryFile &) = delete;

  void become(const std::string &target, const std::string &text) {
    for (size_t at = 0; at < text.size();) {
      const ssize_t written = write(fd_, text.data() + at, text.size() - at);
      if (written < 0 && errno != EINTR)
        cannot_store(target, errno);
      at += written > 0 ? static_cast<size_t>(written) : 0;
    }
    const int closed = close(fd_);
    fd_ = -1;
    if (closed != 0 || rename(name_.c_str(), target.c_str()) != 0)
      cannot_store(target, errno);
    name_.clear();
  }

private:
  std::string name_;
  int fd_;
};

} // namespace

std::string stored_profile_path() {
  const char *config = std::getenv("XDG_CONFIG_HOME"), *home = std::getenv("HOME");
  if (config && *config == '/')
    return std::string(config) + "/smalloc/machine.json";
  if (home && *home)
    return std::string(home) + "/.config/smalloc/machine.json";
  throw Failure{"cannot find the stored machine profile", "HOME", "it is not set",
                "smalloc calibrate --profile FILE", kFailed};
}

format::MachineProfile load_profile(const std::string &wanted) {
  const std::string name = wanted == "stored" ? stored_profile_path() : wanted;
  if (name.empty())
    return format::profile_of_preset(*smalloc_machine_native());
  if (const struct smalloc_machine *preset = smalloc_machine_by_name(name.c_str()))
    return format::profile_of_preset(*preset);
  if (name == "native")
    return format::profile_of_preset(*smalloc_machine_native());
  // A name without slash and dot that is no file was meant as a preset.
  if (name.find_first_of("/.") == std::string::npos && access(name.c_str(), F_OK) != 0)
    throw Failure{"cannot use machine profile", name,
                  "there is neither a preset nor a profile of that name", "smalloc machine list",
                  kFailed};
  if (wanted == "stored" && access(name.c_str(), F_OK) != 0)
    throw Failure{"cannot use machine profile", name, "none is stored", "smalloc calibrate",
                  kFailed};
  const auto bytes = read_file(name, "cannot use machine profile", kTextInput);
  try {
    return format::parse_machine({reinterpret_cast<const char *>(bytes.data()), bytes.size()});
  } catch (const format::MachineFormatError &error) {
    throw Failure{"cannot use machine profile", name, error.what(),
                  "smalloc machine show --json prints a profile to compare with", kFailed};
  }
}

format::MachineProfile load_profile_for_traces(const std::string &wanted) {
  format::MachineProfile machine = load_profile(wanted);
  if (machine.base_page_bytes != benefit::kBasePageBytes)
    throw Failure{"cannot analyze", "--machine " + machine.name,
                  fmt::format("its base pages have {}, those of traces 4 KiB",
                              readable_bytes(machine.base_page_bytes)),
                  "smalloc machine list", kUsage};
  return machine;
}

void check_profile_can_be_stored(const std::string &path) {
  std::error_code error;
  const auto folder = std::filesystem::path(path).parent_path();
  if (!folder.empty())
    std::filesystem::create_directories(folder, error);
  if (error)
    cannot_store(path, error.value());
  if (std::filesystem::is_directory(path, error))
    cannot_store(path, EISDIR);
  TemporaryFile probe(path);
}

void store_profile(const format::MachineProfile &profile, const std::string &path) {
  TemporaryFile file(path);
  file.become(path, json_text(format::machine_document(profile)));
}

} // namespace smalloc::cli
