// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// temporary_folder.h creates a folder that is removed at the end of the test.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

struct TemporaryFolder {
  TemporaryFolder() {
    char name[] = "/tmp/smalloc-database.XXXXXX";
    path = mkdtemp(name);
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path); }
  std::string operator/(const std::string &name) const { return path + "/" + name; }
  std::string path;
};

inline std::string text_of_file(const std::string &path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}
