// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: the allocation of an inline function stays as compiled in a link, since other modules may share its cell, and
// its pointer still flows to other units.
// RUN: %clangxx -O2 -flto -c -o %t.f.bc %s
// RUN: %clangxx -O2 -flto -DMAIN -c -o %t.g.bc %s
// RUN: llvm-link %t.f.bc %t.g.bc -o %t.bc
// RUN: rm -rf %t && %opt -passes=smalloc-link -smalloc-coverage=%t -disable-output %t.bc && cat %t/*.json > %t.json
// RUN: FileCheck %s < %t.json
// CHECK: "flows": [
// CHECK: "[[SITE:[0-9a-f]+]]",
// CHECK: "sites": [
// CHECK-NEXT: "[[SITE]]"
// CHECK-NEXT: ]
#include <cstdlib>
struct Table {
  long *cells;
};
struct Buffer {
  Table *table;
  long size;
  __attribute__((noinline)) void grow(long n) {
    long *cells = static_cast<long *>(malloc(static_cast<size_t>(n) * sizeof(long)));
    for (long i = 0; i < n; i++)
      cells[i * 7919 % n] = i;
    table->cells = cells;
    size = n;
  }
};
void fill(Buffer &b);
#ifdef MAIN
int main(int argc, char **) {
  Table t{};
  Buffer b{&t, argc};
  b.grow(argc);
  fill(b);
  return static_cast<int>(t.cells[argc / 2]);
}
#else
void fill(Buffer &b) { b.grow(2 * b.size); }
#endif
