# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# build.bash: how a black-box test compiles, links and runs a program with smalloc, and checks for
# "on superpages". link_*.sh, compile_*.sh and wrapper_*.sh source it after lib.sh.
# shellcheck disable=SC2034,SC2154 # variables go to and come from the scripts
LIBDIR=$SMALLOC_BUILD/lib
BIN=$SMALLOC_BUILD/bin
FLANG=${FLANG:-flang-22}
# As the wrappers do: libsmalloc comes first, and is kept although nothing refers to it strongly.
LINK_LIBRARY=(-L"$LIBDIR" -Wl,--push-state,--no-as-needed -lsmalloc -Wl,--pop-state -Wl,-rpath,"$LIBDIR")

grep -q '^SMALLOC_BUILD_PASSES:BOOL=ON' "$SMALLOC_BUILD/CMakeCache.txt" || skip "the plugin is not part of this build"
[ -r "$PLUGIN" ] || fail "no plugin: $PLUGIN"
command -v "$CLANG" >/dev/null || skip "no $CLANG"

# `| found PATTERN`: a grep that reads to the end, so that the command before it never ends by
# SIGPIPE.
found() { grep "$@" >/dev/null; }
has_sites() { readelf -SW "$1" | found ' smalloc_sites '; }
# Number of sites in a program or an object: counts the magic number of site.h that opens each
# record.
count_sites() {
  objcopy -O binary --only-section=smalloc_sites --set-section-flags smalloc_sites=alloc "$1" "$tmp/sites.bin" 2>/dev/null || true
  if [ -s "$tmp/sites.bin" ]; then { grep -aob 'SMS1' "$tmp/sites.bin" || true; } | wc -l; else echo 0; fi
}
calls_thunk() { "$(command -v llvm-nm-22 || echo nm)" "$1" | found '__smalloc_v1_thunk'; }

# A table of 64 MiB, fully written, read at random through an index: the simplest case for
# superpages. Prints the sum, and how much of the table's mapping lies on transparent superpages.
# TABLE_ONLY, MAIN_ONLY: in two halves.
write_gather() {
  cat >gather.c <<'C'
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#define COUNT ((size_t)8 << 20)
double gather(long *huge_kib);
#ifndef MAIN_ONLY
static long huge_kib_at(const void *p) {
  FILE *smaps = fopen("/proc/self/smaps", "r");
  char line[4096];
  long kib = 0, total = 0;
  int inside = 0;
  while (smaps && fgets(line, sizeof line, smaps)) {
    unsigned long start, stop;
    char dash;
    if (sscanf(line, "%lx%c%lx", &start, &dash, &stop) == 3 && dash == '-')
      inside = start < (unsigned long)p + COUNT * sizeof(double) && (unsigned long)p < stop;
    if (inside && sscanf(line, "AnonHugePages: %ld", &kib) == 1)
      total += kib;
  }
  if (smaps)
    fclose(smaps);
  return total;
}
double gather(long *huge_kib) {
  double *table = malloc(COUNT * sizeof *table);
  uint32_t *index = malloc(COUNT / 4 * sizeof *index);
  uint32_t state = 12345;
  double sum = 0;
  if (!table || !index)
    abort();
  for (size_t i = 0; i < COUNT; i++)
    table[i] = (double)(i % 7);
  for (size_t i = 0; i < COUNT / 4; i++) {
    state = state * 1664525u + 1013904223u;
    index[i] = state % COUNT;
  }
  for (size_t i = 0; i < COUNT / 4; i++)
    sum += table[index[i]];
  *huge_kib = huge_kib_at(table);
  free(index);
  free(table);
  return sum;
}
#endif
#ifndef TABLE_ONLY
int main(void) {
  long huge_kib;
  double sum = gather(&huge_kib);
  printf("sum %.0f huge_kib %ld\n", sum, huge_kib);
  return 0;
}
#endif
C
  "$CLANG" -O2 gather.c -o reference
  SUM=$(./reference | sed 's/ huge_kib.*//')
  [ -n "$SUM" ] || fail "the reference program printed nothing"
}

# runs_plain CMD...: checks for the right result and no superpage.
runs_plain() {
  expect_status 0 "$@"
  expect_match out "^$SUM huge_kib 0\$"
}
# runs_huge CMD...: checks for the right result, and most of the table on superpages (if the system
# has any).
runs_huge() {
  expect_status 0 "$@"
  expect_match out "^$SUM huge_kib"
  case $(thp_mode) in madvise | always) ;; *) return 0 ;; esac
  local kib
  kib=$(sed 's/.*huge_kib //' out)
  [ "$kib" -ge 49152 ] || { cat err >&2; fail "$kib KiB of 65536 on superpages: $*"; }
}
# runs_right CMD...: checks for the right result; superpages without a site are tested elsewhere.
runs_right() {
  expect_status 0 "$@"
  expect_match out "^$SUM huge_kib"
}
# app: the table program with a history; id: its build-id. Skips the test if the machine cannot have
# a history.
write_recorded_app() {
  unset SMALLOC_CONF # only the command's own settings
  [ -r "$SMALLOC_BUILD/lib/libsmalloc_feedback.so" ] || skip "libsmalloc_feedback.so was not built (sanitizers)"
  write_gather
  build_app -O2
  id=$(build_id)
  [ -n "$id" ] || skip "the linker writes no build-id"
}
build_app() { "$CLANG" "$@" -fplugin="$PLUGIN" -fplugin-arg-smalloc-rewrite=all gather.c -o app "${LINK_LIBRARY[@]}"; }
build_id() { readelf -n app | sed -n 's/.*Build ID: //p'; }
# MADV_POPULATE_WRITE, which times first touches: since Linux 5.14.
times_touches() { [ "$(printf '%s\n' 5.14 "$(uname -r)" | sort -V | head -n 1)" = 5.14 ]; }
# quietly CMD...: a compile or link must succeed and print nothing.
quietly() {
  "$@" >log 2>&1 || { cat log >&2; fail "exit status $?: $*"; }
  [ ! -s log ] || { cat log >&2; fail "unexpected output: $*"; }
}

# link_matrix FLAG...: compiles and links with the flags, as PIE and as position-dependent program:
# without the library, with -lsmalloc, with LD_PRELOAD, and with the allocation inside a shared
# library.
link_matrix() {
  write_gather
  local pie preloaded=runs_huge
  [[ $* != *-fuse-ld=mold* ]] || preloaded=runs_right # mold leaves a preloaded library no site
  for pie in pie no-pie; do
    local compile=(-O2 -fplugin="$PLUGIN" "-f$pie") link=("-$pie" "$@") flag
    for flag; do [[ $flag == -fuse-ld=* ]] || compile+=("$flag"); done
    echo "== $pie: ${*:-default linker}"
    quietly "$CLANG" "${compile[@]}" -c gather.c -o gather.o
    quietly "$CLANG" "${link[@]}" gather.o -o without
    has_sites without || fail "no section smalloc_sites"
    runs_plain ./without
    $preloaded env LD_PRELOAD="$LIB" ./without
    $preloaded env LD_PRELOAD="$PRELOAD" ./without
    quietly "$CLANG" "${link[@]}" gather.o "${LINK_LIBRARY[@]}" -o with
    runs_huge ./with
    strip ./with
    runs_huge ./with

    # The shared library has the sites and does not need libsmalloc. The program links libsmalloc,
    # or none does.
    quietly "$CLANG" -O2 -fplugin="$PLUGIN" -fPIC -shared "$@" -DTABLE_ONLY gather.c -o libtable.so
    ! readelf -dW libtable.so | found libsmalloc || fail "libtable.so needs libsmalloc"
    quietly "$CLANG" "${compile[@]}" -DMAIN_ONLY -c gather.c -o main.o
    quietly "$CLANG" "${link[@]}" main.o ./libtable.so -o user_without
    runs_plain ./user_without
    quietly "$CLANG" "${link[@]}" main.o ./libtable.so "${LINK_LIBRARY[@]}" -o user_with
    runs_huge ./user_with
  done
}
has_linker() { # NAME: as in -fuse-ld=NAME
  command -v "ld.$1" >/dev/null || [ -x "/usr/lib/llvm-22/bin/ld.$1" ]
}
need_linker() { has_linker "$1" || skip "no ld.$1"; }
# For a loop over linkers: reports what a missing linker would have tested; the loop continues.
misses_linker() { ! has_linker "$1" && echo "no ld.$1"; }
# Results were correct, but superpages could not be checked: reports that.
end_thp() { need_thp; }
