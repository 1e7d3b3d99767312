#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# lua5.4: an interpreter, with records, names and trees of millions of objects. All memory goes
# through one realloc: one site has small objects of every lifetime, and tables that double.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
package=lua5.4
# Debian's makefile needs libtool for its shared library: the patch that adds it is reverted.
# Debian's rules make a header with the folder of modules; none are loaded here.
build_in() {
  patch -R -p1 <debian/patches/0001-build-system.patch
  echo '#define DEB_HOST_MULTIARCH "any"' >src/lua5.4-deb-multiarch.h
  make -j1 -C src linux CC="$CC -std=gnu99" MYCFLAGS="$CFLAGS -Wno-everything" MYLDFLAGS="$LDFLAGS"
}
# The package has no test suite: known answers.
test_in() {
  src/lua - <<'LUA'
local sieve, primes = {}, 0
for i = 2, 100000 do
  if not sieve[i] then
    primes = primes + 1
    for j = i * i, 100000, i do sieve[j] = true end
  end
end
assert(primes == 9592)
local parts, words = {}, 0
for i = 1, 20000 do parts[i] = ("%d:%s"):format(i, ("x"):rep(i % 50)) end
for word in table.concat(parts, " "):gmatch("%S+") do
  words = words + 1
  assert(word == parts[words])
end
assert(words == 20000)
local squares = coroutine.wrap(function() for i = 1, 1000 do coroutine.yield(i * i) end end)
local sum = 0
for _ = 1, 1000 do sum = sum + squares() end
assert(sum == 333833500)
local kept = setmetatable({}, {__mode = "v"})
for i = 1, 1000 do kept[i] = {} end
collectgarbage()
assert(next(kept) == nil)
print("known answers")
LUA
}
prepare() { :; }
workload() {
  echo "$SMALLOC_WORK/$package/$1/src/lua $real_dir/tables.lua" \
    "$([ "$quick" ] && echo 60000 || echo 350000)"
}
real_main "$@"
