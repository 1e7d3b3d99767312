// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: std::vector<double>(n, value) fills what it allocates.
// The IR of LLVM 19 does not show that the loop ends where the object does.
// REQUIRES: llvm-21
// RUN: %remarksxx -fplugin-arg-smalloc-heap=superpage %s 2>&1 | FileCheck %s
// CHECK: superpages, at the first touch since every byte is written: new of
#include <vector>
std::vector<double> f(unsigned long n) { return std::vector<double>(n, 1.5); }
