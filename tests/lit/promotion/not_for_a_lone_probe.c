// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a loop of unknown length that picks in an object of other units asks for nothing; it asks where
// its unit makes the object, and where another loop is around it.
// RUN: %clang -O2 -S -emit-llvm -o - %s | FileCheck %s
// CHECK-LABEL: define {{.*}}@foreign(
// CHECK-NOT: call {{.*}}void @__smalloc_v1_touch_counting(
// CHECK-LABEL: define {{.*}}@own(
// CHECK: call {{.*}}void @__smalloc_v1_touch_counting(
// CHECK-LABEL: define {{.*}}@again(
// CHECK: call {{.*}}void @__smalloc_v1_touch_counting(
#include <stdlib.h>
static long *table;
void make(long n) { table = calloc(n, sizeof *table); }
long foreign(const long *keys, long key, unsigned mask) {
  unsigned at = (unsigned)key * 69069u;
  while (keys[at & mask] != key)
    at = at * 69069 + 1;
  return at & mask;
}
long own(long key, unsigned mask) {
  unsigned at = (unsigned)key * 69069u;
  while (table[at & mask] != key)
    at = at * 69069 + 1;
  return at & mask;
}
long again(const long *keys, long key, unsigned mask) {
  long sum = 0;
  for (unsigned at = (unsigned)key * 69069u; keys[at & mask]; at = at * 69069 + 1)
    for (unsigned next = at; keys[next & mask] != key; next = next * 69069 + 1)
      sum += next;
  return sum;
}
