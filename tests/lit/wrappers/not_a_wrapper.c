// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: what may come from memory is no fresh result; nor are weak, variadic and setjmp functions seen through.
// RUN: %clang -O2 -S -emit-llvm -o - %s | FileCheck %s
// CHECK-NOT: __smalloc_v1_with_cell_
// CHECK-NOT: __smalloc_v1_wrapper_
#include <setjmp.h>
#include <stdlib.h>
static void *spare;
void *pooled(size_t n) {
  if (spare) {
    void *p = spare;
    spare = 0;
    return p;
  }
  return malloc(n);
}
void give(void *p) { spare = p; }
__attribute__((weak)) void *replaceable(size_t n) { return malloc(n); }
void *variadic(size_t n, ...) { return malloc(n); }
static jmp_buf back;
void *jumps(size_t n) { return setjmp(back) ? 0 : malloc(n); }
void *itself(size_t n) { return n > 100 ? itself(n / 2) : spare; }
