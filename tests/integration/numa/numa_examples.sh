# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Runs each example of each `smalloc numa ... --help` as printed. A program, its trace, its log and
# a process exist.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
[ -e "$SMALLOC_BUILD/lib/libsmalloc_numa_recorder.so" ] || skip "omp-tools.h was not found: no recorder"
command -v clang-22 >/dev/null || skip "clang-22 is not installed: no trace can be made"
nodes=$(find /sys/devices/system/node -maxdepth 1 -name 'node[0-9]*' 2>/dev/null | wc -l)

"$SMALLOC_SOURCE/scripts/numa-kernel" "$SMALLOC_SOURCE/benchmarks/numa/mg.c" mg "$SMALLOC_BUILD/lib"
SMALLOC_NUMA_TRACE=mg.trace OMP_NUM_THREADS=4 OMP_WAIT_POLICY=passive expect_status 0 timeout 120 ./mg 16 2
printf '#!/bin/sh\necho "the program ran: $*"\nexit 7\n' >app
chmod +x app
touch input.dat
cat >recorded.log <<LOG
# smalloc.numa.log/1 pid=1
move interval=1 address=0000000000001000 pages=1 from=0 to=0 action=page result=done
LOG
sleep 300 &
process=$!
trap 'kill $process; rm -rf "$tmp"' EXIT
bin=$(dirname "$SMALLOC")

tried=0
for part in topology simulate report top record replay; do
  expect_status 0 "$SMALLOC" numa $part --help
  expect_match out "^Usage: smalloc numa $part "
  sed -n 's/^  \([^ ].*\)/\1/p' out | head -2 >examples
  while read -r example; do
    case $example in *"smalloc numa $part"*) ;; *) fail "an example of numa $part is of something else: $example" ;; esac
    cp recorded.log app.log
    want=0
    case $part in
    record | replay) want=7 ;; # the program's own
    top)
      example=${example/4711/$process}
      [[ $example == *--* ]] || example="timeout -s INT 3 $example" want=124
      ;;
    esac
    expect_status $want env PATH="$bin:$PATH" bash -c "$example" </dev/null
    tried=$((tried + 1))
    case $example in
    *numa\ record*)
      expect_match out '^the program ran: '
      if [ "$nodes" = 1 ]; then # nothing can move, so nothing is recorded: a message says so at once, and the program runs
        expect_match err '^smalloc: warning: numa \(migrate\): .*; the log .*\.log is not written$'
        expect_match err '^hint: smalloc numa topology '
      else
        [ -n "$(find . -name 'smalloc.numa.*.log' -o -name app.log -newer recorded.log)" ] || fail "no log: $example"
      fi
      ;;
    *-o\ *) [ -s "${example##*-o }" ] || fail "nothing was written: $example" ;;
    esac
  done <examples
done
[ "$tried" = 12 ] || fail "$tried examples instead of 12"
