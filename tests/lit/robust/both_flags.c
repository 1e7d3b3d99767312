// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: -fplugin and -fpass-plugin together act once.
// RUN: %clang -O2 -fpass-plugin=%plugin -Rpass-missed=smalloc -S -emit-llvm -o %t.both %s 2>%t.err
// RUN: %clang -O2 -Rpass-missed=smalloc -S -emit-llvm -o %t.one %s 2>%t.err1
// RUN: diff %t.both %t.one
// RUN: grep -c remark: %t.err | grep -x 1
#include <stdlib.h>
void *f(long n) { return malloc(n); }
