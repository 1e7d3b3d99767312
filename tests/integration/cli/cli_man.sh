# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# docs/man/smalloc.1 agrees with the help texts of the command.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
"$SMALLOC" --man >smalloc.1
diff -u "$SMALLOC_SOURCE/docs/man/smalloc.1" smalloc.1 || fail "regenerate it: smalloc --man > docs/man/smalloc.1"
