#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# static_archive.sh OUT.a JEMALLOC.a PRIVATE.a EXPORTS OBJECT.o... -- OWN_MEMBER.o...
#
# Makes libsmalloc.a, a full replacement of malloc for static programs. One member holds libsmalloc's
# OBJECTs, the private jemalloc of the superpage heaps, and a second jemalloc (prefix jebase_) that
# serves everything else. Only the names of EXPORTS (a version script) are visible outside. malloc's
# family and the operators are weak: a program that defines its own keeps it. OWN_MEMBERs are linked
# only into programs that need them.
set -eu
. "$(dirname "$0")/../jemalloc/jemalloc_names.sh"
out=$1 jemalloc=$2 private=$3 exports=$4
shift 4
inner=$(inner_names "$jemalloc" "$(dirname "$0")/../jemalloc")
dir=$(mktemp -d "${TMPDIR:-/tmp}/smalloc-static.XXXXXX")
trap 'rm -rf "$dir"' EXIT
: >"$dir/objects"
while [ $# -gt 0 ] && [ "$1" != -- ]; do
  printf '%s\n' "$1" >>"$dir/objects"
  shift
done
[ $# = 0 ] || shift

# The base jemalloc keeps its own mappings and MALLOC_CONF. It is cut off from libm, the unwinder and
# the dynamic linker, and libsmalloc registers its fork handlers.
nm -g --defined-only "$jemalloc" 2>/dev/null | awk '$2 ~ /[TBDVW]/ {print $3}' |
  grep -vE '^(_?je_|jemalloc_|_Z|DW)' | sort -u | awk '{print $1, "jebase_" $1}' >"$dir/names"
for name in log exp round _Unwind_Backtrace _Unwind_GetIP pthread_atfork dlsym; do
  echo "$name jesys_$name" >>"$dir/names"
done
# libsmalloc handles a thread whose cache or arena cannot be created: see static_base.cpp.
for name in $inner; do
  [ "$name" = arena_choose_hard ] || echo "je_$name jebase_$name" >>"$dir/names"
done
echo je_arena_choose_hard jesys_arena_choose_hard >>"$dir/names"
cp "$jemalloc" "$dir/base.a"
ar d "$dir/base.a" jemalloc_cpp.pic.o jemalloc_cpp.o
objcopy --redefine-syms="$dir/names" --remove-section=.init_array --remove-section=.ctors "$dir/base.a" "$dir/renamed.a"
mkdir "$dir/threads"
for member in $(ar t "$dir/renamed.a" | grep -E '^(tsd|tcache|jemalloc)\.'); do
  (cd "$dir/threads" && ar x ../renamed.a "$member")
  object=$dir/threads/$member
  case $member in
  tsd.*) objcopy --redefine-sym jebase_tsd_tcache_enabled_data_init=jesys_tsd_tcache_enabled_data_init "$object" ;;
  tcache.*) objcopy --redefine-sym jebase_arena_palloc=jesys_arena_palloc "$object" ;;
  *) # Calls in the defining object also need libsmalloc's name: rename the function, alias its body.
    address=0x$(nm "$object" | sed -n 's/ T jesys_arena_choose_hard$//p')
    objcopy --weaken-symbol=jesys_arena_choose_hard "$object"
    objcopy --add-symbol "jebase_arena_choose_hard=.text:$address,global,function" "$object"
    ;;
  esac
  ar r "$dir/renamed.a" "$object"
done

# Two jemallocs have the same inner names: merge each, and hide all names without its prefix.
ld -r --whole-archive "$dir/renamed.a" -o "$dir/base.o"
objcopy --wildcard --keep-global-symbol='jebase_*' --keep-global-symbol=jesys_arena_choose_hard "$dir/base.o"
ld -r --whole-archive "$private" -o "$dir/private.o"
objcopy --wildcard --keep-global-symbol='jepriv_*' --keep-global-symbol=je_sz_size2index_tab \
  --keep-global-symbol=je_sz_index2size_tab --keep-global-symbol=je_tsd_tls \
  --redefine-sym dlsym=jesys_dlsym "$dir/private.o"

# Exported names: words of the version script's global part, which are patterns of symbol names.
tr -d '\n' <"$exports" | sed -e 's/\/\*[^*]*\*\///g' -e 's/.*global://' -e 's/local:.*//' | tr ';' '\n' |
  tr -d ' \t' | grep . >"$dir/exports"
# For static programs only: see static_base.cpp.
printf '%s\n' mallopt __libc_malloc __libc_calloc __libc_memalign __libc_valloc __libc_pvalloc __posix_memalign >>"$dir/exports"
grep -vE '^(__smalloc_|smalloc|s(c|re)?alloc|smemalign|sfree)' "$dir/exports" >"$dir/weak"
# shellcheck disable=SC2046 # names without blanks, one per line
ld -r --force-group-allocation $(cat "$dir/objects") "$dir/private.o" "$dir/base.o" -o "$dir/smalloc.o"
objcopy --wildcard --keep-global-symbols="$dir/exports" "$dir/smalloc.o"
objcopy --wildcard --weaken-symbols="$dir/weak" "$dir/smalloc.o"
rm -f "$out"
ar rcsD "$out" "$dir/smalloc.o" "$@"
