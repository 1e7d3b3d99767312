// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a bad option leaves no object behind.
// RUN: rm -f %t.o && not %clang -O2 -c -o %t.o -fplugin-arg-smalloc-heap=x %s
// RUN: not ls %t.o
int x;
