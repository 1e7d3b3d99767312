#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# scripts/profile_cost.py builds and records its programs, and the documents show the measured
# numbers.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
[ -r "$SMALLOC_BUILD/lib/libsmalloc_feedback.so" ] || skip "libsmalloc_feedback.so was not built (sanitizers)"
expect_status 0 python3 "$SMALLOC_SOURCE/scripts/profile_cost.py" --quick --build "$SMALLOC_BUILD" --clang "$CLANG" \
  --only matmul --only "matmul by rows"
# Each column has a ratio, except LLVM's, which not every clang can link.
expect_match out '^\| matmul \| [0-9.]+ s \| ([0-9.]+x|-) \| [0-9.]+x \| [0-9.]+x \| [0-9.]+x \| [0-9.]+x \| [0-9.]+ MiB \| [0-9.]+ MiB \|$'
expect_match out '^\| matmul by rows \|'
expect_status 0 python3 "$SMALLOC_SOURCE/scripts/regen_docs.py" --check
