#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# private_jemalloc.sh IN.a OUT.a: makes a jemalloc that nobody else can see or be seen by. Every public name gets the
# prefix jepriv_, so the process keeps its own malloc; its constructor goes, so nothing happens before our first use;
# what it maps comes from us (jesys_mmap: no page of it outside our range); its environment is not the user's
# MALLOC_CONF, which is for the user's jemalloc; it locks around fork when we say so; profiling's needs (libm, the
# unwinder) are cut off; and the errno that it sets when our hooks refuse memory is not the program's. What an allocation
# runs through comes first in the archive, what statistics and profiling need last: the kernel maps files in pieces of
# 64 KiB, and each piece that holds a hot function counts as resident.
set -eu
in=$1 out=$2
. "$(dirname "$0")/jemalloc_names.sh"
inner=$(inner_names "$in" "$(dirname "$0")/jemalloc_functions.h")
dir=$(mktemp -d "${TMPDIR:-/tmp}/jepriv.XXXXXX")
trap 'rm -rf "$dir"' EXIT
nm -g --defined-only "$in" 2>/dev/null | awk '$2 ~ /[TBDVW]/ {print $3}' |
  grep -vE '^(_?je_|jemalloc_|_Z|DW)' | sort -u | awk '{print $1, "jepriv_" $1}' >"$dir/names"
for name in mmap munmap madvise mprotect sbrk secure_getenv readlink log exp round _Unwind_Backtrace _Unwind_GetIP \
  __errno_location pthread_atfork syscall; do
  echo "$name jesys_$name" >>"$dir/names"
done
# Of its inner functions those by which we tell it that time has passed (small_decay.cpp), and what it does past the
# thread's cache (thread_cache.h); its one large static table (data_limit.h); and how a thread gets its cache (no_cache.cpp).
for name in $inner; do
  echo "je_$name jepriv_$name" >>"$dir/names"
done
cp "$in" "$dir/archive.a"
ar d "$dir/archive.a" jemalloc_cpp.pic.o jemalloc_cpp.o
objcopy --redefine-syms="$dir/names" --remove-section=.init_array --remove-section=.ctors "$dir/archive.a" "$dir/all.a"
mkdir "$dir/members"
cd "$dir/members"
ar x "$dir/all.a"
is_cold='^(ctl|stats|prof.*|ckh|hpa.*|hpdata|psset|sec|background_thread|buf_writer|malloc_io|log|hook|inspect|test_hooks|safety_check|witness)\.'
rm -f "$out"
# What happens to a thread every 64 KiB it allocates, and every 64 KiB it frees, passes through us.
for member in $(ar t "$dir/all.a" | grep '^thread_event\.'); do
  objcopy --redefine-sym jepriv_tcache_gc_event_handler=jesys_tcache_gc_event_handler \
    --redefine-sym jepriv_tcache_gc_dalloc_event_handler=jesys_tcache_gc_dalloc_event_handler "$member"
done
# A thread whose cache cannot be made passes through us, too.
for member in $(ar t "$dir/all.a"); do
  case $member in
  tsd.*) objcopy --redefine-sym jepriv_tsd_tcache_enabled_data_init=jesys_private_tsd_tcache_enabled_data_init "$member" ;;
  tcache.*) objcopy --redefine-sym jepriv_arena_palloc=jesys_private_arena_palloc "$member" ;;
  esac
done
# Cold text gets a section of its own, so that its pages can be given back once the start has run through some of it, and
# so that the unlikely parts of hot members do not lie in front of our own text, where the linker puts them.
for member in $(ar t "$dir/all.a"); do
  objcopy --rename-section .text.unlikely=jepriv_cold_text "$member"
done
for member in $(ar t "$dir/all.a" | grep -E "$is_cold"); do
  objcopy --rename-section .text=jepriv_cold_text "$member"
done
# The order is the archive's own within hot and cold: the same input gives the same bytes.
ar rcsD "$out" $(ar t "$dir/all.a" | grep -vE "$is_cold") $(ar t "$dir/all.a" | grep -E "$is_cold")
