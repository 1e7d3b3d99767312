// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a unit that defines malloc itself is left alone, and says so.
// RUN: %clang -O2 -Rpass-missed=smalloc -S -emit-llvm -o - %s 2>%t.err | FileCheck %s
// RUN: FileCheck --check-prefix=REMARK %s < %t.err
// CHECK-NOT: __smalloc_v1
// REMARK: remark: sites left alone: this unit defines malloc [-Rpass-missed=smalloc]
#include <stdlib.h>
void *pool(size_t n);
void *malloc(size_t n) { return pool(n); }
void *f(long n) { return calloc(n, 8); }
