#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# No entry of libsmalloc needs more than 4 KiB of the caller's stack, at the first call of the
# process or later, with any settings. So threads of PTHREAD_STACK_MIN and coroutines of 8 KiB can
# allocate. Each entry runs on its own stack that ends at a guard page. The test fills the stack
# with a pattern and measures how much of it is left.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/runtime_build.inc"
build t.cpp -fno-builtin -Wno-free-nonheap-object -Wl,-z,now <<'E'
#include <malloc.h>
#include "runtime_sites.h"
#include <limits.h>
#include <new>
#include <sys/resource.h>
#include <sys/wait.h>
#include <ucontext.h>
#pragma weak smalloc_malloc
#pragma weak smemalign
#pragma weak srealloc
#pragma weak sfree
#pragma weak smalloc_heap_freeze
#pragma weak smalloc_heap_migrate
#pragma weak smalloc_trim
#pragma weak smalloc_stats
#pragma weak smalloc_stats_print
#pragma weak smalloc_stats_print_json
TEST_SITE(hot, SMALLOC_DECISION_SUPERPAGE, 0, 0);
TEST_SITE(table, SMALLOC_DECISION_RUNTIME, 0, 512);
TEST_SITE(many, SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_SMALL, 2048);
TEST_SITE(undecided, SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_UNDECIDED, 0);
static void *volatile kept;
static int nowhere;
static const size_t sizes[] = {24, 3000, 100000, 5 * MIB, 40 * MIB};
template <class Get> static void each(Get get) {
  for (size_t n : sizes) {
    char *p = (char *)get(n);
    if (p) p[n - 1] = 1;
    free(p);
  }
}
static void resize(size_t from, size_t to) { free(realloc(malloc(from), to)); }
struct Entry { const char *name; void (*call)(); };
static const Entry entries[] = {
    {"malloc", [] { each([](size_t n) { return malloc(n); }); }},
    {"calloc", [] { each([](size_t n) { return calloc(1, n); }); }},
    {"new", [] { for (size_t n : sizes) operator delete(kept = operator new(n)); }},
    {"aligned new", [] {
       for (size_t n : sizes) operator delete(kept = operator new(n, std::align_val_t(64)), std::align_val_t(64));
     }},
    {"aligned_alloc", [] { each([](size_t n) { return aligned_alloc(4096, n); }); }},
    {"posix_memalign", [] { each([](size_t n) { void *p = 0; return posix_memalign(&p, 64, n) ? 0 : p; }); }},
    {"realloc", [] { for (size_t a : sizes) for (size_t b : sizes) resize(a, b); }},
    {"site: hot", [] { each([](size_t n) { return site_malloc(&hot, n); }); }},
    {"site: table", [] { each([](size_t n) { return site_calloc(&table, 1, n); }); }},
    {"site: many", [] { each([](size_t n) { return site_malloc(&many, n); }); }},
    {"site: undecided", [] { each([](size_t n) { return site_malloc(&undecided, n); }); }},
    {"site: realloc", [] { for (size_t n : sizes) free(site_realloc(&table, malloc(5000), n)); }},
    {"touching", [] { char *p = (char *)site_malloc(&table, 5 * MIB); memset(p, 1, 5 * MIB);
                      if (__smalloc_v1_touching) __smalloc_v1_touching(p, 1 << 20);
                      free(p); }},
    {"usable", [] { each([](size_t n) { void *p = malloc(n); kept = (void *)malloc_usable_size(p); return p; }); }},
    {"smalloc", [] { for (int k = 0; k < 3; k++) for (size_t n : sizes)
                      sfree(srealloc(smalloc_malloc(n, (enum smalloc_pages)k), n * 2)); }},
    {"heap_migrate", [] { smalloc_heap_migrate(); }},
    {"heap_freeze", [] { smalloc_heap_freeze(); }},
    {"trim", [] { smalloc_trim(), malloc_trim(0); }},
    {"stats", [] { smalloc_statistics s = {}; s.bytes = sizeof s; smalloc_stats(&s); }},
    {"mallinfo2", [] { kept = (void *)mallinfo2().arena; }},
    {"setrlimit", [] { rlimit l; getrlimit(RLIMIT_AS, &l), setrlimit(RLIMIT_AS, &l); }},
    {"stats_print", [] { smalloc_stats_print(nowhere), smalloc_stats_print_json(nowhere); }},
    {"double free", [] { void *p = site_malloc(&hot, 5 * MIB); if (ours(p)) free(p), free(p); }},
};
static ucontext_t back, there;
static const Entry *entry;
static char *top;
static void run() {
  char here;
  top = &here;
  entry->call();
}
static long depth_of(const Entry &e) {
  const size_t bytes = 1 << 18;
  static char *stack;
  if (!stack) {
    stack = (char *)mmap(0, bytes + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(stack, 4096, PROT_NONE);
    stack += 4096;
  }
  memset(stack, 0x5a, bytes);
  entry = &e;
  getcontext(&there);
  there.uc_stack.ss_sp = stack, there.uc_stack.ss_size = bytes, there.uc_link = &back;
  makecontext(&there, run, 0);
  swapcontext(&back, &there);
  size_t untouched = 0;
  while (stack[untouched] == 0x5a) untouched++;
  return top - (stack + untouched);
}
/* Reports depths above `most`: of first calls, each in a process of its own, or of second calls. */
int main(int, char **argv) {
  const long most = atol(argv[1]);
  int deep = 0;
  nowhere = open("/dev/null", O_WRONLY);
  for (const Entry &e : entries) {
    if (!smalloc_malloc && &e >= entries + 14) break;
    for (int again = 0; again < 2; again++) {
      const pid_t child = fork();
      if (child == 0) {
        if (again) {
          for (const Entry &before : entries)
            if (before.name != entries[sizeof entries / sizeof *entries - 1].name) before.call(), before.call();
        }
        const long depth = depth_of(e);
        if (depth > most) printf("%s, %s: %ld bytes\n", e.name, again ? "again" : "first", depth), fflush(stdout);
        _exit(depth > most);
      }
      int status;
      waitpid(child, &status, 0);
      if (status && !(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT)) {
        deep++;
        if (WIFSIGNALED(status)) printf("%s, %s: signal %d\n", e.name, again ? "again" : "first", WTERMSIG(status)), fflush(stdout);
      }
    }
  }
  return deep != 0;
}
E
cat /sys/devices/system/node/online >/dev/null 2>&1 || true
. "$SMALLOC_SOURCE/tests/integration/fixtures/two_nodes.bash"
{
  echo '# smalloc.directives/1'
  grep -n '^TEST_SITE' t.cpp | cut -d: -f1 | while read -r line; do
    printf '%016x page=2m rank=1 pmb=100.0 superpages=40 numa=%s # test\n' $((0x1000 + line)) "$([ $((line % 2)) = 0 ] && echo interleave || echo -)"
  done
} >hints
for conf in heap:auto,directives:hints heap:superpage,directives:hints,sysfs:$tmp/sys heap:guest,directives:hints,sysfs:$tmp/sys heap:auto heap:guest heap:superpage heap:migrate heap:superpage,pages:hugetlb heap:auto,pages:1g heap:superpage,budget:50% \
  heap:superpage,budget:20m heap:auto,debug:on heap:superpage,stats:exit,validate:on heap:auto,promote:thread; do
  echo "== $conf"
  SMALLOC_CONF=populate:always,$conf LD_PRELOAD=$LIB ./t "${MOST:-4096}" 2>err || bad=$conf
done
[ -z "${bad-}" ] || fail "more than 4 KiB of the caller's stack ($bad)"
