// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a function that the linker made local keeps the keys of its arguments. Without them, each access walks back to
// all callers, and finds no more than a few.
// RUN: %clang -O2 -flto -c -o %t.f.bc %s
// RUN: %clang -O2 -flto -DMAIN -c -o %t.g.bc %s
// RUN: llvm-link %t.f.bc %t.g.bc -o %t.bc
// RUN: %rawopt -passes=internalize -internalize-public-api-list=main %t.bc -o %t.whole.bc
// RUN: rm -rf %t && %opt -passes=smalloc-link -smalloc-coverage=%t -disable-output %t.whole.bc && cat %t/*.json > %t.json
// RUN: FileCheck %s < %t.json
// CHECK: "flows": [
// CHECK: "[[RESULT:[0-9a-f]+]]",
// CHECK-NEXT: "[[ARGUMENT:[0-9a-f]+]]",
// CHECK: "named": [
// CHECK: "[[ARGUMENT]]",
// CHECK-NEXT: false,
// CHECK-NEXT: "argument 1 of walk
long walk(const long *p, long n);
#ifdef MAIN
const long *from_elsewhere(int n);
int main(int argc, char **argv) { return (int)walk(from_elsewhere(argc), argc); }
#else
__attribute__((noinline)) long walk(const long *p, long n) {
  long s = 0;
  for (long i = 0; i < n; i++)
    s += p[p[i]];
  return s;
}
#endif
