// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: the registration entry, free and realloc are addressed through the GOT with -fno-pie.
// RUN: %clang -O2 -fno-pie -fno-pic -S -o - %s | FileCheck %s
// CHECK-DAG: __smalloc_v1_register_module@GOTPCREL(%rip)
// CHECK-DAG: free@GOTPCREL(%rip)
// CHECK-DAG: realloc@GOTPCREL(%rip)
// CHECK-DAG: _ZdlPv@GOTPCREL(%rip)
#include <stdlib.h>
void *f(long n) { return malloc(n); }
