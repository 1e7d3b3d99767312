#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A debugger, and backtrace(), can unwind through all of libsmalloc's frames: from a signal at any
# instruction of malloc and free, and from an abort at a wrong free, up to main.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
ulimit -c 0
cat >t.c <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <execinfo.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ucontext.h>
/* Every instruction of malloc and free is a stop: the trap flag. */
static volatile long steps, inside, lost, seen_cold;
static volatile uintptr_t lost_at;
static char *library, *library_end;
static char *volatile kept;
static void *frames[64];
static uintptr_t main_start, main_end;
static void step(int signal, siginfo_t *info, void *context) {
  const uintptr_t at = (uintptr_t)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
  (void)signal, (void)info;
  steps++;
  if ((char *)at < library || (char *)at >= library_end) return;
  if (inside++ % 7 && steps > 20000) return; /* all of the first calls; a sample of the rest */
  const int n = backtrace(frames, 64);
  for (int i = 0; i < n; i++)
    if ((uintptr_t)frames[i] >= main_start && (uintptr_t)frames[i] < main_end) return;
  if (!lost++) lost_at = at;
}
static inline void trap(int on) {
  __asm__ volatile("pushfq; andq $~0x100, (%%rsp); orq %0, (%%rsp); popfq" : : "r"(on ? 0x100L : 0L) : "memory", "cc");
}
__attribute__((noinline)) static void use(size_t n) {
  kept = malloc(n);
  kept[n / 2] = 1;
  kept = realloc(kept, n + n / 2);
  kept[n / 2] = 1;
  free(kept);
}
int main(int argc, char **argv) {
  Dl_info where;
  void *address = dlsym(RTLD_DEFAULT, "smalloc_version");
  if (!address || !dladdr(address, &where)) return 77;
  FILE *maps = fopen("/proc/self/maps", "r");
  char line[512], *of_library = strrchr(where.dli_fname, '/');
  while (fgets(line, sizeof line, maps)) {
    unsigned long from, to;
    if (strstr(line, of_library) && strstr(line, " r-xp ") && sscanf(line, "%lx-%lx", &from, &to) == 2)
      library = library ? library : (char *)from, library_end = (char *)to;
  }
  fclose(maps);
  main_start = (uintptr_t)main, main_end = main_start + atol(argv[1]);
  if (argc > 2) { /* an abort of libsmalloc */
    kept = malloc(20 << 20);
    free(kept), free(kept);
    return 1;
  }
  for (int i = 0; i < 30; i++) kept = malloc(20u << 20), free(kept); /* starts the heaps */
  use(100);
  backtrace(frames, 64); /* loads libgcc */
  struct sigaction action = {.sa_sigaction = step, .sa_flags = SA_SIGINFO | SA_NODEFER};
  sigaction(SIGTRAP, &action, NULL);
  static const size_t sizes[] = {24, 100, 3000, 20000, 1 << 20, 3 << 20, 20 << 20, 24};
  for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    trap(1);
    use(sizes[i]);
    trap(0);
  }
  printf("steps %ld inside %ld lost %ld at library + 0x%lx\n", steps, inside, lost, (long)(lost_at ? lost_at - (uintptr_t)where.dli_fbase : 0));
  return lost || inside < 1000;
}
C
[ "$(uname -m)" = x86_64 ] || skip "the trap flag is x86-64's"
"$CLANG" -O2 -g -w -fplugin="$PLUGIN" -fplugin-arg-smalloc-rewrite=all t.c -o t "${LINK_LIBRARY[@]}"
bytes=$(nm -S t | awk '$4 == "main" {print strtonum("0x" $2)}' 2>/dev/null || true)
[ -n "$bytes" ] && [ "$bytes" != 0 ] || bytes=$((0x$(nm -S t | sed -n 's/^[0-9a-f]* \([0-9a-f]*\) . main$/\1/p')))
# promote:calls: a thread that starts under the trap flag inherits it, and the helper thread runs no
# handler of the program.
for conf in heap:superpage heap:auto heap:guest heap:superpage,debug:on; do
  SMALLOC_CONF=populate:always,promote:calls,$conf expect_status 0 ./t "$bytes"
  cat out
done
command -v gdb >/dev/null || { echo "no gdb: its backtrace was not looked at"; exit 0; }
gdb -q -batch -ex run -ex bt --args ./t "$bytes" abort >gdb.out 2>&1 </dev/null || true
grep -q 'SIGABRT' gdb.out || { cat gdb.out; skip "gdb cannot run programs here"; }
expect_match gdb.out '#[0-9]+ .*abort \('
expect_match gdb.out '#[0-9]+ .* main \('
