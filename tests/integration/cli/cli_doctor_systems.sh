# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# smalloc doctor on the /sys and /proc of other systems: distributions, containers, WSL, cgroup v1 and v2, POWER, Arm, odd fields.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
python3 - "$SMALLOC_SOURCE/tests/integration/fixtures/systems.txt" <<'PY'
import os, sys
for line in open(sys.argv[1]):
    line = line.rstrip("\n")
    if line.startswith("== "):
        system = line[3:]
    elif line and not line.startswith("#"):
        path, text = line.split("\t", 1)
        os.makedirs(os.path.dirname(system + path), exist_ok=True)
        open(system + path, "w").write(text.encode().decode("unicode_escape") + "\n")
PY
export HOME=$tmp
unset XDG_CONFIG_HOME SMALLOC_CONF
# has SYSTEM NAME STATUS [VALUE]: checks the status of one check, and its value as a Python
# expression.
has() {
  python3 - "$@" <<'PY' || fail "$1: $2 is not ${*:3}: $(grep -A4 "\"$2\"" "$1.json" | tr -d '\n')"
import json, sys
system, name, status, value = sys.argv[1:4] + [sys.argv[4] if len(sys.argv) > 4 else None]
found = [c for c in json.load(open(system + ".json"))["checks"] if c["name"] == name]
if status == "absent":
    sys.exit(bool(found))
assert len(found) == 1 and found[0]["status"] == status and found[0]["message"], found
assert value is None or found[0]["value"] == eval(value), found
PY
}
count=0
for system in */; do # without the compilers, which are not part of the recorded system
  system=${system%/}
  PATH=/nowhere "$SMALLOC" doctor --root "$system" --json >"$system.json" 2>err || fail "$system: $(cat err)"
  PATH=/nowhere "$SMALLOC" doctor --root "$system" --fix >"$system.sh" 2>err || fail "$system: --fix: $(cat err)"
  sh -n "$system.sh" || fail "$system: --fix prints no shell script"
  count=$((count + 1))
done
[ $count -ge 12 ] || fail "only $count systems"

has rhel8 machine ok '"ice-lake"'
has rhel8 thp ok '"always"'
has rhel8 khugepaged-max-ptes-none warn 511
has rhel8 cgroup-v1-memory ok None
has rhel8 pmu ok True
has rhel8 perf-event-paranoid ok 2
has rhel8 numa ok 2
has rhel8 numa-balancing warn 1
has rhel8 contiguous-memory ok '100 + 2 * 4000 + 2 * 9000'
has rhel8 memory-in-pieces ok '4096 * (100 + 90 * 2 + 80 * 4 + 70 * 8 + 60 * 16 + 50 * 32 + 40 * 64 + 30 * 128 + 20 * 256 + 511)'
has rhel8 hypervisor ok False
has rhel9 machine ok '"zen4"'
has rhel9 cgroup-memory ok '32 << 30' # an ancestor's
has ubuntu2404 machine ok '"lion-cove"'
has ubuntu2404 mthp ok '"never"'
has ubuntu2404 pmu ok True # cpu_core and cpu_atom
has ubuntu2404 perf-event-paranoid warn 4
has debian12 machine ok '"zen2"'
has debian12 hypervisor ok '"QEMU"'
has debian12 pmu warn False
has debian12 contiguous-memory warn 8
has docker_unprivileged container warn '"Docker"'
has docker_unprivileged thp fail '"never"'
has docker_unprivileged cgroup-memory ok '512 << 20'
has docker_unprivileged cgroup-hugetlb-2MB warn 0
has docker_unprivileged hypervisor ok '"Amazon EC2"'
has docker_unprivileged machine ok '"skylake-x"'
has kubernetes container warn '"Kubernetes"'
has kubernetes cgroup-memory ok '4 << 30' # the path of its namespace points outside the mounted tree
has kubernetes khugepaged-max-ptes-none ok 0
has kubernetes machine ok '"zen5"'
has wsl2 wsl warn 2
has wsl2 hypervisor ok '"Hyper-V"'
has wsl1 wsl fail 1
has wsl1 thp fail '"absent"'
has cgroup_v1_limited cgroup-v1-memory ok '2 << 30'
has cgroup_v1_limited cgroup-v1-hugetlb-2MB warn 0
has cgroup_v1_limited overcommit warn 2
grep -q '^sysctl -w vm.overcommit_memory=0' cgroup_v1_limited.sh || fail "no cure of strict overcommit"
has power9_hash machine ok '"power9"'
has power9_hash base-page fail 65536
has power9_hash superpage fail '16 << 20'
has power9_hash hypervisor ok '"PowerVM"'
has power9_hash hugetlb-16384k ok
has power9_hash contiguous-memory warn 40 # order 8 of 64 KiB pages
has arm64_64k machine ok '"neoverse-n1"'
has arm64_64k base-page fail 65536
has arm64_64k superpage fail '512 << 20'
has arm64_64k contiguous-memory warn 7
has arm64_4k machine ok '"neoverse-v2"'
has arm64_4k base-page ok 4096
has arm64_4k mthp ok '"64"'
has arm64_4k hypervisor ok '"Amazon EC2"'
has no_thp thp fail '"absent"'
has no_thp machine warn '"generic"'
# A field that cannot be parsed counts as absent; nothing is guessed from it.
has odd_fields thp fail '"absent"'
has odd_fields thp-defrag absent
has odd_fields khugepaged-max-ptes-none absent
has odd_fields base-page ok 4096
has odd_fields superpage absent
has odd_fields machine warn '"generic"'
has odd_fields cgroup-memory ok None
has odd_fields overcommit absent
has odd_fields numa ok 0
for system in rhel9 debian12 arm64_4k; do
  expect_status 0 "$SMALLOC" doctor --root $system --fail-if 'totals.checks < 10'
done
expect_error 3 'threshold crossed' "$SMALLOC" doctor --root power9_hash --fail-if 'totals.fail > 0'
