#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# docs/internals/hazards.md names at least one test for each of the 28 rules, and every test named there
# exists.
. "$(dirname "$0")/../support/lib.sh"
cd "$SMALLOC_SOURCE"
rule=0
while IFS='|' read -r _ number what tests _; do
  rule=$((rule + 1))
  [ "${number// /}" = $rule ] || fail "rule $rule is missing, or not in its place: $number"
  mapfile -t names < <(grep -o '`[^`]*`' <<<"$tests" | tr -d '`')
  [ ${#names[@]} -gt 0 ] || fail "rule $rule has no test: $what"
  for name in "${names[@]}"; do
    case $name in
    integration.*) compgen -G "tests/integration/*/${name#*.}.sh" >/dev/null ;;
    stress.*) grep -q "^static void ${name#*.}(" tests/stress/heap_stress.c && grep -q "\b${name#*.}\b" tests/stress/CMakeLists.txt ;;
    lit.*) [ -e "tests/lit/${name#*.}" ] ;;
    fuzz.*) grep -q "^smalloc_fuzz_target(${name#*.} " tests/fuzz/CMakeLists.txt && [ -d "tests/fuzz/corpus/${name#*.}" ] ;;
    *.*) grep -rqE "^TEST(_F|_P)?\(${name%.*}, ${name#*.}\)" tests/unit ;;
    *) false ;;
    esac || fail "rule $rule names a test that is not there: $name"
  done
done < <(grep -E '^\| [0-9]+ \|' docs/internals/hazards.md)
[ $rule = 28 ] || fail "$rule rules instead of 28"
