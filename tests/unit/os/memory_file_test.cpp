// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests of memory that becomes a file in place: it keeps address and contents, is readable through
// /proc, and is gone with its mapping.
#include "smalloc/files/memory_file.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <string>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace smalloc {
namespace {
constexpr size_t kBytes = 16384;
alignas(4096) char g_memory[kBytes];

int replace() {
  strcpy(g_memory, "front");
  strcpy(g_memory + 8192, "middle");
  const MemoryPiece pieces[] = {{0, 6}, {8192, 7}};
  return replace_by_memory_file("smalloc-test", g_memory, kBytes, pieces, 2);
}

TEST(MemoryFile, KeepsAddressAndContentsAndShowsThem) {
  errno = 5;
  int fd = replace();
  ASSERT_GE(fd, 200);
  EXPECT_EQ(errno, 5);
  EXPECT_STREQ(g_memory, "front");
  EXPECT_STREQ(g_memory + 8192, "middle");
  struct stat info;
  ASSERT_EQ(fstat(fd, &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600u);
  EXPECT_EQ(info.st_size, static_cast<off_t>(kBytes));
  EXPECT_LE(info.st_blocks * 512, 8192) << "untouched pages take no memory";
  EXPECT_TRUE(fcntl(fd, F_GETFD) & FD_CLOEXEC);
  strcpy(g_memory, "later");
  int other = open(("/proc/self/fd/" + std::to_string(fd)).c_str(), O_RDONLY);
  ASSERT_GE(other, 0);
  char seen[6];
  ASSERT_EQ(pread(other, seen, 6, 0), 6);
  EXPECT_STREQ(seen, "later");
  close(other);
  close_memory_file(fd, "smalloc-te"); // the beginning of another file's name
  EXPECT_NE(fcntl(fd, F_GETFD), -1);
  close_memory_file(fd, "smalloc-test");
  EXPECT_EQ(fcntl(fd, F_GETFD), -1);
}

TEST(MemoryFile, LeavesANumberThatTheProgramReused) {
  int fd = open("/dev/null", O_RDONLY);
  close_memory_file(fd, "smalloc-test");
  EXPECT_EQ(close(fd), 0);
}

TEST(MemoryFile, AChildsPrivateCopyIsItsOwn) {
  int fd = replace();
  ASSERT_GE(fd, 0);
  pid_t child = fork();
  if (child == 0) {
    const MemoryPiece pieces[] = {{0, 6}};
    bool done = replace_by_private_memory(g_memory, kBytes, pieces, 1, nullptr);
    bool kept = strcmp(g_memory, "front") == 0;
    strcpy(g_memory, "child");
    _exit(done && kept ? 0 : 1);
  }
  int status;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_STREQ(g_memory, "front");
  close(fd);
}

TEST(MemoryFile, AChildThatIsRefusedEveryMappingTakesTheSpare) {
  int fd = replace();
  ASSERT_GE(fd, 0);
  void *spare = spare_private_memory(kBytes);
  ASSERT_NE(spare, nullptr);
  pid_t child = fork();
  if (child == 0) {
    rlimit none = {4096, 4096};
    setrlimit(RLIMIT_AS, &none);
    const MemoryPiece pieces[] = {{0, 6}};
    if (replace_by_private_memory(g_memory, kBytes, pieces, 1, nullptr))
      _exit(3); // the limit does not hold
    errno = 5;
    bool done = replace_by_private_memory(g_memory, kBytes, pieces, 1, spare);
    bool kept = strcmp(g_memory, "front") == 0 && g_memory[8192] == 0 && errno == 5;
    strcpy(g_memory, "child");
    _exit(done && kept ? 0 : 1);
  }
  int status;
  waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_STREQ(g_memory, "front");
  munmap(spare, kBytes);
  close(fd);
}

TEST(MemoryFile, WithoutADescriptorNothingChanges) {
  pid_t child = fork();
  if (child == 0) {
    rlimit none = {3, 3};
    setrlimit(RLIMIT_NOFILE, &none);
    strcpy(g_memory, "same");
    _exit(replace_by_memory_file("smalloc-test", g_memory, kBytes, nullptr, 0) == -1 &&
                  strcmp(g_memory, "same") == 0
              ? 0
              : 1);
  }
  int status;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}
} // namespace
} // namespace smalloc
