# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# smalloc doctor prints one line a check with its cure, and checks other systems with --root.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
expect_status 0 "$SMALLOC" doctor
expect_match out '^(ok|warn|fail) '
expect_match out '^[0-9]+ ok, [0-9]+ warnings, [0-9]+ failures$'
expect_status 0 "$SMALLOC" doctor --json
json_is out 'd["schema"] == "smalloc.doctor/1" and all(set(c) == {"name", "status", "value", "message", "fix"} for c in d["checks"])'
json_is out 'all(c["status"] in ("ok", "warn", "fail") for c in d["checks"])'
json_is out 'sum(d["totals"][k] for k in ("ok", "warn", "fail")) == d["totals"]["checks"] == len(d["checks"])'

thp=root/sys/kernel/mm/transparent_hugepage
mkdir -p $thp/khugepaged root/proc/sys/vm
echo 'always madvise [never]' >$thp/enabled
expect_status 0 "$SMALLOC" doctor --root root
expect_match out '^fail .*switched off \(never\)'
expect_match out 'fix: echo madvise > /sys/kernel/mm/transparent_hugepage/enabled'
expect_error 3 'threshold crossed' "$SMALLOC" doctor --root root --fail-if 'totals.fail > 0'
echo '[always] madvise never' >$thp/enabled
echo 511 >$thp/khugepaged/max_ptes_none
echo 2 >root/proc/sys/vm/overcommit_memory
echo 1000 >root/proc/sys/vm/max_map_count
echo 'Node 0, zone   Normal 1 1 1 1 1 1 1 1 1 3 2' >root/proc/buddyinfo
expect_status 0 "$SMALLOC" doctor --root root
expect_match out '^warn .*khugepaged makes superpages that are empty'
expect_match out '^warn .*overcommit is strict'
expect_match out '^warn .*at most 1000'
expect_match out '^warn .*7 superpages of 2 MiB are free' # 3 of order 9, 2 of order 10
rm -r $thp
expect_status 0 "$SMALLOC" doctor --root root --json
json_is out '[(c["status"], c["value"]) for c in d["checks"] if c["name"] == "thp"] == [("fail", "absent")]'
expect_status 0 "$SMALLOC" doctor --root root --fix
sh -n out || fail "--fix prints no shell script"
expect_match out '^sysctl -w vm.nr_hugepages='

# An empty hugetlb pool is a warning only for a user who configured it.
pool=root/sys/kernel/mm/hugepages/hugepages-2048kB
mkdir -p $pool $thp
echo '[madvise]' >$thp/enabled
for file in nr_hugepages free_hugepages resv_hugepages nr_overcommit_hugepages; do echo 0 >$pool/$file; done
expect_status 0 "$SMALLOC" doctor --root root --fix
expect_no_match out nr_hugepages
expect_status 0 "$SMALLOC" doctor --root root
expect_match out '^ok .*hugetlb pool of 2 MiB: 0 of 0 free \(only --pages hugetlb or 1g needs it\)'
SMALLOC_CONF=heap:auto,pages:hugetlb expect_status 0 "$SMALLOC" doctor --root root --fix
expect_match out '^sysctl -w vm.nr_hugepages=512'
# smalloc run prints the order of libraries to type.
expect_status 0 "$SMALLOC" run --root root --pages hugetlb -n -- true
expect_match err '^hint: sysctl vm.nr_hugepages=512, then the same command again$'
expect_status 0 "$SMALLOC" run --root root --pages 1g -n -- true
expect_match err '^hint: echo 4 > .*1048576kB/nr_hugepages, then the same command again$'

# Features of the running kernel are tested, not derived from its version.
expect_status 0 "$SMALLOC" doctor --json
json_is out '{c["name"] for c in d["checks"]} >= {"base-page", "hypervisor", "feature-populate", "feature-thp-disable", "feature-thp-except-advised"}'
json_is out '[c["value"] for c in d["checks"] if c["name"] == "base-page"] == ['"$(getconf PAGESIZE)"']'
# It reports a plugin or a library of another version of the contract.
if [ -e "$PLUGIN" ] && command -v clang-22 >/dev/null; then
  expect_status 0 "$SMALLOC" doctor
  expect_match out '^ok +.*SmallocPlugin.so loads into clang-22 and compiles for site version 1$'
  # The compiler does not read doctor's closed standard input: it ends.
  for fd in 1 2; do
    status=0
    eval "timeout -k 5 100 \"\$SMALLOC\" doctor >out 2>err $fd>&-" || status=$?
    [ $status = $((fd == 1)) ] || fail "descriptor $fd closed: another exit status"
  done
  mkdir -p other/bin other/lib/smalloc/llvm-22
  cp "$SMALLOC" other/bin/smalloc
  sed 's/__smalloc_v1_/__smalloc_v9_/g' "$PLUGIN" >other/lib/smalloc/llvm-22/SmallocPlugin.so
  sed 's/__smalloc_v1_/__smalloc_v9_/g' "$SMALLOC_BUILD/lib/libsmalloc.so" >other/lib/libsmalloc.so
  # Each plugin is tried with its own compiler.
  mkdir -p other/lib/smalloc/llvm-19
  cp "$PLUGIN" other/lib/smalloc/llvm-19/SmallocPlugin.so
  expect_status 0 other/bin/smalloc doctor
  expect_match out 'llvm-19/SmallocPlugin.so (is installed, but clang-19, its compiler, is not|does not load into clang-19: smalloc: error: plugin .*: built for LLVM 22, loaded into LLVM 19)'
  expect_match out '^fail +.*SmallocPlugin.so compiles for site version 9, this command and its libraries are of version 1$'
  expect_match out '^fail +.*/other/lib/libsmalloc.so does not serve site version 1$'
  # A program with its own malloc runs on it, as libsmalloc reports at the start.
  cat >own.c <<'C'
#include <stddef.h>
#include <string.h>
static _Alignas(16) char memory[1 << 24];
static size_t used;
void *malloc(size_t n) {
  char *p = memory + used;
  used += (n + 15) / 16 * 16;
  return p;
}
void free(void *p) { (void)p; }
void *calloc(size_t n, size_t bytes) { return memset(malloc(n * bytes), 0, n * bytes); }
void *realloc(void *p, size_t n) { return p ? memcpy(malloc(n), p, n) : malloc(n); }
C
  cat >new.cpp <<'CPP'
#include <cstdlib>
void *operator new(size_t n) { return std::malloc(n); }
void operator delete(void *p) noexcept { std::free(p); }
CPP
  printf '%s\n' '#include <stdlib.h>' 'void *keep;' 'int main(int n, char **v) { keep = malloc(n * 100L); free(keep); return v == 0; }' >app.c
  link=(-Wl,--no-as-needed -L"$SMALLOC_BUILD/lib" -lsmalloc -Wl,-rpath,"$SMALLOC_BUILD/lib")
  "$CLANG" -O1 -fno-builtin -c own.c
  "$CLANG" -O1 -c -x c++ new.cpp
  "$CLANG" -O1 -fplugin="$PLUGIN" app.c own.o "${link[@]}" -o own
  "$CLANG" -O1 -fplugin="$PLUGIN" app.c new.o "${link[@]}" -o new -lstdc++
  "$CLANG" -O1 -fplugin="$PLUGIN" app.c "${link[@]}" -o none
  expect_status 0 "$SMALLOC" doctor ./own
  expect_match out '^fail +it defines free\(\) itself, .*superpages stay off$'
  expect_status 0 "$SMALLOC" doctor ./new
  expect_match out '^warn +it replaces operator delete, '
  expect_status 0 "$SMALLOC" doctor ./none
  expect_no_match out 'it defines|it replaces'
fi

fixture_app app
expect_status 0 "$SMALLOC" doctor ./app
expect_match out '3 allocation sites, 2 rewritten'
expect_match out 'not linked with libsmalloc'
expect_error 1 'no such file' "$SMALLOC" doctor ./nosuch
