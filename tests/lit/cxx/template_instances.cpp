// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: each instance of a template has its sites, ids and decisions; so has each call of it, which returns fresh memory.
// RUN: rm -rf %t && %clangxx -O2 -c -o /dev/null -fplugin-arg-smalloc-sites=%t %s
// RUN: cat %t/*.json | grep '"id"' | sort -u | count 4
template <class T> __attribute__((noinline)) T *make(long n) { return new T[n]; }
double *f(long n) { return make<double>(n); }
int *g(long n) { return make<int>(n); }
