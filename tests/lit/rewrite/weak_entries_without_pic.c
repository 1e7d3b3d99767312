// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: the runtime's weak entries are loaded from the GOT also with -fno-pie: a preload can switch them on.
// RUN: %clang -O2 -fno-pie -fno-pic -S -emit-llvm -o - %s | FileCheck --check-prefix=IR %s
// RUN: %clang -O2 -fno-pie -fno-pic -S -o - %s | FileCheck --check-prefix=ASM %s
// IR-NOT: declare extern_weak dso_local
// IR: declare extern_weak ptr @__smalloc_v1_malloc(
// ASM: __smalloc_v1_malloc@GOTPCREL(%rip)
// ASM-NOT: ${{_?}}__smalloc_v1_malloc
#include <stdlib.h>
void *f(long n) { return malloc(n); }
