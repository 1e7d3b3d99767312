# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# In guests of two and four nodes: the machine is seen as it is, and pages really move, asked back page by page. Kernel
# NUMA balancing is switched off inside, or it would do the work for us.
. "$(dirname "$0")/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
[ -n "${SMALLOC_NUMA_VM:-}" ] || skip "opt-in (installs QEMU, downloads a kernel of 107 MB): SMALLOC_NUMA_VM=1 ctest -R numa_vm"
vm=$SMALLOC_SOURCE/tests/numa-vm/numa-vm
timeout 280 "$vm" --setup || skip "QEMU or its kernel cannot be had here"
[ -x "$SMALLOC_BUILD/tests/numa_test" ] || fail "numa_test is not built"
for nodes in 2 4; do
  expect_status 0 "$vm" --nodes "$nodes" --distance 25 --timeout 100 -- "$SMALLOC" numa topology --json
  json_is out "d['totals']['nodes'] == $nodes and d['distance'][0] == [10] + [25] * $((nodes - 1))"
  json_is out "all(len(n['cpus']) == 1 and n['memory_bytes'] > 3e8 and n['free_bytes'] > 1e8 for n in d['nodes'])"
done
expect_status 0 "$vm" --nodes 2 --timeout 100 -- sh -c 'echo 0 >/proc/sys/kernel/numa_balancing
  echo always >/sys/kernel/mm/transparent_hugepage/enabled
  exec "$0" --gtest_filter="PageMoverTest.*"' "$SMALLOC_BUILD/tests/numa_test"
expect_match out '  OK . PageMoverTest.MovesBetweenNodesOfThisMachine'
expect_match out '  OK . PageMoverTest.WorksOnTheRealKernel'
expect_status 7 "$vm" --timeout 100 -- sh -c 'exit 7'
