#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A site of varying size whose objects are replaced at random: the plugin's build executes 191
# instructions more than the plain binary, whose requests the size classes serve. It was 596 when the
# cache served exact sizes only, and is 218 when a full cache returns all of its objects.
most=205
. "$(dirname "$0")/../support/lib.sh"
command -v valgrind >/dev/null || skip "valgrind is missing"
cat >replace.c <<'C'
#include <stdio.h>
#include <stdlib.h>
enum { N = 3000, MOST = 3000 };
static char *object[N];
int main(int argc, char **argv) {
  const long steps = atol(argv[1]);
  unsigned long x = 5, sum = 0;
  for (long i = 0; i < steps; i++) {
    x = x * 6364136223846793005ul + 1442695040888963407ul;
    const unsigned long k = (x >> 20) % N, bytes = 24 + (x >> 40) % MOST;
    free(object[k]);
    object[k] = malloc(bytes);
    for (unsigned long b = 0; b < bytes; b += bytes - 1)
      object[k][b] = (char)i;
    const char *other = object[(k * 7) % N];
    sum += other ? (unsigned long)*other : 0;
  }
  printf("%lu\n", sum);
  return 0;
}
C
lib=$(dirname "$LIB")
"$CLANG" -O2 replace.c -o plain
"$CLANG" -O2 -fplugin="$PLUGIN" -fplugin-arg-smalloc-rewrite=all replace.c -o plugin -L"$lib" -Wl,--no-as-needed -lsmalloc -Wl,-rpath,"$lib"
expect_status 0 ./plain 50000
mv out want
expect_status 0 ./plugin 50000
cmp want out || fail "another result"
# instructions COMMAND STEPS: prints the number of executed instructions.
instructions() {
  valgrind --tool=callgrind --callgrind-out-file=/dev/null --trace-children=no "$@" 2>&1 >/dev/null | awk '/Collected/ { print $NF }'
}
# Of the last 250,000 replacements, when all objects exist and the heaps run.
of_replacements() { # NAME
  local few many
  few=$(instructions "./$1" 50000)
  many=$(instructions "./$1" 300000)
  echo $(((many - few) / 250000))
}
plugin=$(of_replacements plugin)
export LD_PRELOAD=$LIB
plain=$(of_replacements plain)
unset LD_PRELOAD
echo "instructions of a replacement: plugin's build $plugin, plain binary $plain"
[ "$plain" -ge 50 ] || fail "what was counted?"
[ $((plugin - plain)) -le $most ] || fail "$((plugin - plain)) instructions more than the plain binary for a replacement"
