// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a loop that may end at once earns what one iteration is worth, not what its counter has room for (minisat2
// asked 6 million times with 2147483647), nor what it comes to at most.
// RUN: %clang -O2 -S -emit-llvm -o - %s | FileCheck %s
// CHECK-NOT: i64 2147483647
// CHECK-LABEL: define {{.*}}@at_most
// CHECK: call {{.*}}void @__smalloc_v1_touch_counting(ptr {{.*}}, i64 1)
// CHECK-LABEL: define {{.*}}@surely
// CHECK: call {{.*}}void @__smalloc_v1_touch_counting(ptr {{.*}}, i64 1000000)
// CHECK-NOT: i64 2147483647
#include <stdlib.h>
struct vec {
  int *data, size;
};
int find(struct vec *v, const unsigned char *value, unsigned char *out) {
  for (int i = 0; i < v->size; i++) {
    if (value[v->data[i]] == 7)
      return i;
    out[i] = 1;
  }
  return -1;
}
int fill(double *, int *);
int at_most(long n, int *index) {
  double *a = malloc(n * sizeof(double));
  fill(a, index);
  for (long i = 0; i < 1000000; i++)
    if (a[index[i]] < 0)
      return (int)i;
  return -1;
}
double surely(long n, int *index) {
  double *a = malloc(n * sizeof(double)), s = 0;
  fill(a, index);
  for (long i = 0; i < 1000000; i++)
    s += a[index[i]];
  return s;
}
