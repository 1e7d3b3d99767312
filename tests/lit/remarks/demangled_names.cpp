// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: remarks name C++ functions as people write them.
// RUN: %remarksxx %s 2>&1 | FileCheck %s
// CHECK: new of n bytes in 'pool::take(long)'
struct pool {
  void *take(long n);
};
void *pool::take(long n) { return ::operator new(n); }
