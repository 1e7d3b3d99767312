#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Every kernel prints the same with and without the plugin, at -O0 and -O2, with one extra flag and
# any heap strategy. It also links and runs without libsmalloc.
. "$(dirname "$0")/../support/lib.sh"
if [ ! -e "$PLUGIN" ] || [ ! -e "$LIB" ]; then skip "no plugin or no library in $SMALLOC_BUILD"; fi
link=(-L"$SMALLOC_BUILD/lib" -Wl,--no-as-needed -lsmalloc -Wl,-rpath,"$SMALLOC_BUILD/lib")
declare -A arguments=(
  [transpose]="700 3" [stride]="8 4096 100000" [colsum]="3000 900" [gups]="20 100" [spmv]="14 20 8 2"
  [hash_probe]="18" [list]="100000 512 2" [tree]="30000" [bfs]="15 4 2" [stream]="16 2"
  [vector_gather]="100000 4 2" [unordered_map]="100000" [file_stream]="4 2" [lz]="1 16" [bodies]="50 20"
)
sources=("$SMALLOC_SOURCE"/benchmarks/kernels/*.c "$SMALLOC_SOURCE"/benchmarks/kernels/*.cpp)
[ ${#sources[@]} -ge 15 ] || fail "only ${#sources[@]} kernels"
for source in "${sources[@]}"; do
  name=$(basename "${source%.*}")
  compiler=$CLANG
  [ "${source##*.}" = c ] || compiler=$CLANGXX
  read -ra sizes <<<"${arguments[$name]-}"
  [ ${#sizes[@]} -gt 0 ] || fail "no small size for $name: add one to this test"
  "$compiler" -O2 "$source" -o plain
  ./plain "${sizes[@]}" >expected 2>/dev/null
  "$compiler" -O2 -fplugin="$PLUGIN" "$source" -o flag # one flag, nothing else
  ./flag "${sizes[@]}" >got 2>/dev/null
  cmp expected got || fail "$name: another output without the library"
  for level in -O0 -O2; do
    "$compiler" "$level" -fplugin="$PLUGIN" "$source" -o ours "${link[@]}"
    for conf in "" heap:off heap:superpage heap:migrate; do
      SMALLOC_CONF=$conf ./ours "${sizes[@]}" >got 2>err || { cat err >&2; fail "$name $level '$conf': exit status $?"; }
      cmp expected got || fail "$name $level '$conf': another output"
    done
  done
done
