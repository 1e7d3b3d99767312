#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A library or program exports exactly the same symbols with and without the plugin, whatever links
# it.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
cat >lib.c <<'C'
#include <stdlib.h>
void *make(size_t bytes) {
  void *p = malloc(bytes);
  if (!p)
    abort();
  return p;
}
__attribute__((visibility("default"))) double gather(const int *index, long n) {
  double *a = make(n * sizeof *a), s = 0;
  for (long i = 0; i < n; i++)
    a[i] = i;
  for (long i = 0; i < n; i++)
    s += a[index[i]];
  free(a);
  return s;
}
int main(void) {
  const int index[4] = {3, 2, 1, 0};
  return gather(index, 4) != 6;
}
C
echo 'ONE_1 { global: gather; main; local: *; };' >map
exports() { nm -D --defined-only "$1" | sed 's/^[0-9a-f]* *//' | LC_ALL=C sort; }
# With Intel's syntax, and with any LTO, the plugin makes IR instead of assembly.
kinds=("" -masm=intel -fvisibility=hidden -fplugin-arg-smalloc-profile-generate -fplugin-arg-smalloc-rewrite=all)
for linker in bfd gold lld mold; do
  ! misses_linker $linker || continue
  for kind in "${kinds[@]}" -flto -flto=thin; do
    [[ $kind != -flto* || $linker = lld ]] || continue
    for link in "-fPIC -shared" "-fPIC -shared -Wl,--version-script=map" "-fPIE -pie -rdynamic" "-fno-pie -no-pie -rdynamic"; do
      # shellcheck disable=SC2206 # several words
      flags=(-O2 $link -fuse-ld=$linker)
      # The program provides the symbols that recording needs.
      [[ $kind != *profile-generate* || $link = *-shared* ]] || continue
      [[ $kind = -fplugin* ]] && plain=() || plain=(${kind:+"$kind"})
      "$CLANG" "${flags[@]}" "${plain[@]}" lib.c -o plain
      quietly "$CLANG" "${flags[@]}" ${kind:+"$kind"} -fplugin="$PLUGIN" lib.c -o with
      has_sites with || fail "$linker $kind $link: no sites"
      cmp -s <(exports plain) <(exports with) ||
        fail "$linker $kind $link: $(diff <(exports plain) <(exports with) | tr '\n' ' ')"
      [[ $link = *-shared* ]] || expect_status 0 ./with
    done
  done
done
