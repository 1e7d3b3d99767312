// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: -ffat-lto-objects runs the pipeline over a finished module again: each site stays one.
// RUN: %clang -O2 -flto -ffat-lto-objects -fplugin-arg-smalloc-heap=superpage -c -o %t.o %s
// RUN: llvm-readelf -S -s %t.o | FileCheck %s
// CHECK: smalloc_cells PROGBITS {{[0-9a-f]+}} {{[0-9a-f]+}} 000018
// CHECK: smalloc_sites PROGBITS
// CHECK: __smalloc_v1_site_{{[0-9a-f_]*}}.cell
// CHECK-NOT: __smalloc_v1_site_{{[0-9a-f_]*}}.cell
#include <stdlib.h>
void *f(long n) { return malloc(n); }
