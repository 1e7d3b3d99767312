// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: anonymous private memory from mmap is a site; a mapping of a file, shared, fixed, or not writable is none.
// RUN: %remarks %s 2>&1 | FileCheck --check-prefix=REMARK %s
// RUN: %clang -O2 -S -emit-llvm -o - %s | FileCheck %s
// REMARK: mmap.c:[[@LINE+13]]:15: remark: superpages from {{.*}}, at the first touch since every byte is written: mmap of n*8 bytes in 'work': picked at random
// CHECK-LABEL: define {{.*}}@work(
// CHECK: call {{.*}}@__smalloc_v1_thunk_mmap(ptr {{.*}}.cell)
// CHECK-LABEL: define {{.*}}@others(
// CHECK-NOT: @__smalloc_v1_thunk_mmap(
// CHECK-LABEL: define linkonce_odr hidden {{.*}}@__smalloc_v1_thunk_mmap(
// CHECK: %[[P:[0-9]+]] = {{.*}}call {{.*}}@mmap(
// CHECK: load atomic i64, ptr {{.*}} monotonic
// CHECK: ret ptr %[[P]]
#include <stdlib.h>
#include <sys/mman.h>
double work(const int *pick, long n) {
  double s = 0;
  double *a = mmap(NULL, n * sizeof *a, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (a == MAP_FAILED)
    abort();
  for (long i = 0; i < n; i++)
    a[i] = i;
  for (long i = 0; i < n; i++)
    s += a[pick[i]];
  munmap(a, n * sizeof *a);
  return s;
}
void others(void **p, long n, int fd, void *at) {
  p[0] = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
  p[1] = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  p[2] = mmap(at, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  p[3] = mmap(NULL, n, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  p[4] = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
  p[5] = mmap(NULL, n, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}
