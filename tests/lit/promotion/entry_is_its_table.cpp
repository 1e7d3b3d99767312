// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a probe that holds the entry's address asks for the table, once, not for the entry, too.
// RUN: %clangxx -O2 -S -emit-llvm -o - %s | FileCheck %s
// CHECK-LABEL: define {{.*}}find
// CHECK: call {{.*}}void @__smalloc_v1_touch_counting({{.*}}, i64 1)
// CHECK-NOT: call {{.*}}void @__smalloc_v1_touch_counting(
// CHECK: ret ptr
#include <stdint.h>
struct Entry {
  uint64_t key;
  bool used;
};
struct Table {
  Table(uint32_t n) : entries(new Entry[n]()), slots(n) {}
  Entry *entries;
  uint32_t slots;
  Entry *find(uint64_t key) const;
};
Entry *Table::find(uint64_t key) const {
  uint32_t place = (key * 0x9e3779b97f4a7c15u >> 32) & (slots - 1);
  while (entries[place].used && entries[place].key != key)
    place = (place + 1) & (slots - 1);
  return entries[place].used ? &entries[place] : nullptr;
}
Table *make(uint32_t n) { return new Table(n); }
