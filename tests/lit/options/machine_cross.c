// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: the native machine of another architecture's unit is its own processor's (-mcpu), or generic; a machine
// that is named stays.
// RUN: %rawclang -fplugin=%plugin -O2 --target=aarch64-linux-gnu -mcpu=neoverse-v2 -c -o /dev/null -fplugin-arg-smalloc-sites=%t.1 %s
// RUN: cat %t.1/*.json | FileCheck --check-prefix=V2 %s
// RUN: %rawclang -fplugin=%plugin -O2 --target=powerpc64le-linux-gnu -mcpu=pwr9 -c -o /dev/null -fplugin-arg-smalloc-sites=%t.2 %s
// RUN: cat %t.2/*.json | FileCheck --check-prefix=POWER %s
// RUN: %rawclang -fplugin=%plugin -O2 --target=riscv64-linux-gnu -c -o /dev/null -fplugin-arg-smalloc-sites=%t.3 %s
// RUN: cat %t.3/*.json | FileCheck --check-prefix=NONE %s
// RUN: %rawclang -fplugin=%plugin -O2 --target=aarch64-linux-gnu -mcpu=neoverse-v2 -fplugin-arg-smalloc-machine=a64fx -c -o /dev/null -fplugin-arg-smalloc-sites=%t.4 %s
// RUN: cat %t.4/*.json | FileCheck --check-prefix=NAMED %s
// RUN: %rawclang -fplugin=%plugin -O2 --target=aarch64-linux-gnu -c -o /dev/null -fplugin-arg-smalloc-sites=%t.5 %s
// RUN: cat %t.5/*.json | FileCheck --check-prefix=NONE %s
// RUN: %rawclang -fplugin=%plugin -O2 --target=aarch64-linux-gnu -mcpu=neoverse-n1 -c -o /dev/null -fplugin-arg-smalloc-sites=%t.6 %s
// RUN: cat %t.6/*.json | FileCheck --check-prefix=N1 %s
// REQUIRES: x86-host
// V2: "name": "neoverse-v2"
// POWER: "name": "power9"
// NONE: "name": "generic"
// N1: "name": "neoverse-n1"
// NAMED: "name": "a64fx"
void *malloc(unsigned long);
void free(void *);
double f(const int *x, long n) {
  double *a = malloc(n * sizeof(double)), s = 0;
  for (long i = 0; i < n; i++)
    s += a[x[i]] += i;
  free(a);
  return s;
}
