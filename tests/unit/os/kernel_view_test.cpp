// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "smalloc/base/units.h"
#include "smalloc/pages/kernel_view.h"
#include <fcntl.h>
#include <fstream>
#include <gtest/gtest.h>
#include <string>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace smalloc {
namespace {

/// Counts the mappings, one a line.
uint64_t lines_of_maps() {
  std::ifstream maps("/proc/self/maps");
  uint64_t lines = 0;
  for (std::string line; std::getline(maps, line);)
    lines++;
  return lines;
}

TEST(KernelView, ALongFileNameIsOneMapping) {
  // The kernel shows names of any length; a path in a system call has at most 4,095 bytes. All of
  // the name looks like the first line of a mapping, which begins with hexadecimal digits.
  const int before = open(".", O_RDONLY | O_DIRECTORY);
  char folder[] = "/tmp/smalloc-kernel-view-XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  ASSERT_EQ(chdir(folder), 0);
  const std::string name(250, 'a');
  constexpr int kDepth = 18;
  for (int i = 0; i < kDepth; i++)
    ASSERT_TRUE(mkdir(name.c_str(), 0700) == 0 && chdir(name.c_str()) == 0);
  const int fd = open(name.c_str(), O_RDWR | O_CREAT, 0600);
  ASSERT_GE(fd, 0);
  ASSERT_EQ(ftruncate(fd, kBasePageBytes), 0);
  void *mapped = mmap(nullptr, kBasePageBytes, PROT_READ, MAP_SHARED, fd, 0);
  ASSERT_NE(mapped, MAP_FAILED);

  // Reading the file may itself map memory, under a sanitizer above all.
  bool agreed = false;
  for (int tries = 0; tries < 10 && !agreed; tries++) {
    const uint64_t all = lines_of_maps();
    agreed = ask_kernel(nullptr, 0).mappings_all == all && lines_of_maps() == all;
  }
  EXPECT_TRUE(agreed);

  munmap(mapped, kBasePageBytes);
  close(fd);
  unlink(name.c_str());
  for (int i = 0; i < kDepth; i++)
    EXPECT_TRUE(chdir("..") == 0 && rmdir(name.c_str()) == 0);
  rmdir(folder);
  EXPECT_EQ(fchdir(before), 0);
  close(before);
}

} // namespace
} // namespace smalloc
