#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Programs with and without libsmalloc can dlopen a shared library that was compiled with the
# plugin.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
write_gather
quietly "$CLANG" -O2 -fplugin="$PLUGIN" -fPIC -shared -DTABLE_ONLY gather.c -o libtable.so
cat >open.c <<'C'
#include <dlfcn.h>
#include <stdio.h>
int main(void) {
  for (int round = 0; round < 3; round++) {
    void *library = dlopen("./libtable.so", RTLD_NOW);
    if (!library)
      return puts(dlerror()), 1;
    double (*gather)(long *) = (double (*)(long *))dlsym(library, "gather");
    long huge_kib;
    double sum = gather(&huge_kib);
    if (round == 2)
      printf("sum %.0f huge_kib %ld\n", sum, huge_kib);
    if (dlclose(library))
      return 1;
  }
  return 0;
}
C
quietly "$CLANG" -O2 open.c -o open_without
runs_plain ./open_without
runs_huge env LD_PRELOAD="$LIB" ./open_without
quietly "$CLANG" -O2 open.c "${LINK_LIBRARY[@]}" -o open_with
runs_huge ./open_with
end_thp
