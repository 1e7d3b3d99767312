// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: in a unit with more fills than points, copies into memory that was just allocated get points first, and the C++ library's
// own loops last, unless they are made for a lambda of the unit.
// RUN: %clangxx -O2 -std=c++17 -S -emit-llvm -o - %s | FileCheck %s
// CHECK-LABEL: define {{.*}}@grown(
// CHECK: call preserve_mostcc void @__smalloc_v1_large_fill(
// CHECK: ret ptr
// CHECK-LABEL: define {{.*}}@_ZSt16__introsort_loop
// CHECK-NOT: call preserve_mostcc void @__smalloc_v1_large_fill(
// CHECK: {{^[}]$}}
// CHECK-LABEL: define internal {{.*}}11_State_impl{{.*}}_M_runEv
// CHECK: call preserve_mostcc void @__smalloc_v1_large_fill(
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <thread>
extern "C" void copied(char *to, const char *from, size_t n) { memcpy(to, from, n); }
#define COPY(k) extern "C" void copied##k(char *to, const char *from, size_t n) { memcpy(to + k, from, n); }
COPY(0) COPY(1) COPY(2) COPY(3) COPY(4) COPY(5) COPY(6) COPY(7) COPY(8) COPY(9) COPY(10) COPY(11) COPY(12) COPY(13) COPY(14)
COPY(20) COPY(21) COPY(22) COPY(23) COPY(24) COPY(25) COPY(26) COPY(27) COPY(28) COPY(29) COPY(30) COPY(31) COPY(32) COPY(33) COPY(34)
extern "C" char *grown(const char *from, size_t n) {
  char *to = (char *)malloc(2 * n);
  memcpy(to, from, n);
  return to;
}
void sorted(unsigned *a, size_t n) { std::sort(a, a + n); }
void beside(double *to, size_t n) {
  std::thread t([=] {
    for (size_t i = 0; i < n; i++)
      to[i] = double(i);
  });
  t.join();
}
