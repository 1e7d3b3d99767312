# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# counts.bash decides how instructions are counted and compared with a golden file. Sourced after lib.sh, by scripts whose
# programs take the number of their steps as first argument and mark them.
command -v valgrind >/dev/null || skip "valgrind is missing"
[ "$(uname -m)" = x86_64 ] || skip "the golden counts are for x86-64"
# Marks between which a program's steps are counted: what starts heaps and threads is not, which the clock and the scheduler
# give now to one thread, now to another.
cat >marks.c <<'C'
void steps_begin(void) {}
void steps_end(void) {}
C
"$CLANG" -O2 -c marks.c
counted_steps=200000
# The program, which is given the number of steps, calls steps_begin before them and steps_end after them; in tenths of an
# instruction a step.
instructions() { # ENVIRONMENT PROGRAM [ARGUMENT...]
  echo $(($(counted "$1" "$2" $counted_steps "${@:3}") * 10 / counted_steps))
}
# What the first thread executes, the least of all attempts. Beside other work more time passes between two steps, and with it
# comes what is due by the clock, which only ever adds; and the promotion thread's work is no path's.
mkdir least
counted() {
  local file now
  file=least/$(printf '%s' "$*" | md5sum | cut -d ' ' -f 1)
  rm -f callgrind.*
  # shellcheck disable=SC2086 # several variables
  env $1 valgrind --tool=callgrind --separate-threads=yes --dump-before=steps_begin --dump-before=steps_end --callgrind-out-file=callgrind.%p "./$2" "${@:3}" >/dev/null 2>&1
  now=$(sed -n 's/^totals: //p' callgrind.*.2-01) # the first dump is of what comes before the steps
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
    few=${few#-}      # also where it is shorter than what it is compared with
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
  for _ in 1 2 3 4 5; do
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
