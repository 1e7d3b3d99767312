// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: sites=DIR writes the unit's table as valid JSON of schema smalloc.sites/1.
// RUN: rm -rf %t && %clang -O2 -c -o /dev/null -fplugin-arg-smalloc-sites=%t/deep/er %s
// RUN: cat %t/deep/er/*.json | %python -m json.tool --sort-keys | FileCheck %s
// CHECK: "joined": false
// CHECK: "model": "spread"
// CHECK: "schema": "smalloc.sites/1"
// CHECK: "callee": "malloc"
// CHECK: "decided_by": "compiler"
// CHECK: "pattern": "scattered"
// CHECK: "why": "{{.+}}"
// CHECK: "totals": {
// CHECK-NEXT: "base": 1,
// CHECK-NEXT: "runtime": 1,
// CHECK-NEXT: "sites": 2,
// CHECK-NEXT: "superpage": 0
// What smalloc sites --json has of a program is there, what is not known is null, and what pays most is first.
// RUN: %python -c "import glob, json; d = json.load(open(glob.glob('%t/deep/er/*.json')[0])); s = d['sites']; assert d['binary'] == {'path': None, 'build_id': None} and d['unit'].endswith('sites_json.c') and [x['function'] for x in s] == ['f', 'g'] and s[0]['heap'] == 'superpage' and s[1]['heap'] == 'program' and s[1]['spread_pages'] is None and s[1]['size_bytes'] == 4 and s[0]['size_bytes'] is None and not [k for x in s for k, v in x.items() if v == '' or (v == 0 and k in ('line', 'column', 'element_bytes'))] and not {'undecided', 'escapes', 'small_objects', 'joined', 'copies'} - set(s[0])"
#include <stdlib.h>
int g(void) {
  volatile int *p = malloc(sizeof *p);
  *p = 3;
  int v = *p;
  free((void *)p);
  return v;
}
double f(const int *x, long n) {
  double *a = malloc(n * sizeof(double)), s = 0;
  for (long i = 0; i < n; i++)
    s += a[x[i]] += i;
  free(a);
  return s;
}
