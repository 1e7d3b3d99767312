// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: units compiled with different options stay as they were compiled.
// RUN: %clang -O2 -flto -c -o %t.f.bc %s
// RUN: %clang -O2 -flto -fplugin-arg-smalloc-heap=migrate -DOTHER -c -o %t.g.bc %s
// RUN: llvm-link %t.f.bc %t.g.bc -o %t.bc
// RUN: %rawopt -passes=verify -S %t.bc -o %t.before
// RUN: %opt -passes=smalloc-link -S %t.bc -o %t.after
// RUN: diff %t.before %t.after
#include <stdlib.h>
#ifdef OTHER
void *g(long n) { return malloc(n); }
#else
void *f(long n) { return malloc(n); }
#endif
