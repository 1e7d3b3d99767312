# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A history that is damaged, of another version, of another program, or read-only: a clear error,
# exit status 1, and unchanged bytes.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
refused() { # FILE WHY COMMAND...
  local file=$1 why=$2 before
  shift 2
  before=$(sha256sum "$file")
  expect_error 1 "cannot use the history \($file\): $why" "$@"
  expect_match err '^hint: '
  [ "$(sha256sum "$file")" = "$before" ] || fail "$file was changed: $*"
}
head -c 8192 /dev/urandom >noise.db
printf 'SQLite format 3\0' >torn.db
head -c 100000 /dev/urandom >>torn.db
# A file that was never a history is probably needed: no hint suggests moving it.
refused noise.db 'it is damaged, or no database' "$SMALLOC" db list --db noise.db
expect_match err '^hint: another file with --db FILE$'
# SQLite takes a file of one byte for an empty database.
printf N >one.db
refused one.db 'it is damaged, or no database' "$SMALLOC" db list --db one.db
refused torn.db 'it is damaged$' "$SMALLOC" db list --db torn.db
expect_match err '^hint: mv torn.db '
for file in noise.db torn.db; do
  for verb in list "merge noise.db" prune "export"; do
    # shellcheck disable=SC2086
    set -- $verb
    refused $file 'it is damaged' "$SMALLOC" db "$1" --db $file "${@:2}"
  done
done
python3 - <<'PY'
import sqlite3
newer = sqlite3.connect("newer.db"); newer.execute("CREATE TABLE runs (id)")
newer.execute("PRAGMA application_id = 0x736d616c"); newer.execute("PRAGMA user_version = 999"); newer.commit()
mail = sqlite3.connect("mail.db"); mail.execute("CREATE TABLE mail (subject TEXT)"); mail.commit()
PY
refused newer.db 'it has version 999, and this command knows only version' "$SMALLOC" db list --db newer.db
refused mail.db 'it is the database of another program' "$SMALLOC" db list --db mail.db
expect_error 1 'there is no such file' "$SMALLOC" db list --db nosuch.db
[ ! -e nosuch.db ] || fail "looking made it"
expect_error 1 'it is a directory' "$SMALLOC" db merge --db "$tmp" newer.db
expect_error 1 'there is no such file' "$SMALLOC" db merge --db ok.db nosuch.db
# An unwritable history is reported before an analysis is lost.
expect_error 1 'cannot use the history \(/proc/smalloc.db\): it cannot be made' "$SMALLOC" db merge --db /proc/smalloc.db newer.db
expect_match err '^hint: another place with --db FILE'
expect_error 1 'cannot use the history \(newer.db/x.db\): ' "$SMALLOC" db merge --db newer.db/x.db newer.db
expect_match err '^hint: '
# Missing tables or columns.
for verb in db trace numa directives; do
  expect_error 2 "unknown part of smalloc $verb \\(foo\\): they are " "$SMALLOC" $verb foo
  expect_match err "^hint: smalloc $verb --help"
  expect_error 2 "cannot understand the command line \\(smalloc $verb\\): it takes one of " "$SMALLOC" $verb
done
# Without a home there is no place for the history.
expect_error 1 'cannot find the history \(HOME\): it is not set' env -u HOME -u XDG_STATE_HOME "$SMALLOC" db list
expect_match err '^hint: --db FILE'
expect_status 0 env -u HOME -u XDG_STATE_HOME "$SMALLOC" db merge --db ok.db ok.db
# A read-only history: list works, and commands that write report it. apply takes the directives of
# an earlier build from there.
printf 'int main(void) { return 0; }' | "$CLANG" -x c - -static -Wl,--build-id=0xabcd -o app
python3 - "$PWD/app" <<'PY'
import sqlite3, sys
history = sqlite3.connect("ok.db")
history.execute("INSERT INTO programs VALUES ('0123', ?, 1, 1)", sys.argv[1:])
history.execute("INSERT INTO directives VALUES ('0123', '00000000000000aa', '', 21, 1, 32, 9.5, '', '', 0, 0)")
history.commit()
PY
install -d -m 777 theirs
mkdir bin lib # a command that any user may run, with its library
cp "$SMALLOC" bin/smalloc
cp -L "$LIB" lib/libsmalloc.so
chmod 777 . # a reader shares memory with writers in a file beside the history
if [ "$(id -u)" = 0 ]; then
  command -v runuser >/dev/null && id nobody >/dev/null 2>&1 || skip "no runuser, or no user nobody"
  as() { runuser -u nobody -- "$@"; }
  chmod 755 bin lib bin/* lib/* && chmod 644 ok.db
else
  as() { "$@"; }
  chmod 444 ok.db
fi
sha256sum ok.db >before
expect_status 1 as bin/smalloc db prune --db ok.db
expect_match err '^smalloc: error: cannot use the history \(ok.db\): it may only be read'
sha256sum -c --quiet before || fail "ok.db was changed"
expect_status 0 as env XDG_STATE_HOME="$PWD/theirs" bin/smalloc apply -n --db ok.db -- ./app
expect_match err 'uses the directives of its earlier build 0123'
expect_match err 'the history does not keep them for this build: it may only be read'
expect_match theirs/smalloc/directives/abcd.directives '^00000000000000aa .*superpages=32'
sha256sum -c --quiet before || fail "ok.db was changed"
