// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// doctor_nodes_test.cpp tests that the limits of cgroup v1 are found.
#include "runtime/cli/doctor/doctor.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <unistd.h>

namespace smalloc::cli {
namespace {

struct DoctorNodes : testing::Test {
  void TearDown() override { std::filesystem::remove_all(root); }
  void write(const std::string &path, const std::string &text) const {
    std::filesystem::create_directories(std::filesystem::path(root + path).parent_path());
    std::ofstream(root + path) << text;
  }
  nlohmann::ordered_json value_of(const std::string &name) const {
    Checks checks;
    check_nodes(SystemView(root), checks);
    for (const Check &check : checks)
      if (check.name == name)
        return check.value;
    return "absent";
  }
  const std::string root = testing::TempDir() + "smalloc-doctor-" + std::to_string(getpid());
};

TEST_F(DoctorNodes, SeveralControllersShareACgroup) {
  write("/proc/self/cgroup", "9:memory,hugetlb:/user.slice/x\n4:cpu,cpuacct:/\n");
  write("/sys/fs/cgroup/memory/user.slice/x/memory.limit_in_bytes", "9223372036854771712\n");
  write("/sys/fs/cgroup/memory/user.slice/memory.limit_in_bytes", "1073741824\n");
  write("/sys/fs/cgroup/hugetlb/user.slice/x/hugetlb.2MB.limit_in_bytes", "4194304\n");
  EXPECT_EQ(value_of("cgroup-v1-memory"), 1073741824);
  EXPECT_EQ(value_of("cgroup-v1-hugetlb-2MB"), 4194304);
  EXPECT_EQ(value_of("cgroup-v1-hugetlb-1GB"), "absent");
}

TEST_F(DoctorNodes, AContainerSeesItsCgroupAtTheTop) {
  write("/proc/self/cgroup", "9:memory:/docker/0123\n");
  write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_TRUE(value_of("cgroup-v1-memory").is_null());
  write("/proc/self/cgroup", "0::/user.slice\n");
  EXPECT_EQ(value_of("cgroup-v1-memory"), "absent");
}

} // namespace
} // namespace smalloc::cli
