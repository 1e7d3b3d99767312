// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: an unknown machine is an error that lists the presets.
// RUN: not %clang -O2 -c -o %t.o '-fplugin-arg-smalloc-machine=zen99' %s 2>&1 | FileCheck %s
// RUN: not %clang -O2 -c -o %t.o '-fplugin-arg-smalloc-machine=zen99' %s 2>&1 | FileCheck --check-prefix=EACH %s
// EACH: {{ skylake-x,.* skylake,| skylake,.* skylake-x,}}
// CHECK: error: smalloc: unknown machine 'zen99': neither a file nor one of native, zen1, {{.*}}generic
int x;
