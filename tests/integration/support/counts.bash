# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# counts.bash: counts instructions and compares them with a golden file. Scripts source it after
# lib.sh. Their programs take the number of their steps as first argument and mark them.
command -v valgrind >/dev/null || skip "valgrind is missing"
[ "$(uname -m)" = x86_64 ] || skip "the golden counts are for x86-64"
# Marks around a program's counted steps. The start of heaps and threads is not counted, because the
# clock and the scheduler assign it to different threads.
cat >marks.c <<'C'
void steps_begin(void) {}
void steps_end(void) {}
C
"$CLANG" -O2 -c marks.c
counted_steps=200000
counts_tolerance=0 # instructions; for a script whose golden counts were made with another library
# instructions ENVIRONMENT PROGRAM: the program gets the number of steps, and calls steps_begin
# before them and steps_end after them. Prints tenths of an instruction a step.
instructions() { # ENVIRONMENT PROGRAM [ARGUMENT...]
  echo $(($(counted "$1" "$2" $counted_steps "${@:3}") * 10 / counted_steps))
}
# Instructions of the first thread, the least of all attempts. On a busy machine more time passes
# between two steps, and periodic work is added. The work of the promotion thread does not count.
mkdir least
counted() {
  local file now
  file=least/$(printf '%s' "$*" | md5sum | cut -d ' ' -f 1)
  rm -f callgrind.*
  # shellcheck disable=SC2086 # several variables
  env $1 valgrind --tool=callgrind --separate-threads=yes --dump-before=steps_begin --dump-before=steps_end --callgrind-out-file=callgrind.%p "./$2" "${@:3}" >/dev/null 2>&1
  now=$(sed -n 's/^totals: //p' callgrind.*.2-01) # the first dump is for the time before the steps
  [ -n "$now" ] || return 1
  if [ ! -e "$file" ] || [ "$now" -lt "$(cat "$file")" ]; then echo "$now" >"$file"; fi
  cat "$file"
}
# Prints the first count that differs from the golden file. Too high counts come first, since
# another attempt may lower them.
differs() { # up|down GOLDEN
  local what was now few
  while IFS=: read -r what was; do
    now=$(sed -n "s/^$what://p" counts)
    [ -n "$now" ] || fail "not counted: $what"
    few=$((was / 10)) # decisions on a long path depend on the clock
    few=${few#-}      # also if it is shorter than the path it is compared with
    [ "$few" -ge "$counts_tolerance" ] || few=$counts_tolerance
    if [ "$1" = up ] && [ "$now" -gt $((was + (few > 1 ? few : 1))) ]; then
      echo "$what: $now instructions, were $was"
      return
    elif [ "$1" = down ] && [ "$now" -lt $((was - (few > 3 ? few : 3))) ]; then
      echo "$what: only $now instructions, were $was: SMALLOC_UPDATE_GOLDEN=1 $0"
      return
    fi
  done <"$2"
}
# compare_counts COMMAND GOLDEN: COMMAND prints a line "what: count" for each line of the golden
# file.
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
