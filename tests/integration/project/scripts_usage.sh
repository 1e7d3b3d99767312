#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# scripts/test, scripts/format and scripts/install-packages print their usage, and exit with 2 for
# unknown arguments.
. "$(dirname "$0")/../support/lib.sh"
cd "$SMALLOC_SOURCE"
for script in test format install-packages; do
  expect_status_in() { # the checkout may be read-only: keep the output in $tmp
    local want=$1 got=0
    shift
    "$@" >"$tmp/out" 2>"$tmp/err" || got=$?
    [ "$got" = "$want" ] || { cat "$tmp/out" "$tmp/err" >&2; fail "exit status $got instead of $want: $*"; }
  }
  expect_status_in 0 "scripts/$script" --help
  expect_match "$tmp/out" "^usage: scripts/$script"
  expect_status_in 2 "scripts/$script" --frobnicate
  expect_match "$tmp/err" '\(--frobnicate\): unknown'
done
expect_status_in 2 scripts/test --stage nonsense
expect_match "$tmp/err" 'stage \(nonsense\): unknown'
expect_status_in 2 scripts/test --stage
expect_match "$tmp/err" 'needs a value'
# The demonstration of an installed smalloc needs one.
expect_status_in 2 scripts/demo --installed "$tmp"
expect_match "$tmp/err" 'no bin/smalloc'
# What the demonstration installs is part of what the tests install, and has no server and no test library.
scripts/install-packages --list | sort >"$tmp/all"
for set in build demo; do
  scripts/install-packages --set "$set" --list | sort >"$tmp/$set"
  [ -s "$tmp/$set" ] && [ -z "$(comm -23 "$tmp/$set" "$tmp/all")" ] || fail "--set $set is no part of all packages"
done
expect_no_match "$tmp/demo" 'postgresql|gtest|valgrind|flang'
expect_status_in 2 scripts/install-packages --set nonsense
expect_match "$tmp/err" 'not build, demo or test'
