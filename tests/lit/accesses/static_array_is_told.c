// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: an array in static storage is data as any other.
// RUN: %clang -O2 -fplugin-arg-smalloc-profile-generate -S -emit-llvm -o - %s | FileCheck %s
// CHECK-LABEL: define {{.*}}@get(
// CHECK: call preserve_mostcc void @__smalloc_v1_tell5(
static int table[1000];
void set(long i) { table[i] = 1; }
int get(long i) { return table[i]; }
