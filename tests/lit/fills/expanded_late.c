// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a fill point is one call until the end of the pipeline. Then the size is tested in line before a lone
// loop, and in the thunk before a nest. A unit for a link keeps the calls until the link.
// RUN: %clang -O2 -S -emit-llvm -o - %s | FileCheck %s
// RUN: %clang -O2 -flto -S -emit-llvm -o - %s | FileCheck --check-prefix=LINK %s
// RUN: %clang -O2 --target=x86_64-linux-gnu -S -o - %s | FileCheck --check-prefix=TEXT %s

// CHECK-NOT: @__smalloc_v1_ask_filling
// CHECK-LABEL: define {{.*}}@lone(
// CHECK: icmp ugt i64 %[[BYTES:.*]], 2097151
// CHECK-NEXT: br i1 {{.*}}, !prof
// CHECK: call preserve_mostcc void @__smalloc_v1_large_fill({{.*}}, i64 %[[BYTES]])
// CHECK-NEXT: br label
// LINK-LABEL: define {{.*}}@lone(
// LINK: call void @__smalloc_v1_ask_filling(
void lone(long *restrict a, long n) {
  for (long i = 0; i < n; i++)
    a[i] = i * i;
}
// CHECK-LABEL: define {{.*}}@nest(
// CHECK-NOT: 2097151
// CHECK: call preserve_mostcc void @__smalloc_v1_large_fill(
// CHECK: ret void
// LINK-LABEL: define {{.*}}@nest(
// LINK: call void @__smalloc_v1_ask_filling(
void nest(double *restrict a, long n, long m) {
  for (long i = 0; i < n; i++)
    for (long j = 0; j < m; j++)
      a[j * n + i] = (double)(i ^ j);
}
// CHECK-LABEL: define linkonce_odr hidden preserve_mostcc void @__smalloc_v1_large_fill(
// CHECK: icmp ugt i64 %2, 2097151
// LINK: define linkonce_odr hidden void @__smalloc_v1_ask_filling(
// LINK: icmp ugt i64 %2, 2097151
// LINK-NOT: @__smalloc_v1_large_fill

// TEXT: __smalloc_v1_large_fill:
// TEXT: cmpq $2097152, %rdx
// TEXT-NOT: __smalloc_v1_ask_filling
