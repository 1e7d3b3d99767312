// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: an access that writes is told with the highest bit of the address set.
// RUN: %clang -O2 -fplugin-arg-smalloc-profile-generate -S -emit-llvm -o - %s | FileCheck %s
// CHECK-LABEL: define {{.*}}@put(
// CHECK: %[[TAGGED:.*]] = or {{.*}}i64 %{{.*}}, -9223372036854775808
// CHECK: call preserve_mostcc void @__smalloc_v1_append5(i64 %[[TAGGED]])
void put(long *p) { *p = 1; }
