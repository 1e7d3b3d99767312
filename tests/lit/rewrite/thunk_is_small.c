// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: the path of a site whose word is 0 is a load, two tests and a jump to malloc, without a frame.
// RUN: %clang -O2 -fcf-protection=none -S -o - %s | grep -v cfi_ | FileCheck %s
// CHECK-LABEL: __smalloc_v1_thunk_malloc:
// CHECK: movq (%rsi), [[WORD:%r[a-z0-9]+]]
// CHECK-NEXT: testl $1073741824, {{.*}}
// CHECK-NEXT: jne
// CHECK: testq [[WORD]], [[WORD]]
// CHECK-NEXT: je malloc@PLT
#include <stdlib.h>
void *f(long n) { return malloc(n); }
