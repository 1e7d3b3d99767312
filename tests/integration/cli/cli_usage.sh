# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Usage errors exit with 2. Help exits with 0, begins with two examples and fits into 40 lines.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
expect_status 2 "$SMALLOC"
expect_match err '^Usage: smalloc VERB'
for option in --help --version --man; do
  expect_error 1 "cannot write the result \\(standard output\\): no space left on device" bash -c "exec \"\$0\" $option >/dev/full" "$SMALLOC"
done
expect_error 2 'unknown verb \(calibrat\): the verbs are try, doctor, sites, run, ' "$SMALLOC" calibrat
expect_match err '^hint: smalloc --help'
# An option in the place of a verb belongs to the command, as does the help that explains it.
expect_error 2 '\(smalloc\): ' "$SMALLOC" --bogus
expect_match err '^hint: smalloc --help$'
expect_error 2 'smalloc sites' "$SMALLOC" sites
expect_error 2 '\(smalloc sites\): .*--bogus' "$SMALLOC" sites --bogus x
expect_error 2 '\(smalloc sites\): .*--bogus' "$SMALLOC" sites --bogus
expect_error 2 '\(smalloc trace compare\): .*--bogus' "$SMALLOC" trace compare --bogus a
expect_error 2 '\(smalloc doctor\): json was given' "$SMALLOC" doctor --json=3
expect_error 2 '' "$SMALLOC" sites a b
expect_error 2 '' "$SMALLOC" sites a --color=blue
expect_error 2 '' "$SMALLOC" doctor --fix --json
expect_error 2 '' "$SMALLOC" machine
expect_status 0 "$SMALLOC" --version
expect_match out '^smalloc [0-9]+\.[0-9]+\.[0-9]+ \(commit ([0-9a-f]{12}|unknown), built by [A-Za-z]+ [0-9.]+\)$'
version=$(sed -n 's/^project(Smalloc VERSION \([0-9.]*\) .*/\1/p' "$SMALLOC_SOURCE/CMakeLists.txt")
[ "$(cut -d' ' -f2 out)" = "$version" ] || fail "not the project's version"
grep -q "^## $version" "$SMALLOC_SOURCE/CHANGELOG.md" || fail "CHANGELOG.md has no version $version"
for verb in '' try doctor sites run stats record apply study stream calibrate diff trace 'trace show' 'trace compare' analyze directives 'directives show' \
  'directives diff' 'directives merge' machine 'machine list' 'machine show' db 'db list' 'db show' 'db import' 'db merge' 'db export' 'db prune' \
  numa 'numa topology' 'numa simulate' 'numa report' 'numa top' 'numa record' 'numa replay'; do
  expect_status 0 "$SMALLOC" $verb --help
  [ "$(wc -l <out)" -le 40 ] || fail "help of '$verb' has more than 40 lines"
  expect_match <(sed -n 1p out) '^  smalloc '
  expect_match <(sed -n 3p out) "^  ([A-Z_]+='.*' )?smalloc "
done
