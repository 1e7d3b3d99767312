// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: names with quotes and other alphabets make valid JSON.
// RUN: rm -rf %t && mkdir -p '%t/q"uote' && cp %s '%t/q"uote/ä b.cpp'
// RUN: %clangxx -O2 -c -o /dev/null -fplugin-arg-smalloc-sites=%t/sites '%t/q"uote/ä b.cpp'
// RUN: cat %t/sites/*.json | %python -m json.tool | FileCheck %s
// CHECK: "file": "{{.*}}q\"uote/
char *größe(long n) { return new char[n]; }
