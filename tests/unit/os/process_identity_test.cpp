// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "smalloc/base/fnv.h"
#include "smalloc/process/process_identity.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

namespace smalloc {
namespace {

TEST(ProcessIdentity, KnowsItselfAndNobodyElse) {
  const uint64_t self = static_cast<uint64_t>(getpid()), began = start_ticks(self);
  EXPECT_GT(began, 0u);
  EXPECT_TRUE(is_alive(self, began));
  EXPECT_FALSE(is_alive(self, began + 1));
  EXPECT_FALSE(is_alive(self, 0));
  EXPECT_EQ(start_ticks(uint64_t{1} << 40), 0u);
}

TEST(ProcessIdentity, AZombieIsDead) {
  const pid_t child = fork();
  if (child == 0)
    _exit(0);
  siginfo_t info;
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  EXPECT_EQ(start_ticks(static_cast<uint64_t>(child)), 0u);
  waitpid(child, nullptr, 0);
}

TEST(ProcessIdentity, InputIsTheArgumentsBehindTheName) {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  const std::string line((std::istreambuf_iterator<char>(file)), {});
  const size_t name = line.find('\0') + 1;
  const uint64_t expected = fnv1a(line.data() + name, line.size() - name);
  uint64_t signature = 0;
  ASSERT_TRUE(command_line_signature(signature));
  EXPECT_EQ(signature, expected);
}

TEST(ProcessIdentity, BuildIdIsHexadecimalAndFits) {
  char id[130] = "";
  if (!executable_build_id(id, sizeof id))
    GTEST_SKIP() << "this test was linked without one";
  EXPECT_EQ(std::string(id).find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_GE(std::string(id).size(), 16u);
  char small[4];
  EXPECT_FALSE(executable_build_id(small, sizeof small));
}

} // namespace
} // namespace smalloc
