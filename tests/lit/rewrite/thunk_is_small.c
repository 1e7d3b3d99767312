// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: the path of a site whose word is 0 is a load, three tests and a jump to malloc, without a frame; that of
// a site whose calls our heaps serve goes straight on to it.
// RUN: %clang -O2 -fcf-protection=none -S -o - %s | grep -v cfi_ | FileCheck %s
// CHECK-LABEL: __smalloc_v1_thunk_malloc:
// CHECK: movq (%rsi), [[WORD:%r[a-z0-9]+]]
// CHECK-NEXT: testl $1073741824, {{.*}}
// CHECK-NEXT: je [[OTHERS:[.A-Za-z0-9]+]]
// CHECK-NEXT: movq malloc@GOTPCREL(%rip), %rdx
// CHECK-NEXT: jmpq *__smalloc_v1_small@GOTPCREL(%rip)
// CHECK-NEXT: [[OTHERS]]:
// CHECK-NEXT: testl $536870912, {{.*}}
// CHECK-NEXT: je [[REST:[.A-Za-z0-9]+]]
// CHECK-NEXT: movq malloc@GOTPCREL(%rip), %rdx
// CHECK-NEXT: jmpq *__smalloc_v1_joining@GOTPCREL(%rip)
// CHECK-NEXT: [[REST]]:
// CHECK-NEXT: testq [[WORD]], [[WORD]]
// CHECK-NEXT: je malloc@PLT
#include <stdlib.h>
void *f(long n) { return malloc(n); }
