#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Runs glibc's own tests of malloc (Debian's package glibc-source), built outside glibc: without
# libsmalloc, under libsmalloc.so, and with heap:auto and heap:superpage. A test that passes without
# libsmalloc must pass with it, except for the lines of glibc_malloc.exceptions, each with its
# reason. A line that is no longer needed is an error, too.
#
#   tests/compat/glibc_malloc.sh             run and compare
#   tests/compat/glibc_malloc.sh --record    the same, and write docs/evidence/glibc-tests.md
#   tests/compat/glibc_malloc.sh NAME...     only these programs (no comparison of totals)
. "$(dirname "$0")/../integration/support/lib.sh"
HERE=$SMALLOC_SOURCE/tests/compat
CC=${CC:-cc}
least_superpage=23 # of the 28 programs that docs/internals/design.md names, and of all that can be built

record=no only=()
for argument; do
  case $argument in
  --record) record=yes ;;
  -*) echo "glibc_malloc.sh: error: option ($argument): unknown" >&2; echo "hint: head -12 $0" >&2; exit 2 ;;
  *) only+=("$argument") ;;
  esac
done
[ -e "$PRELOAD" ] || fail "$PRELOAD is not built"
archive=$(ls /usr/src/glibc/glibc-*.tar.xz 2>/dev/null | head -1)
[ -n "$archive" ] || skip "no glibc sources (hint: scripts/install-packages glibc-source)"
version=$(basename "$archive" .tar.xz)
[ "$version" = "glibc-$(getconf GNU_LIBC_VERSION | cut -d' ' -f2)" ] ||
  skip "the sources are of $version, the system runs $(getconf GNU_LIBC_VERSION)"
debug_library=$("$CC" -print-file-name=libc_malloc_debug.so.0)

# ---- Build: the tests' support library, then the tests ----
tar xf "$archive" "$version/malloc" "$version/support" "$version/test-skeleton.c" "$version/include" "$version/sysdeps/generic"
src=$tmp/$version
mkdir include objects bin log
for header in include/{libc-diag,array_length,libc-pointer-arith,intprops,intprops-internal,scratch_buffer,alloc_buffer}.h \
  sysdeps/generic/malloc-{size,alignment}.h; do
  [ ! -e "$src/$header" ] || cp "$src/$header" include/
done
ln -s "$src/support" include/support
ln -s "$src/malloc" include/malloc
: >include/config.h
# Definitions of glibc's own build that these sources use.
cat >include/inside.h <<'C'
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <sys/cdefs.h>
#define __set_errno(value) (errno = (value))
#define libc_hidden_proto(name)
#define libc_hidden_def(name)
C
flags=(-std=gnu11 -g -O2 -w -D_GNU_SOURCE -DTIMEOUTFACTOR=6 -I"$tmp/include" -I"$src/support" -pthread)
# Paths of glibc's build tree, which no test of malloc reads.
for path in SRCDIR OBJDIR OBJDIR_ELF_LDSO INSTDIR LIBDIR BINDIR SBINDIR SLIBDIR ROOTSBINDIR COMPLOCALEDIR; do
  flags+=("-D${path}_PATH=\"$tmp\"")
done
for file in "$src"/support/*.c "$src"/malloc/{scratch,alloc}_buffer_*.c; do
  name=$(basename "$file" .c)
  case $name in tst-* | *-container | links-* | test-driver) continue ;; esac
  # Files that need more of glibc's internals belong to tests of other parts.
  "$CC" "${flags[@]}" -include "$tmp/include/inside.h" -c "$file" -o "objects/$name.o" 2>/dev/null || true
done
ar rcs libsupport.a objects/*.o

# Files that are no programs, or that test glibc's private interfaces.
is_excluded() {
  case $1 in
  tst-interpose-aux* | tst-interpose-skeleton) why="part of another test" ;;
  tst-interpose-*) why="brings a malloc of its own" ;;
  tst-dynarray* | tst-alloc_buffer | tst-scratch_buffer) why="tests containers inside glibc, not malloc" ;;
  tst-compathooks-* | tst-mallocstate) why="needs symbols of glibc 2.23 that new programs cannot link" ;;
  tst-mtrace | tst-malloc-check) why="tests glibc's debugging library itself" ;;
  *) return 1 ;;
  esac
}
programs=() not_built=()
for file in "$src"/malloc/mallocbug.c "$src"/malloc/tst-*.c; do
  name=$(basename "$file" .c)
  [ ${#only[@]} = 0 ] || [[ " ${only[*]} " == *" $name "* ]] || continue
  if is_excluded "$name"; then
    not_built+=("$name: $why")
  elif "$CC" "${flags[@]}" -I"$src/malloc" "$file" libsupport.a -o "bin/$name" -ldl 2>"log/$name.build"; then
    programs+=("$name")
  else
    cat "log/$name.build" >&2
    fail "$name does not compile"
  fi
done
[ ${#programs[@]} -gt 0 ] || fail "no program of these names: ${only[*]}"

# ---- Run ----
modes=(none guest split superpage)
declare -A title=([none]="without" [guest]="libsmalloc.so" [split]="preload, split" [superpage]="preload, superpage")
declare -A result total
run_test() { # MODE NAME: 0 passed, 77 not applicable, anything else failed
  local preload='' conf='' environment=()
  case $1 in
  guest) preload=$LIB ;;
  split) preload=$PRELOAD conf=heap:auto ;;
  superpage) preload=$PRELOAD conf=heap:superpage ;;
  esac
  case $2 in # as glibc's Makefile runs them
  tst-malloc-usable) environment=(MALLOC_CHECK_=3) preload="$preload $debug_library" ;;
  tst-malloc-usable-tunables) environment=(GLIBC_TUNABLES=glibc.malloc.check=3) preload="$preload $debug_library" ;;
  tst-mxfast) environment=(GLIBC_TUNABLES=glibc.malloc.tcache_count=0:glibc.malloc.mxfast=0) ;;
  esac
  mkdir -p "run/$1-$2"
  (cd "run/$1-$2" && env TIMEOUTFACTOR=6 "${environment[@]}" SMALLOC_CONF="$conf" LD_PRELOAD="$preload" \
    timeout -k 5 300 "$tmp/bin/$2" >"$tmp/log/$2.$1" 2>&1)
}
for mode in "${modes[@]}"; do
  total[$mode]=0
  for name in "${programs[@]}"; do
    status=0
    run_test "$mode" "$name" || status=$?
    case $status in
    0) result[$mode,$name]=pass total[$mode]=$((total[$mode] + 1)) ;;
    77) result[$mode,$name]=unsupported ;;
    *) result[$mode,$name]=FAIL ;;
    esac
    [ ${#only[@]} = 0 ] || { echo "== $mode $name: ${result[$mode,$name]}"; cat "log/$name.$mode"; }
  done
  echo "${title[$mode]}: ${total[$mode]} of ${#programs[@]} pass"
done

# ---- Compare ----
declare -A reason
while read -r mode name text; do
  case $mode in '' | '#'*) continue ;; esac
  reason[$mode,$name]=$text
done <"$HERE/glibc_malloc.exceptions"
bad=0
for name in "${programs[@]}"; do
  for mode in "${modes[@]}"; do
    if [ "${result[$mode,$name]}" = FAIL ] && [ -z "${reason[$mode,$name]:-}" ]; then
      if [ "$mode" != none ] && [ "${result[none,$name]}" = FAIL ]; then continue; fi
      echo "fails: $name, ${title[$mode]}:"
      tail -5 "log/$name.$mode"
      bad=$((bad + 1))
    elif [ "${result[$mode,$name]}" = pass ] && [ -n "${reason[$mode,$name]:-}" ]; then
      echo "passes, but is listed in glibc_malloc.exceptions: $name, ${title[$mode]}"
      bad=$((bad + 1))
    fi
  done
done
[ ${#only[@]} = 0 ] || exit $((bad > 0))
for mode in guest split; do
  [ "${total[$mode]}" = "${total[none]}" ] || { echo "${title[$mode]}: ${total[$mode]} pass, ${total[none]} without us"; bad=$((bad + 1)); }
done
[ "${total[superpage]}" -ge "$least_superpage" ] || { echo "heap:superpage: fewer than $least_superpage"; bad=$((bad + 1)); }

# ---- Report ----
report() {
  echo "| glibc's test | ${title[none]} | ${title[guest]} | ${title[split]} | ${title[superpage]} |"
  echo "|---|---|---|---|---|"
  for name in "${programs[@]}"; do
    echo "| ${name#tst-} | ${result[none,$name]} | ${result[guest,$name]} | ${result[split,$name]} | ${result[superpage,$name]} |"
  done
  echo "| **pass, of ${#programs[@]}** | **${total[none]}** | **${total[guest]}** | **${total[split]}** | **${total[superpage]}** |"
  echo
  for name in "${programs[@]}"; do
    for mode in "${modes[@]}"; do
      [ -z "${reason[$mode,$name]:-}" ] || echo "- ${name#tst-}, ${title[$mode]}: ${reason[$mode,$name]}."
    done
  done
  echo
  echo "Not run:"
  echo
  printf -- '- %s.\n' "${not_built[@]}"
  echo
  echo "$version of Debian's glibc-source, x86-64. Made by \`tests/compat/glibc_malloc.sh --record\`."
}
report
if [ "$record" = yes ] && [ "$bad" = 0 ]; then
  report >report
  page=$SMALLOC_SOURCE/docs/evidence/glibc-tests.md
  awk 'FNR == NR {text = text $0 "\n"; next}
    /<!-- glibc:begin -->/ {print; printf "%s", text; inside = 1}
    /<!-- glibc:end -->/ {inside = 0}
    !inside && !/<!-- glibc:begin -->/ {print}' report "$page" >page
  cat page >"$page"
fi
[ "$bad" = 0 ] || fail "$bad differences"
