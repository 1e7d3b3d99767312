# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Without THP or hugetlb pages smalloc run prints a warning with the cure, and still runs the
# command.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
mkdir -p tree/bin tree/lib root/sys/kernel/mm/transparent_hugepage root/sys/kernel/mm/hugepages/hugepages-2048kB
cp "$SMALLOC" tree/bin/smalloc
echo 'int smalloc_test_nothing;' >nothing.c
"$CC" -shared -fPIC nothing.c -o tree/lib/libsmalloc.so
run="tree/bin/smalloc run --root root"
echo 'always madvise [never]' >root/sys/kernel/mm/transparent_hugepage/enabled
expect_status 5 $run -- sh -c 'exit 5'
expect_match err '^smalloc: warning: no superpages .*never'
expect_match err '^hint: echo madvise > /sys/kernel/mm/transparent_hugepage/enabled'
expect_status 0 $run --heap off -- true
[ ! -s err ] || fail "a warning although no superpages were asked for"
echo 0 | tee root/sys/kernel/mm/hugepages/hugepages-2048kB/{nr,free,resv,nr_overcommit}_hugepages >/dev/null
expect_status 0 $run --pages hugetlb -- true
expect_match err 'no hugetlb pages \(2 MiB\)'
echo 4 | tee root/sys/kernel/mm/hugepages/hugepages-2048kB/{nr,free}_hugepages >/dev/null
expect_status 0 $run --pages hugetlb -- true
[ ! -s err ] || fail "a warning although the pool has pages"
rm -r root/sys/kernel/mm/transparent_hugepage
expect_status 0 $run -- true
expect_match err 'this kernel has none'
