// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a site's id does not depend on lines.
// RUN: rm -rf %t && mkdir %t && mkdir %t/a && mkdir %t/b
// RUN: %clang -O2 -c -o /dev/null -fplugin-arg-smalloc-sites=%t/a %s
// RUN: %clang -O2 -c -o /dev/null -fplugin-arg-smalloc-sites=%t/b -DMORE_LINES %s
// RUN: grep -h '"id"' %t/a/*.json > %t/a.ids
// RUN: grep -h '"id"' %t/b/*.json > %t/b.ids
// RUN: grep -h '"line"' %t/a/*.json > %t/a.lines
// RUN: grep -h '"line"' %t/b/*.json > %t/b.lines
// RUN: diff %t/a.ids %t/b.ids
// RUN: not diff %t/a.lines %t/b.lines
#include <stdlib.h>
#ifdef MORE_LINES
#line 100
#endif
void *f(size_t n) { return malloc(n); }
