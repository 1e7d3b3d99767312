# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# --fail-if exits with 3 if a threshold is crossed, 0 if not, and 2 if the expression is invalid.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
fixture_app app
expect_status 0 "$SMALLOC" sites app --fail-if 'totals.superpage < 1'
expect_error 3 'threshold crossed .*totals.superpage is 1' "$SMALLOC" sites app --fail-if 'totals.superpage < 2'
expect_match out '^3 sites' # the result is printed in any case
expect_error 3 'sites.0.spread_pages is 16384' "$SMALLOC" sites app --fail-if 'sites.*.spread_pages > 2048'
expect_error 2 "no key 'total'" "$SMALLOC" sites app --fail-if 'total > 1'
expect_error 2 'cannot use threshold' "$SMALLOC" sites app --fail-if 'totals.sites'
expect_error 2 "no key 'total'" "$SMALLOC" machine list --fail-if 'total > 1'
expect_match err "^hint: --fail-if 'KEY > 1', with a key of what --json prints"
