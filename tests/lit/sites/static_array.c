// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: variables that can hold a superpage are listed with what loops do to them, and nothing is rewritten for them.
// RUN: %remarks %s 2>&1 | FileCheck --check-prefix=REMARK %s
// RUN: %clang -O2 -S -emit-llvm -o - %s | FileCheck %s
// REMARK-DAG: static_array.c:[[@LINE+17]]:10: remark: superpages: 'picked' (static, 33554432 bytes): picked at random through loaded indices in {{.*}}; superpages with program:static
// REMARK-DAG: static_array.c:[[@LINE+18]]:13: remark: base pages: 'streamed' (static, 33554432 bytes): streamed in
// REMARK-NOT: 'small'
// REMARK-NOT: 'constant'
// REMARK-NOT: 'each'
// CHECK-DAG: @picked = internal
// CHECK-DAG: @__smalloc_v1_site_{{[0-9a-f]*}}_static = internal constant {{.*}}section "smalloc_sites"
// CHECK-NOT: @__smalloc_v1_module
// CHECK-NOT: smalloc_cells
// CHECK-NOT: @__smalloc_v1_touch
static double picked[4 << 20], streamed[4 << 20], small[1000];
static _Thread_local double each[4 << 20];
static const double constant[4 << 20] = {1};
double untouched[4 << 20];
double gather(const int *index, long n) {
  double s = 0;
  for (long i = 0; i < n; i++)
    s += picked[index[i]] + constant[index[i]] + small[i % 1000];
  for (long i = 0; i < 4 << 20; i++)
    s = s * streamed[i] + each[i];
  return s;
}
void set(long i, double x) {
  picked[i] = streamed[i] = small[i % 1000] = each[i] = untouched[i] = x;
}
