#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A C program opens, uses and closes a C++ library with its own operators, and then another one. The
# operator delete of the first library may be called again, so that library stays loaded.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/runtime_build.inc"
cat >plugin.cpp <<'E'
#include <cstdlib>
void *operator new(std::size_t n) { return std::malloc(n); }
void operator delete(void *p) noexcept { std::free(p); }
void operator delete(void *p, std::size_t) noexcept { std::free(p); }
extern "C" void use(void) {
  for (int i = 0; i < 100; i++) {
    int *volatile p = new int(i);
    delete p;
  }
}
E
for name in a b; do
  $CXX -O1 -std=c++17 -fno-gnu-unique -shared -fPIC -nodefaultlibs plugin.cpp -o lib$name.so -lc || fail "the plugin does not compile"
done
build host -ldl <<'E'
#include <dlfcn.h>
#include <stdio.h>
#include <sys/mman.h>
int main(void) {
  for (int i = 0; i < 6; i++) {
    void *plugin = dlopen(i % 2 ? "./libb.so" : "./liba.so", RTLD_NOW);
    if (!plugin) { puts(dlerror()); return 1; }
    ((void (*)(void))dlsym(plugin, "use"))();
    dlclose(plugin);
    for (int hole = 0; hole < 64; hole++) /* so that the next library does not get the address of this one */
      mmap(NULL, 4096, hole % 2 ? PROT_NONE : PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  }
  puts("used");
  return 0;
}
E
expect_status 0 ./host
for library in "$LIB" "$PRELOAD"; do
  LD_PRELOAD=$library expect_status 0 ./host
  expect_match out '^used$'
  SMALLOC_CONF=heap:superpage LD_PRELOAD=$library expect_status 0 ./host
  expect_match out '^used$'
done
