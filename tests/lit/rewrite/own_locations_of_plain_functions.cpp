// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: functions of system headers that neither loop nor call get no locations where the plugin alone wants them; a site
// behind others keeps its line and its chain of calls; who wants locations himself has them all.
// RUN: %clangxx -O2 -Xclang -disable-llvm-passes -S -emit-llvm -o - %s | FileCheck %s
// RUN: %clangxx -O2 -gline-tables-only -Xclang -disable-llvm-passes -S -emit-llvm -o - %s | FileCheck --check-prefix=WANTED %s
// RUN: %clangxx -O2 -Rpass=inline -Xclang -disable-llvm-passes -S -emit-llvm -o - %s | FileCheck --check-prefix=WANTED %s
// RUN: %remarksxx %s 2>&1 | FileCheck --check-prefix=SITE %s
// RUN: %clangxx -O2 -S -emit-llvm -o - %s | FileCheck --check-prefix=LINE %s
// CHECK-DAG: define linkonce_odr {{.*}}@_ZNKSt6vectorIdSaIdEE4sizeEv({{[^!]*$}}
// CHECK-DAG: define linkonce_odr {{.*}}@_ZNSt15__new_allocatorIdE8allocateEmPKv({{.*}} !dbg
// WANTED: define linkonce_odr {{.*}}@_ZNKSt6vectorIdSaIdEE4sizeEv({{.*}} !dbg
// SITE: own_locations_of_plain_functions.cpp:16:23: remark: {{.*}}new of n*8 bytes in
// LINE: @__smalloc_v1_site_{{.*}} i32 16, i32 0,
#include <vector>
double sum(unsigned long n, const unsigned long *at) {
  std::vector<double> a(n);
  double s = 0;
  for (unsigned long i = 0; i < a.size(); i++)
    s += a[at[i]] += 1;
  return s;
}
