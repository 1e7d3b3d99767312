// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a unit that replaces operator new is left alone, and says so.
// RUN: %clangxx -O2 -Rpass-missed=smalloc -S -emit-llvm -o - %s 2>%t.err | FileCheck %s
// RUN: FileCheck --check-prefix=REMARK %s < %t.err
// CHECK-NOT: __smalloc_v1
// REMARK: remark: sites left alone: this unit defines _Znwm [-Rpass-missed=smalloc]
#include <cstdlib>
void *operator new(std::size_t n) { return std::malloc(n); }
double *f(long n) { return new double[n]; }
