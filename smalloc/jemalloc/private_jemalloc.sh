#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# private_jemalloc.sh IN.a OUT.a: makes a jemalloc that no other code sees and that sees no other
# code.
# - Every public name gets the prefix jepriv_, so the process keeps its own malloc.
# - Its constructor is removed, so nothing runs before libsmalloc's first use.
# - libsmalloc maps its memory (jesys_mmap), so none of its pages is outside libsmalloc's range.
# - It does not read the user's MALLOC_CONF, which is for the user's own jemalloc.
# - It locks around fork only when libsmalloc calls for it.
# - Its mutexes are libsmalloc's own: the helper thread is no thread for the C library.
# - Profiling's needs (libm, the unwinder) are cut off.
# - The errno that it sets when libsmalloc's hooks refuse memory is not the program's.
# The code of an allocation comes first in the archive, the code of statistics and profiling last:
# the kernel maps files in pieces of 64 KiB, and each piece with a hot function becomes resident.
set -eu
in=$1 out=$2
. "$(dirname "$0")/jemalloc_names.sh"
inner=$(inner_names "$in" "$(dirname "$0")")
dir=$(mktemp -d "${TMPDIR:-/tmp}/jepriv.XXXXXX")
trap 'rm -rf "$dir"' EXIT
nm -g --defined-only "$in" 2>/dev/null | awk '$2 ~ /[TBDVW]/ {print $3}' |
  grep -vE '^(_?je_|jemalloc_|_Z|DW)' | sort -u | awk '{print $1, "jepriv_" $1}' >"$dir/names"
for name in mmap munmap madvise mprotect sbrk secure_getenv readlink log exp round _Unwind_Backtrace _Unwind_GetIP \
  __errno_location pthread_atfork pthread_mutex_init pthread_mutex_lock pthread_mutex_trylock pthread_mutex_unlock \
  pthread_setspecific syscall; do
  echo "$name jesys_$name" >>"$dir/names"
done
# Inner functions: those by which libsmalloc reports passed time (small_decay.cpp), and those behind
# the thread's cache (thread_cache.h); the one large static table (data_limit.h); and the creation
# of a thread's cache (no_cache.cpp).
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
# libsmalloc intercepts the events of a thread after each MiB it allocates, and each MiB it
# frees. (Of jemalloc 5.3.1 it does so at its start: small_decay.cpp.)
for member in $(ar t "$dir/all.a" | grep '^thread_event\.'); do
  objcopy --redefine-sym jepriv_tcache_gc_event_handler=jesys_tcache_gc_event_handler \
    --redefine-sym jepriv_tcache_gc_dalloc_event_handler=jesys_tcache_gc_dalloc_event_handler "$member"
done
# libsmalloc also intercepts the creation of a thread's cache, which may fail.
for member in $(ar t "$dir/all.a"); do
  case $member in
  tsd.*) objcopy --redefine-sym jepriv_tsd_tcache_enabled_data_init=jesys_private_tsd_tcache_enabled_data_init "$member" ;;
  tcache.*) objcopy --redefine-sym jepriv_arena_palloc=jesys_private_arena_palloc "$member" ;;
  esac
done
# Cold text gets a section of its own, so that libsmalloc can drop its pages after the start has
# used some of them. It also keeps the unlikely parts of hot members from lying in front of
# libsmalloc's own text, where the linker puts them.
for member in $(ar t "$dir/all.a"); do
  objcopy --rename-section .text.unlikely=jepriv_cold_text "$member"
done
for member in $(ar t "$dir/all.a" | grep -E "$is_cold"); do
  objcopy --rename-section .text=jepriv_cold_text "$member"
done
# Within hot and cold the archive's own order stays: the same input gives the same bytes.
ar rcsD "$out" $(ar t "$dir/all.a" | grep -vE "$is_cold") $(ar t "$dir/all.a" | grep -E "$is_cold")
