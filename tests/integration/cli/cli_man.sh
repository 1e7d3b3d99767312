# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Each command and each verb has a man page. The pages of smalloc agree with its help texts.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
pages=$SMALLOC_SOURCE/docs/man
"$SMALLOC" --man >smalloc.1
diff -u "$pages/smalloc.1" smalloc.1 || fail "regenerate it: scripts/regen_docs.py --man"
verbs=$("$SMALLOC" --help | sed -n 's/^  \([a-z][a-z]*\)  .*/\1/p')
[ "$(wc -w <<<"$verbs")" -ge 15 ] || fail "the help lists too few verbs: $verbs"
for verb in $verbs; do
  "$SMALLOC" --man="$verb" >page || fail "smalloc --man=$verb: status $?"
  diff -u "$pages/smalloc-$verb.1" page || fail "regenerate it: scripts/regen_docs.py --man"
done
released=$(sed -n 's/^set(SMALLOC_RELEASED \([0-9-]*\)).*/\1/p' "$SMALLOC_SOURCE/CMakeLists.txt")
grep -qF "($released)" "$SMALLOC_SOURCE/CHANGELOG.md" || fail "CHANGELOG.md has another day than CMakeLists.txt ($released)"
expect_error 2 'cannot print the man page \(nosuch\): no such verb' "$SMALLOC" --man=nosuch
# As installed: a page that is another page names its place below man/.
mkdir -p man && ln -sfn "$pages" man/man1 && cd man
for page in man1/*.1; do
  name=$(basename "$page" .1)
  case $name in
  smalloc | smalloc-cc | smalloc-c++ | smalloc-fc) ;;
  *) grep -qx "${name#smalloc-}" <<<"$verbs" || fail "$name.1: no such verb" ;;
  esac
  if command -v groff >/dev/null; then
    groff -man -Tutf8 -ww -z "$page" 2>warnings || fail "$name.1: groff: status $?"
    [ ! -s warnings ] || fail "$name.1: $(cat warnings)"
  fi
  # mandoc advises against .so, which Debian's pages use.
  ! command -v mandoc >/dev/null || mandoc -T lint -W warning "$page" | grep -v 'so is fragile' >warnings || true
  [ ! -s warnings ] || fail "$name.1: $(cat warnings)"
done
