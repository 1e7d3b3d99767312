# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# shellcheck shell=bash
# peaks.bash compares the page faults and the peak memory of a program with those under glibc. The
# program ends with print_peaks() (fixtures/peaks.h).
# build_peaks: compiles standard input to ./plain, and with the plugin to ./sites.
build_peaks() {
  command -v "$CLANG" >/dev/null || skip "no $CLANG"
  cat >peaks_program.c
  "$CLANG" -O2 -I "$SMALLOC_SOURCE/tests/integration/fixtures" peaks_program.c -o plain || fail "does not compile"
  "$CLANG" -O2 -I "$SMALLOC_SOURCE/tests/integration/fixtures" -fplugin="$PLUGIN" peaks_program.c -o sites ||
    fail "does not compile with the plugin"
}
# glibc_peaks ARGUMENT...: runs ./plain without libsmalloc; sets glibc_faults and glibc_mib.
glibc_peaks() {
  ./plain "$@" >want 2>err || fail "$*, glibc: status $?"
  read -r glibc_faults glibc_mib <err
}
# our_peaks PROGRAM SMALLOC_CONF ARGUMENT...: runs ./PROGRAM with libsmalloc; sets faults and mib. The
# output has to be that of the last glibc_peaks. populate:always: the counts do not depend on what
# first touches cost this system.
our_peaks() {
  SMALLOC_CONF=populate:always,$2 LD_PRELOAD=$LIB "./$1" "${@:3}" >got 2>err || fail "${*:3}, $1, $2: status $?"
  cmp want got || fail "${*:3}, $1, $2: another output"
  # shellcheck disable=SC2034 # for the test
  read -r faults mib <err
  echo "${*:3}, $1, $2: $faults page faults, $mib MiB; glibc $glibc_faults, $glibc_mib MiB"
}
