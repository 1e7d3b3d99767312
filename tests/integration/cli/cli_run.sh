# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# smalloc run exits as env(1) would, keeps the command's status and signals, and preloads the right
# library.
. "$(dirname "$0")/../support/lib.sh"
unset SMALLOC_CONF # only the command's own settings
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
# A separate tree with empty libraries: their effect is tested elsewhere.
mkdir -p tree/bin tree/lib bare/bin
cp "$SMALLOC" tree/bin/smalloc
cp "$SMALLOC" bare/bin/smalloc
echo 'int smalloc_test_nothing;' >nothing.c
"$CC" -shared -fPIC nothing.c -o tree/lib/libsmalloc.so
run=tree/bin/smalloc
expect_status 0 $run run -- true
expect_status 42 $run run -- sh -c 'exit 42'
expect_status 2 $run run sh -c 'exit 2'
expect_status 143 sh -c "$run run -- sh -c 'kill -TERM \$\$'; exit \$?"
# A folder of PATH without search permission would make the status 126, as with env.
PATH=/usr/bin:/bin expect_error 127 'nosuch' $run run -- nosuch
expect_error 126 'permission denied' $run run -- /etc
expect_error 125 'unknown option --bogus|--bogus' $run run --bogus -- true
expect_error 125 'no command' $run run
expect_error 125 '--heap' $run run --heap fast -- true
expect_error 125 '--budget' $run run --budget much -- true
# A limit that libsmalloc does not accept would have no effect.
for budget in 0 1m 1.5g 64mb 200% 2m,heap:off; do
  expect_error 125 '--budget' $run run --budget $budget -- true
done
expect_error 125 'cannot find the library \(libsmalloc.so\)' bare/bin/smalloc run -- true
expect_match err '^hint: '

# A space or colon ends a name in LD_PRELOAD.
for folder in 'my tools' 'my:tools'; do
  cp -r tree "$folder"
  expect_error 125 "cannot preload the library \\(.*/$folder/lib/libsmalloc.so\\): LD_PRELOAD separates" "$folder/bin/smalloc" run -- true
  expect_match err '^hint: install smalloc under a path without them$'
done
# The loader ignores LD_PRELOAD for a program with raised privileges. The program runs, and a note
# says so.
cp "$(type -P true)" raised
if [ "$(id -u)" = 0 ] && chown nobody raised && chmod u+s raised; then
  expect_status 0 $run run -- ./raised
  expect_match err '^smalloc: warning: no superpages for this program \(./raised\): it runs with raised privileges'
  expect_match err '^hint: run it as the user that it changes to$'
  expect_error 125 'cannot record the command \(./raised\): it runs with raised privileges' $run record -o raised.trace -- ./raised
  [ ! -e raised.trace ] || fail "a trace of a program that loads no library of ours"
  printf '#!/bin/sh\n' >script # the kernel ignores the set-uid bit of a script
  chown nobody script && chmod 4755 script
  expect_status 0 $run run -- ./script
  expect_no_match err 'raised privileges'
else
  echo "not root: no program with raised privileges was tried"
fi

show='echo "$LD_PRELOAD|$SMALLOC_CONF"'
expect_status 0 $run run -- sh -c "$show"
expect_match out "^(/[$]LIB[/.]*)?$tmp/tree/lib/libsmalloc.so\\|$"
expect_status 0 env LD_PRELOAD=libm.so.6 SMALLOC_CONF=debug:off $run run --heap superpage --pages thp --budget 10% --stats -- sh -c "$show"
expect_match out "^(/[$]LIB[/.]*)?$tmp/tree/lib/libsmalloc.so:libm.so.6\\|debug:off,heap:superpage,pages:thp,budget:10%,stats:exit$"
expect_status 0 env SMALLOC_CONF=heap:migrate $run run -- sh -c "$show"
expect_match out '\|heap:migrate$' # the command's default does not overrule the user's choice
fixture_app app
expect_status 0 $run run --dry-run -- ./app -- x
expect_match out "^LD_PRELOAD=('/\\\$LIB[/.]*)?$tmp/tree/lib/libsmalloc.so'? SMALLOC_CONF= ./app -- x\$"
# The printed command works in a shell.
expect_status 0 $run run --dry-run -- sh -c 'printf "%s|" "$@"' x "a b" 'c"d' ''
[ "$(sh out 2>/dev/null)" = 'a b|c"d||' ] || fail "as typed: $(cat out)"
expect_status 0 $run run -- ./app
printf '#!/bin/sh\nexit 7\n' >script
chmod +x script
expect_status 7 $run run -- ./script
echo 'int main(void) { return 9; }' >nine.c
if "$CC" -static nine.c -o static 2>/dev/null; then
  expect_status 9 $run run -- ./static
  expect_match err '^smalloc: warning: .*static executable'
fi
