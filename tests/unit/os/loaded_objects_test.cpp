// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests of how the dynamic tables, without dlsym, show which image defines a function.
#include "smalloc/process/loaded_objects.h"

#include <cstdlib>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace smalloc {
namespace {
TEST(LoadedObjects, FirstDefinitionIsWhatDlsymFinds) {
  for (const char *name : {"getpid", "qsort", "strtol"})
    EXPECT_EQ(first_definition(name), dlsym(RTLD_DEFAULT, name)) << name;
  EXPECT_EQ(first_definition("no_such_function_anywhere"), nullptr);
}
TEST(LoadedObjects, NextIsBehind) {
  void *first = first_definition("getpid");
  EXPECT_EQ(next_definition("getpid", first), nullptr);
  static int here;
  EXPECT_EQ(next_definition("getpid", &here), first);
}
TEST(LoadedObjects, ExecutableIsToldFromLibraries) {
  static int here;
  EXPECT_TRUE(in_executable(&here));
  EXPECT_FALSE(in_executable(first_definition("getpid")));
  EXPECT_FALSE(in_executable(nullptr));
}
TEST(LoadedObjects, ImportsOfTheExecutable) {
  const char *const some[] = {"xallocx", "dlsym", nullptr};
  const char *const none[] = {"xallocx", "mi_free", nullptr};
  EXPECT_STREQ(executable_mentions(some), "dlsym");
  EXPECT_EQ(executable_mentions(none), nullptr);
}
} // namespace
} // namespace smalloc
