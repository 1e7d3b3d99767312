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
