// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: on aarch64 the cell is in the register behind the last argument, the thunk reads its word there, takes the
// entries from the GOT, and leaves the program's function as a tail call.
// RUN: %clangxx -O2 --target=aarch64-linux-gnu -S -o %t.s %s && FileCheck %s --input-file=%t.s
typedef __SIZE_TYPE__ size_t;
extern "C" {
void *malloc(size_t);
void *calloc(size_t, size_t);
void *realloc(void *, size_t);
int posix_memalign(void **, size_t, size_t);
}
// CHECK-LABEL: _Z1mm:
// CHECK: x1, {{.*}}.cell
// CHECK: b __smalloc_v1_thunk_malloc
void *m(size_t n) { return malloc(n); }
// CHECK-LABEL: _Z1cm:
// CHECK: x2, {{.*}}.cell
// CHECK: b __smalloc_v1_thunk_calloc
void *c(size_t n) { return calloc(n, 8); }
// CHECK-LABEL: _Z1rPvm:
// CHECK: x2, {{.*}}.cell
// CHECK: b __smalloc_v1_thunk_realloc
void *r(void *p, size_t n) { return realloc(p, n); }
// CHECK-LABEL: _Z1pPPvm:
// CHECK: x3, {{.*}}.cell
// CHECK: b __smalloc_v1_thunk_posix_memalign
int p(void **to, size_t n) { return posix_memalign(to, 64, n); }
// CHECK-LABEL: _Z1wm:
// CHECK: x1, {{.*}}.cell
// CHECK: b __smalloc_v1_thunk__Znwm
void *w(size_t n) { return ::operator new(n); }
// CHECK-LABEL: __smalloc_v1_thunk_malloc:
// CHECK: ldr [[WORD:x[0-9]+]], [x1]
// The order of the blocks differs from version to version.
// CHECK-DAG: :got_lo12:__smalloc_v1_malloc]
// CHECK-DAG: b __smalloc_v1_malloc_or_malloc
// CHECK-DAG: :got_lo12:__smalloc_v1_small]
// CHECK-DAG: b malloc
// CHECK-LABEL: __smalloc_v1_malloc_or_malloc:
// CHECK: blr
// CHECK: b malloc
// CHECK-LABEL: __smalloc_v1_thunk_calloc:
// CHECK: ldr {{x[0-9]+}}, [x2]
// CHECK: umulh
// CHECK-LABEL: __smalloc_v1_thunk_posix_memalign:
// CHECK: ldr {{x[0-9]+}}, [x3]
