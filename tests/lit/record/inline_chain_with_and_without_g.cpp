// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a site in its context has another name where the program is compiled with -g, and a profile of the one build says
// nothing of the other.
// RUN: %clangxx -O2 -c -o %t.o %s && llvm-strings %t.o | FileCheck %s
// RUN: %clangxx -O2 -g -c -o %t.1.o %s && ld.lld -r -o %t.g.o %t.1.o && llvm-objcopy --dump-section smalloc_sites=%t.bin %t.g.o && llvm-strings %t.bin | FileCheck %s
// CHECK-DAG: {{^}}hot {{.*}}inline_chain_with_and_without_g.cpp:[[# @LINE + 7]]
// CHECK-DAG: {{^}}cold {{.*}}inline_chain_with_and_without_g.cpp:[[# @LINE + 7]]
#include <stdlib.h>
namespace pool {
struct Pool {
  static double *make(long n) { return static_cast<double *>(malloc(n * sizeof(double))); }
};
double *hot(long n) { return Pool::make(n); }
double *cold(long n) { return Pool::make(n + 1); }
} // namespace pool
