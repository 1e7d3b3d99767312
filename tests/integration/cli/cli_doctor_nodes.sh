# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# smalloc doctor: pools by node, NUMA balancing, cgroup v1 and v2, the measured backing.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
export HOME=$tmp/home
unset XDG_CONFIG_HOME
write() { # FILE TEXT
  mkdir -p "root$(dirname "$1")"
  echo "$2" >"root$1"
}
# Two nodes, the whole pool on one; cgroup v1 with a hugetlb limit (as on RHEL 8).
pool=hugepages/hugepages-2048kB
write /sys/kernel/mm/$pool/nr_hugepages 64
write /sys/kernel/mm/$pool/free_hugepages 60
write /sys/devices/system/node/node0/$pool/nr_hugepages 64
write /sys/devices/system/node/node0/$pool/free_hugepages 60
write /sys/devices/system/node/node1/$pool/nr_hugepages 0
write /proc/sys/kernel/numa_balancing 1
write /proc/self/cgroup '9:memory:/user.slice
4:hugetlb:/'
write /sys/fs/cgroup/memory/user.slice/memory.limit_in_bytes 1073741824
write /sys/fs/cgroup/hugetlb/hugetlb.2MB.limit_in_bytes 4194304
expect_status 0 "$SMALLOC" doctor --root root
expect_match out '^warn +hugetlb pool of 2 MiB by node, free: node0 60 of 64, node1 0 of 0 \(a node has none\)'
expect_match out 'fix: echo 32 > /sys/devices/system/node/node1/hugepages/hugepages-2048kB/nr_hugepages'
expect_match out '^warn +automatic NUMA balancing: on'
expect_match out 'fix: sysctl -w kernel.numa_balancing=0'
expect_match out '^ok +cgroup v1 memory limit: 1 GiB'
expect_match out '^warn +cgroup v1 limit of 2MB hugetlb pages: 4 MiB'
# Equal pools, balancing off, no limits: nothing to cure.
write /sys/devices/system/node/node1/$pool/nr_hugepages 64
write /proc/sys/kernel/numa_balancing 0
write /sys/fs/cgroup/memory/user.slice/memory.limit_in_bytes 9223372036854771712
write /sys/fs/cgroup/hugetlb/hugetlb.2MB.limit_in_bytes 9223372036854771712
expect_status 0 "$SMALLOC" doctor --root root
expect_match out '^ok +hugetlb pool of 2 MiB by node'
expect_match out '^ok +automatic NUMA balancing: off'
expect_match out '^ok +cgroup v1: no memory limit'
expect_no_match out 'cgroup v1 limit of'

# The backing that calibrate measured, or a note that it has not run.
expect_status 0 "$SMALLOC" doctor
expect_match out '^ok +backing of superpages: not measured yet'
mkdir -p home/.config/smalloc
"$SMALLOC" machine show zen4 --json >p.json
python3 - <<'PY'
import json
p = json.load(open("p.json"))
p["backing_page_bytes"] = {"value": 4096, "source": "measured"}
json.dump(p, open("home/.config/smalloc/machine.json", "w"))
PY
expect_status 0 "$SMALLOC" doctor
expect_match out '^warn +superpages are backed by 4 KiB pages'
echo '{' >home/.config/smalloc/machine.json
expect_status 0 "$SMALLOC" doctor
expect_match out '^warn +the calibrated profile cannot be used'
