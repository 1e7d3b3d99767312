// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// installation.cpp searches the folders for smalloc's libraries, and PATH for programs.
#include "runtime/cli/installation.h"

#include <cstdlib>
#include <filesystem>

#include <sys/stat.h>
#include <unistd.h>

namespace smalloc::cli {

std::string own_folder() {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? std::string() : self.parent_path().string();
}

std::string own_program() {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? std::string("smalloc") : self.string();
}

std::vector<std::string> library_folders() {
  const std::string prefix = std::filesystem::path(own_folder()).parent_path().string();
  // LIBDIR is lib/x86_64-linux-gnu for packages on Debian.
  std::vector<std::string> folders{prefix + "/lib"};
  const std::string libdir = prefix + "/" SMALLOC_LIBDIR;
  if (libdir != folders.front())
    folders.push_back(libdir);
  return folders;
}

std::vector<Plugin> find_plugins() {
  std::vector<Plugin> plugins;
  for (const int llvm : {SMALLOC_LLVM_VERSIONS})
    if (const auto path =
            find_library("smalloc/llvm-" + std::to_string(llvm) + "/SmallocPlugin.so"))
      plugins.push_back({llvm, std::filesystem::canonical(*path).string()});
  return plugins;
}

std::optional<std::string> find_library(const std::string &name) {
  for (const std::string &folder : library_folders()) {
    const std::string path = folder + "/" + name;
    struct stat info;
    if (stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && access(path.c_str(), R_OK) == 0)
      return path;
  }
  return std::nullopt;
}

std::string compile_hint(const std::string &arguments) {
  const std::vector<Plugin> plugins = find_plugins();
  const Plugin first = plugins.empty() ? Plugin{22, "SmallocPlugin.so"} : plugins.front();
  std::string plugin = "-fplugin=" + first.path;
  if (plugin.find_first_of(" \t&;()$") != std::string::npos)
    plugin = "'" + plugin + "'";
  return "clang-" + std::to_string(first.llvm) + " -O2 " + plugin + " " + arguments;
}

std::optional<std::string> find_program(const std::string &command) {
  const auto executable = [](const std::string &path) {
    struct stat info;
    return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) &&
           access(path.c_str(), X_OK) == 0;
  };
  if (command.find('/') != std::string::npos)
    return executable(command) ? std::optional(command) : std::nullopt;
  const char *variable = std::getenv("PATH");
  const std::string path = variable ? variable : "/bin:/usr/bin";
  for (size_t from = 0; from <= path.size();) {
    const size_t end = std::min(path.find(':', from), path.size());
    // An empty element of PATH means the working folder.
    std::string candidate = end == from ? "." : path.substr(from, end - from);
    candidate += "/" + command;
    if (executable(candidate))
      return candidate;
    from = end + 1;
  }
  return std::nullopt;
}

} // namespace smalloc::cli
