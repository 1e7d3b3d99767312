# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# docs/man/smalloc.1 is what the command says of itself.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
"$SMALLOC" --man >smalloc.1
diff -u "$SMALLOC_SOURCE/docs/man/smalloc.1" smalloc.1 || fail "regenerate it: smalloc --man > docs/man/smalloc.1"
