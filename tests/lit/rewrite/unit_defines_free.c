// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a unit that defines free itself is left alone, and says so.
// RUN: %clang -O2 -Rpass-missed=smalloc -S -emit-llvm -o - %s 2>%t.err | FileCheck %s
// RUN: FileCheck --check-prefix=REMARK %s < %t.err
// CHECK-NOT: __smalloc_v1
// REMARK: remark: sites left alone: this unit defines free [-Rpass-missed=smalloc]
#include <stdlib.h>
void *pool(size_t n);
void free(void *p) { (void)p; }
void *f(long n) { return calloc(n, 8); }
