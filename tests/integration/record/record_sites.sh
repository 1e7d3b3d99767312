# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A program compiled with the plugin is recorded under the site ids that smalloc sites prints,
# whether linked with libsmalloc or not.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
[ -r "$SMALLOC_BUILD/lib/libsmalloc_feedback.so" ] || skip "libsmalloc_feedback.so was not built (sanitizers)"
command -v zstdcat >/dev/null || skip "no zstdcat"
write_gather
"$CLANG" -O2 -fplugin="$PLUGIN" gather.c -o plain
"$CLANG" -O2 -fplugin="$PLUGIN" gather.c -o linked "${LINK_LIBRARY[@]}"
for app in plain linked; do
  expect_status 0 "$SMALLOC" record -q --source instrumented -o $app.trace -- ./$app
  expect_match out "^$SUM huge_kib 0\$" # a profile is recorded on base pages
  [ ! -s err ] || fail "$(cat err)"
  expect_status 0 "$SMALLOC" trace show $app.trace --json
  json_is out 'd["totals"]["peak_live_bytes"] >= 72 << 20'
  zstdcat $app.trace >raw
  "$SMALLOC" sites $app --json >sites.json
  python3 - sites.json raw <<'PY' || fail "the trace of $app lacks a site that was rewritten"
import json, sys
raw = open(sys.argv[2], "rb").read()
sites = [s for s in json.load(open(sys.argv[1]))["sites"] if s["rewritten"]]
assert sites, "nothing rewritten"
for s in sites: # named once, and used
    assert raw.count(bytes.fromhex(s["id"])[::-1]) >= 2, s["id"]
PY
done

# Every form of operator new is recorded once, at its own site: libsmalloc serves them without malloc.
cat >forms.cpp <<'C'
#include <cstdio>
#include <cstdlib>
#include <new>
struct alignas(64) Wide { char bytes[256 << 10]; };
#define SITE(name, make) \
  __attribute__((noinline)) char *name(long n) { char *p = (char *)(make); for (long i = 0; p && i < n; i += 64) p[i] = 1; return p; }
SITE(plain_new, ::operator new(n))
SITE(array_new, new char[n])
SITE(nothrow_new, new (std::nothrow) char[n])
SITE(aligned_new, new Wide)
SITE(small_new, new char[24])
SITE(c_malloc, malloc(n))
int main(int argc, char **) {
  const long n = (256 << 10) * argc;
  for (int i = 0; i < 10; i++) {
    char *all[] = {plain_new(n), array_new(n), nothrow_new(n), aligned_new(n), small_new(24), c_malloc(n)};
    puts(all[0] == all[1] ? "same" : "different");
    ::operator delete(all[0]);
    delete[] all[1];
    delete[] all[2];
    delete (Wide *)all[3];
    delete[] all[4];
    free(all[5]);
  }
}
C
"$CLANGXX" -O2 -g1 -std=c++17 -fplugin="$PLUGIN" -fplugin-arg-smalloc-rewrite=all forms.cpp -o forms_plain
"$CLANGXX" -O2 -g1 -std=c++17 -fplugin="$PLUGIN" -fplugin-arg-smalloc-rewrite=all forms.cpp -o forms_linked "${LINK_LIBRARY[@]}"
for app in forms_plain forms_linked; do
  expect_status 0 "$SMALLOC" record -q --source instrumented -o $app.trace -- ./$app
  expect_status 0 "$SMALLOC" trace show $app.trace --json
  python3 - <<'PY' || fail "$app: $(cat out)"
import json
d = json.load(open("out"))
# 60 of the program, and those of its libraries: a buffer of puts, a pool of exceptions.
assert 60 <= d["events"]["allocations"] <= 64 and d["totals"]["sites"] >= 6, d
assert d["events"]["frees"] >= 60 and d["totals"]["peak_live_bytes"] >= 5 * (256 << 10), d
PY
done

# A library that replaces an unloaded one has its own sites. A free by realloc, or a failed realloc,
# is no allocation of that site: the next allocation belongs to another one.
cat >part.c <<'C'
#include <stdlib.h>
double NAME(const int *x, long n) {
  double *a = calloc(n, sizeof *a), s = 0;
  for (long i = 0; i < n; i++) s += a[x[i]] += i;
  free(a);
  return s;
}
C
cat >host.c <<'C'
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
void *plain_malloc(size_t);
int main(void) {
  enum { kCount = 1 << 20 };
  int *index = malloc(kCount * sizeof *index);
  for (int i = 0; i < kCount; i++) index[i] = i * 7919 % kCount;
  const char *names[] = {"first", "other"};
  for (int i = 0; i < 2; i++) {
    char file[32];
    snprintf(file, sizeof file, "./%s.so", names[i]);
    void *library = dlopen(file, RTLD_NOW);
    double (*call)(const int *, long) = (double (*)(const int *, long))dlsym(library, names[i]);
    printf("%g\n", call(index, kCount));
    dlclose(library);
  }
  void *volatile p = malloc(5000);
  p = realloc(p, 0);
  free(plain_malloc(48 << 20));
  free(index);
}
C
printf '#include <stdlib.h>\nvoid *plain_malloc(size_t n) { return malloc(n); }\n' >plain_malloc.c
"$CLANG" -O1 -fno-optimize-sibling-calls -shared -fPIC plain_malloc.c -o libplain_malloc.so
for name in first other; do
  "$CLANG" -O2 -g1 -shared -fPIC -DNAME=$name -fplugin="$PLUGIN" -fplugin-arg-smalloc-rewrite=all part.c -o $name.so
done
"$CLANG" -O2 -g1 -fno-builtin -fplugin="$PLUGIN" -fplugin-arg-smalloc-rewrite=all host.c -L. -lplain_malloc -Wl,-rpath,"$PWD" -o host
expect_status 0 "$SMALLOC" record -q --source instrumented -o host.trace -- ./host
zstdcat host.trace >raw
for name in first other; do
  grep -aqx "$name" raw || grep -aq "$name\$" raw || fail "no site of $name"
done
# Named twice: as an image, and as that of a site.
has_plain_site() { [ "$(grep -ao 'libplain_malloc\.so' raw | wc -l)" -ge 2 ]; }
has_plain_site || fail "an allocation is taken for one of a site that had freed"
# Nor is an allocation taken for a failed one.
for fails in 'if (!posix_memalign(\&p, 3, 64)) return 1' 'if (reallocarray(p, -1, 2)) return 1'; do
  sed "s/p = realloc(p, 0);/free(p), p = 0; $fails;/; s/void \*volatile p/void *p/" host.c >fails.c
  "$CLANG" -D_GNU_SOURCE -O2 -g1 -fno-builtin -fplugin="$PLUGIN" -fplugin-arg-smalloc-rewrite=all fails.c -L. -lplain_malloc -Wl,-rpath,"$PWD" -o fails
  expect_status 0 "$SMALLOC" record -q --source instrumented -o fails.trace -- ./fails
  zstdcat fails.trace >raw
  has_plain_site || fail "an allocation is taken for a failed one: $fails"
done
