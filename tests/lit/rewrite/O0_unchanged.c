// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: -O0 is left alone: the assembly is what it is without the plugin.
// RUN: %clang -O0 -S -o %t.with %s
// RUN: %rawclang -O0 -S -o %t.without %s
// RUN: diff %t.with %t.without
#include <stdlib.h>
void *f(long n) { return malloc(n); }
