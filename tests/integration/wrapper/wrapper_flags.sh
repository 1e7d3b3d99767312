#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# smalloc-cc adds exactly the flags that a compile or a link needs.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
cc=$BIN/smalloc-cc
# A failing command shows neither library nor plugin: the end of this script checks that.
show() { "$cc" --smalloc-show "$@" || echo "$*" >>"$tmp/failed"; }
show_fc() { "$BIN/smalloc-fc" --smalloc-show "$@" || echo "smalloc-fc $*" >>"$tmp/failed"; }
with_library() { show "$@" | found -- ' -lsmalloc ' || fail "no library: $*"; }
without_library() { ! show "$@" | found -- '-lsmalloc' || fail "library: $*"; }
with_plugin() { show "$@" | found -E -- " -fplugin=[^ ]*SmallocPlugin\\.so " || fail "no plugin: $*"; }
with_library a.c
with_library a.o -o a
with_library a.c -o a -MD -MF c
with_library -x c - -o a
with_library -lm a.c -I shared -o -c.out
printf -- '-O2\n-c "a.c"\n' >compile.rsp
printf -- 'a.o -o "a b"\n' >link.rsp
with_library @link.rsp
for compile in -c -S -E -M -MM -fsyntax-only --analyze --precompile; do
  without_library $compile a.c
  with_plugin $compile a.c
done
without_library @compile.rsp
without_library -x c-header a.h
without_library a.h
for link in -shared -static -static-pie -r -nostdlib -fsanitize=address -fsanitize=undefined,thread -Wl,-r; do
  without_library $link a.c -o a
  with_plugin $link a.c -o a
done
for link in -static -static-pie; do
  show $link a.c -o a | found 'libsmalloc\.a' || fail "$link without libsmalloc.a"
  ! show $link a.c -o a | found -- -rpath || fail "$link with a run path, at which glibc stops a -static-pie program"
  ! show $link -shared a.c | found 'libsmalloc\.a' || fail "$link -shared with libsmalloc.a"
done
! show -static -c a.c | found 'libsmalloc\.a' || fail "libsmalloc.a in a compile"
with_library -fsanitize=undefined a.c -o a
# The linker's own words for a shared library or a relocatable file, wherever they are.
for words in -Wl,-z,now,-shared "-Xlinker -shared" -Wl,--shared -Wl,-Bshareable -Wl,-O1,-r "-Xlinker --relocatable"; do
  # shellcheck disable=SC2086 # several words
  without_library $words a.c -o a
done
with_library -Wl,-soname,shared a.c -Xlinker -rpath -Xlinker r -o a
# A program whose compiler brings a malloc gets no second one. The last word on a sanitizer counts.
for own in -fsanitize=scudo -fsanitize=numerical -fmemory-profile -fmemory-profile=folder "-fno-sanitize=address -fsanitize=address" \
  "-fsanitize=address,undefined -fno-sanitize=undefined" "-fno-memory-profile -fmemory-profile"; do
  # shellcheck disable=SC2086 # several words
  without_library $own a.c -o a
done
for revoked in "-fsanitize=address -fno-sanitize=address" "-fsanitize=undefined,thread -fno-sanitize=all" -fmemory-profile-use=profile \
  "-fsanitize=address,leak -fsanitize=address -fno-sanitize=leak,address" "-fmemory-profile -fno-memory-profile"; do
  # shellcheck disable=SC2086 # several words
  with_library $revoked a.c -o a
done
without_library --emit-static-lib a.c -o a.a
# Behind -- there are only files: the library's folder and the headers' are in front.
for link in "a.c -o a --" "-o a -- a.c" "-o a -- a.c b.c" "-o a -- -a.c"; do
  # shellcheck disable=SC2086 # several words
  show $link >shown
  [ -s shown ] || fail "no answer: $link"
  ! grep -E -- ' -- .*(-L|-rpath|-idirafter)' shown || fail "options behind --: $link"
done
with_library -o a -- a.c
without_library -c -- a.c
with_plugin -c -- a.c
# A run path that would name two folders, or split a word for the linker, makes programs that cannot
# start.
for odd in c:d c,d; do
  mkdir -p "$odd/bin" "$odd/lib/smalloc/llvm-22"
  cp "$cc" "$odd/bin/"
  touch "$odd/lib/smalloc/llvm-22/SmallocPlugin.so" "$odd/lib/libsmalloc.so"
  status=0
  "$odd/bin/smalloc-cc" --smalloc-show a.c -o a >out 2>err || status=$?
  [ $status = 1 ] && grep -q '^smalloc-cc: error: run path (.*/'"$odd"'/lib): folders of a run path' err || fail "$odd: $status $(cat err)"
  "$odd/bin/smalloc-cc" --smalloc-show -c a.c >out || fail "$odd: compiling has no run path"
done
# A program of another processor gets no flag of smalloc, and one line says so. An option that a
# later flag revokes does not count.
machine=$(uname -m)
for foreign in -m32 -mx32 "-m64 -m32" --target=i686-linux-gnu "-target i686-pc-linux-gnu" --target=riscv64-linux-gnu --target="$machine"-w64-mingw32; do
  # shellcheck disable=SC2086 # several words
  for link in "" -static "-flto -fuse-ld=lld"; do
    without_library $foreign $link a.c -o a
    ! show $foreign $link a.c -o a | found -E 'libsmalloc|-rpath|load-pass-plugin' || fail "something of ours: $foreign $link"
  done
done
with_library -m32 -m64 a.c -o a
with_library --target="$machine"-pc-linux-gnu a.c -o a
with_library -target "$machine"-linux-gnu a.c -o a
cat >linker <<'S'
#!/bin/sh
[ "$1" != --version ] || echo "clang version @MAJOR@.0.0"
S
sed -i "s/@MAJOR@/${CLANG##*-}/" linker
chmod +x linker
SMALLOC_CC=$tmp/linker expect_status 0 "$cc" -m32 a.o -o a
[ "$(cat err)" = "smalloc-cc: warning: target (-m32): smalloc has no library for it; the program keeps its own malloc" ] || fail "said: $(cat err)"
for silent in "-m32 -c a.c" "-m32 -shared a.o" "a.o"; do
  # shellcheck disable=SC2086 # several words
  SMALLOC_CC=$tmp/linker expect_status 0 "$cc" $silent -o a
  [ ! -s err ] || fail "$silent: $(cat err)"
done
for ask in --version -v -dumpmachine -dumpversion -print-search-dirs -print-file-name=libc.a --help; do
  ! show $ask | found 'smalloc\.so\|SmallocPlugin' || fail "flags for $ask"
  [ $ask = -v ] || expect_status 0 "$cc" $ask
done
expect_status 0 "$cc" -v
show a.ll -c | found -- ' -fpass-plugin=' || fail "IR without the pass plugin"
show -x ir a.txt -c | found -- ' -fpass-plugin=' || fail "IR by -x without the pass plugin"
show -save-temps a.c | found -- ' -fpass-plugin=' || fail "-save-temps without the pass plugin"
! show a.c | found -- '-fpass-plugin=' || fail "pass plugin without need"
show -flto -fuse-ld=lld a.c | found -- '-Wl,-mllvm,-load=[^ ]* -Wl,--load-pass-plugin=' || fail "LTO without the plugin in lld"
! show -flto a.c | found load-pass-plugin || fail "--load-pass-plugin for a linker that has no such option"
! show -flto -c -fuse-ld=lld a.c | found load-pass-plugin || fail "link flags for a compile"
show_fc -fplugin-arg-smalloc-heap=off a.f90 | found -- '-mllvm -smalloc-heap=off' || fail "flang: option"
show_fc a.f90 | found -- '-fpass-plugin=' || fail "flang: plugin"
! show_fc a.f90 | found -- '-fplugin=' || fail "flang knows no -fplugin"

# The headers are found behind the user's own folders, and no flag is unused in a link or for IR.
echo '#include <smalloc/smalloc.h>
int main(void) { return smalloc_is_ours(0); }' >api.c
expect_status 0 "$cc" -Werror api.c -o api
expect_status 0 ./api
expect_status 0 "$cc" -Werror -c api.c -o api.o
expect_status 0 "$cc" -Werror api.o -o api
for file in api.c -api.c; do
  cp api.c ./-api.c
  expect_status 0 "$cc" -Werror -O2 -o api -- $file
  expect_status 0 ./api
  expect_status 0 "$cc" -Werror -O2 -c -o api.o -- $file
done
mkdir -p own/smalloc
echo '#error mine' >own/smalloc/smalloc.h
expect_status 1 "$cc" -Iown -c api.c
# flang's name of an option has the same effect: the recording library is linked.
for option in -fplugin-arg-smalloc-profile-generate "-mllvm -smalloc-profile-generate" "-mllvm -smalloc-profile-generate=traces"; do
  # shellcheck disable=SC2086 # two words
  show_fc $option a.f90 | found -- -lsmalloc_feedback || fail "$option: not linked with what records"
done
show_fc -mllvm -smalloc-profile-generate a.f90 -g0 | found -- ' -gline-tables-only .* -g0' || fail "a profile of flang's has no lines, or its user no say"
! show_fc a.f90 | found -- -gline || fail "debug information that nobody asked for"
! show_fc -mllvm -other a.f90 | found -- smalloc_feedback || fail "it is linked without being asked for"
! show_fc a.f90 | found -- idirafter || fail "flang gets C headers"

[ ! -e failed ] || fail "no answer: $(cat failed)"

mkdir -p moved/bin
cp "$cc" moved/bin/
expect_status 1 moved/bin/smalloc-cc -c a.c
expect_match err '^smalloc-cc: error: plugin \(.*/moved/lib/smalloc/llvm-22/SmallocPlugin\.so\): not found$'
expect_match err '^hint: '
# The printed command can be typed.
show -c '-DX="a  b"' "it's.c" >shown
eval "set -- $(cat shown)"
printf '%s\n' "$@" | grep -xF -- '-DX="a  b"' >/dev/null && printf '%s\n' "$@" | grep -xF "it's.c" >/dev/null || fail "not as a shell takes it: $(cat shown)"
