// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: what is about to be read, set or copied is told; not before each copy of a loop, which are short as
// a rule.
// RUN: %clang -O2 -fno-discard-value-names -S -emit-llvm -o - %s | FileCheck %s
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// CHECK-LABEL: define {{.*}}@records(
// CHECK: call preserve_mostcc void @__smalloc_v1_large_fill(ptr {{captures.none.|nocapture}} %to,
// CHECK: call i64 @fread(
size_t records(char *to, size_t size, size_t n, FILE *f) { return fread(to, size, n, f); }

// CHECK-LABEL: define {{.*}}@all(
// CHECK: call preserve_mostcc void @__smalloc_v1_large_fill(
// CHECK: call i64 @read(
long all(int f, char *to, size_t n) {
  size_t have = 0;
  for (long got; have < n && (got = read(f, to + have, n - have)) > 0;)
    have += (size_t)got;
  return (long)have;
}
// CHECK-LABEL: define {{.*}}@cleared(
// CHECK: call preserve_mostcc void @__smalloc_v1_large_fill(ptr {{captures.none.|nocapture}} %a, i64 %n, i64 %n)
// CHECK: call void @llvm.memset
void cleared(char *a, size_t n) { memset(a, 0, n); }

// CHECK-LABEL: define {{.*}}@short_ones(
// CHECK-NOT: @__smalloc_v1_{{ask_filling|large_fill}}
// CHECK: call void @llvm.memcpy
// CHECK: ret void
void short_ones(char *to, const char *const *from, const size_t *bytes, long n) {
  for (long i = 0; i < n; i++) {
    memcpy(to, from[i], bytes[i]);
    to += bytes[i];
  }
}
