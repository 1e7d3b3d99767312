// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: functions of system headers that call other units' functions, or copy memory, get no locations where the plugin
// alone wants them, unless what they call may give memory.
// RUN: %clangxx -O2 -Xclang -disable-llvm-passes -S -emit-llvm -o - %s | FileCheck %s
// CHECK-DAG: define linkonce_odr {{.*}}@_Z6copiesPcPKcm({{[^!]*$}}
// CHECK-DAG: define linkonce_odr {{.*}}@_Z6checksi({{[^!]*$}}
// CHECK-DAG: define linkonce_odr {{.*}}@_Z5makesm({{.*}} !dbg
// CHECK-DAG: define linkonce_odr {{.*}}@_Z7blockOfm({{.*}} !dbg
// CHECK-DAG: define linkonce_odr {{.*}}@_Z6storesPPvm({{.*}} !dbg
# 1 "outside.h" 1 3
extern "C" int posix_memalign(void **, unsigned long, unsigned long) noexcept;
struct Block {
  void *begin;
};
void fails(int);
void *made(unsigned long);
Block blockMade(unsigned long);
inline void copies(char *to, const char *from, unsigned long n) { __builtin_memcpy(to, from, n); }
inline int checks(int i) {
  if (i < 0)
    fails(i);
  return i;
}
inline void *makes(unsigned long n) { return made(n); }
inline Block blockOf(unsigned long n) { return blockMade(n); }
inline int stores(void **p, unsigned long n) { return posix_memalign(p, 64, n); }
# 30 "own_locations_of_outside_calls.cpp" 2
void *use(char *to, const char *from, void **p, unsigned long n) {
  copies(to, from, n);
  *p = blockOf(n).begin;
  return checks(stores(p, n)) ? makes(n) : nullptr;
}
