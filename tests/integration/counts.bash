# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# counts.bash decides how instructions are counted and compared with a golden file. Sourced after lib.sh, by scripts whose
# programs take the number of their steps as first argument.
command -v valgrind >/dev/null || skip "valgrind is missing"
[ "$(uname -m)" = x86_64 ] || skip "the golden counts are for x86-64"
# The difference of two runs leaves the loop alone; in tenths of an instruction a step.
instructions() { # ENVIRONMENT PROGRAM [ARGUMENT...]
  local short long
  short=$(counted "$1" "$2" 20000 "${@:3}")
  long=$(counted "$1" "$2" 70000 "${@:3}")
  echo $(((long - short) / 5000))
}
# What the first thread executes, the least of all attempts. Beside other work more time passes between two steps, and with it
# comes what is due by the clock, which only ever adds; and the promotion thread's work is no path's.
mkdir least
counted() {
  local file now
  file=least/$(printf '%s' "$*" | md5sum | cut -d ' ' -f 1)
  rm -f callgrind.*
  # shellcheck disable=SC2086 # several variables
  env $1 valgrind --tool=callgrind --separate-threads=yes --callgrind-out-file=callgrind.%p "./$2" "${@:3}" >/dev/null 2>&1
  now=$(sed -n 's/^totals: //p' callgrind.*-01)
  [ -n "$now" ] || return 1
  if [ ! -e "$file" ] || [ "$now" -lt "$(cat "$file")" ]; then echo "$now" >"$file"; fi
  cat "$file"
}
# Prints the first count that is not the golden file's; too much first, since another attempt may mend that.
differs() { # up|down GOLDEN
  local what was now few
  while IFS=: read -r what was; do
    now=$(sed -n "s/^$what://p" counts)
    [ -n "$now" ] || fail "not counted: $what"
    few=$((was / 10)) # a long path has decisions in it that depend on the clock
    if [ "$1" = up ] && [ "$now" -gt $((was + (few > 1 ? few : 1))) ]; then
      echo "$what: $now instructions, were $was"
      return
    elif [ "$1" = down ] && [ "$now" -lt $((was - (few > 3 ? few : 3))) ]; then
      echo "$what: only $now instructions, were $was: SMALLOC_UPDATE_GOLDEN=1 $0"
      return
    fi
  done <"$2"
}
# compare_counts COMMAND GOLDEN: COMMAND prints a line "what: count" for each of the golden file's.
compare_counts() {
  local longer shorter
  for _ in 1 2 3; do
    "$1" >counts
    cat counts
    if [ "${SMALLOC_UPDATE_GOLDEN:-}" ]; then
      cp counts "$2"
      return
    fi
    longer=$(differs up "$2")
    [ -n "$longer" ] || break
    echo "again: $longer"
  done
  [ -z "$longer" ] || fail "$longer"
  shorter=$(differs down "$2")
  [ -z "$shorter" ] || fail "$shorter"
}
