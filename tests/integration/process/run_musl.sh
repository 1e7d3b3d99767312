# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Programs of musl are not served. doctor reports that. They still start, by themselves and as
# children of a served shell.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
command -v musl-gcc >/dev/null || skip "no musl-gcc (package musl-tools)"
cat >main.c <<'C'
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
  void *p = malloc(100);
  printf("%s is here\n", argv[1]);
  free(p);
  return argc - 2 + 7;
}
C
musl-gcc main.c -o musl || fail "musl-gcc fails"
"$CC" main.c -o glibc
./musl it >/dev/null || [ $? = 7 ] || skip "the loader of musl is not installed"
expect_status 0 "$SMALLOC" doctor --json ./musl
json_is out '[c["status"] for c in d["checks"] if c["name"] == "program-libc"] == ["fail"]'
json_is out 'not [c for c in d["checks"] if "smalloc run --" in (c["fix"] or "")]'
expect_status 7 "$SMALLOC" run -- ./musl it
expect_match out '^it is here$'
expect_match err '^smalloc: warning: no superpages for this program \(./musl\): it uses musl'
# The shell and its other child are served.
cat >script <<'S'
grep -q libsmalloc.so /proc/$$/maps && echo "the shell has it"
./musl child
echo "status $?"
./glibc other
exit 5
S
for verb in run "record -o %p.trace" "apply --directives none.directives"; do
  echo '# smalloc.directives/1' >none.directives
  # shellcheck disable=SC2086
  expect_status 5 "$SMALLOC" $verb -- sh script
  expect_match out '^child is here$'
  expect_match out '^status 7$'
  expect_match out '^other is here$'
  expect_no_match err 'Error relocating|cannot be preloaded'
  [ "${verb%% *}" = record ] || expect_match out '^the shell has it$'
done
