// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// replay_main.cpp: runs a target without libFuzzer, once for each file of the folders (or each
// file) on the command line. No file at all is a failure.
#include "tests/fuzz/fuzz.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <vector>

namespace {

void replay(const std::filesystem::path &path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  // A block of exactly this size: the byte behind it is out of bounds.
  const auto block = std::make_unique<uint8_t[]>(bytes.size());
  std::copy(bytes.begin(), bytes.end(), block.get());
  LLVMFuzzerTestOneInput(block.get(), bytes.size());
}

} // namespace

int main(int argc, char **argv) {
  std::vector<std::filesystem::path> files;
  for (int i = 1; i < argc; i++) {
    if (std::filesystem::is_directory(argv[i]))
      for (const auto &entry : std::filesystem::directory_iterator(argv[i]))
        files.push_back(entry.path());
    else
      files.push_back(argv[i]);
  }
  std::sort(files.begin(), files.end());
  for (const auto &file : files) {
    std::printf("%s\n", file.c_str());
    std::fflush(stdout); // the last printed line names the input that ended the process
    replay(file);
  }
  std::printf("%zu inputs\n", files.size());
  return files.empty();
}
