// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// short_name_test.cpp tests which parts of C++ names remain in cells, sentences and pictures.
#include "runtime/cli/sites/short_name.h"

#include <gtest/gtest.h>

namespace smalloc::cli {
namespace {

TEST(ShortName, KeepsClassAndFunction) {
  EXPECT_EQ(short_function("main"), "main");
  EXPECT_EQ(short_function("a::f(int)"), "a::f");
  EXPECT_EQ(
      short_function("a::b::c::Engine<std::map<int, std::less<int> >, 2ul>::load(long) const"),
      "Engine<>::load");
  EXPECT_EQ(short_function("std::vector<int, std::allocator<int> >::push_back(int&&)"),
            "vector<>::push_back");
}
TEST(ShortName, DropsReturnTypes) {
  EXPECT_EQ(short_function("unsigned long* a::make<unsigned long>(unsigned long)"), "a::make<>");
  EXPECT_EQ(short_function("std::vector<int> a::make<int>(int)"), "a::make<>");
  EXPECT_EQ(short_function("decltype(auto) a::make<int>(int)"), "a::make<>");
  EXPECT_EQ(short_function("virtual thunk to a::B::f()"), "B::f");
}
TEST(ShortName, KeepsOperators) {
  EXPECT_EQ(short_function("a::B::operator()(int) const"), "a::B::operator()");
  EXPECT_EQ(short_function("a::B::operator<(a::B const&) const"), "B::operator<");
  EXPECT_EQ(short_function("std::ostream& a::operator<< <int>(std::ostream&, int)"),
            "a::operator<<");
  EXPECT_EQ(short_function("a::B::operator->() const"), "B::operator->");
  EXPECT_EQ(short_function("a::B::operator bool() const"), "B::operator bool");
  EXPECT_EQ(short_function("operator new[](unsigned long)"), "operator new[]");
  EXPECT_EQ(short_function("a::operators::f()"), "operators::f");
}
TEST(ShortName, LambdasKeepTheFunctionAround) {
  EXPECT_EQ(short_function("a::f(int)::{lambda(int)#1}::operator()(int) const"),
            "a::f::{lambda}::operator()");
  EXPECT_EQ(short_function("a::(anonymous namespace)::f(int)"), "a::f");
  EXPECT_EQ(short_function("(anonymous namespace)::f(int)"), "f");
  EXPECT_EQ(short_function("a::f[abi:cxx11](int)"), "a::f");
}
TEST(ShortName, NeverEmpty) {
  for (const char *odd : {"", "(", "<", "::", "{", "a<b", "operator", "()", " ", "[abi"})
    EXPECT_EQ(short_function(odd).empty(), *odd == '\0') << odd;
}
TEST(ShortName, StringIsNamed) {
  EXPECT_EQ(with_std_string("f(std::__cxx11::basic_string<char, std::char_traits<char>, "
                            "std::allocator<char> > const&)"),
            "f(std::string const&)");
}

} // namespace
} // namespace smalloc::cli
