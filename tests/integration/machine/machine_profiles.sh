# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The plugin and the command accept and reject the same machine profiles, for the same reason, and
# read them alike.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
write_gather
compile() { "$CLANG" -O2 -c -o gather.o -fplugin="$PLUGIN" -fplugin-arg-smalloc-machine="$1" -Rpass-analysis=smalloc -Rpass=smalloc gather.c; }

# NAME TEXT; base pages of level 2 are 300, so every accepted file has that reach.
l2='{"level": 2, "page_bytes": [4096], "entries": 300, "ways": 4}'
head='"schema": "smalloc.machine/1", "name": "mine"'
profile() { printf '%s' "$2" >"$1.json"; }
profile taken-plain "{$head, \"tlb\": [$l2]}"
profile taken-mark $'\xef\xbb\xbf'"{$head, \"tlb\": [$l2]}"
profile taken-instructions "{$head, \"tlb\": [$l2, {\"level\": 3, \"kind\": \"instruction\", \"page_bytes\": [4096], \"entries\": 64}]}"
profile taken-order "{$head, \"tlb\": [{\"page_bytes\": [4096], \"entries\": 64}, {\"page_bytes\": [4096], \"entries\": 300}]}"
profile taken-unknown-source "{$head, \"tlb\": [{\"level\": 2, \"page_bytes\": [4096], \"entries\": {\"value\": 300, \"source\": \"unknown\"}}]}"
profile taken-modulo "{$head, \"tlb\": [{\"level\": 2, \"page_bytes\": [4096], \"entries\": 300, \"ways\": 4, \"index\": \"modulo\"}]}"
profile refused-fraction "{$head, \"tlb\": [{\"level\": 2, \"page_bytes\": [4096], \"entries\": 72.7}]}"
profile refused-level "{$head, \"tlb\": [{\"level\": 99, \"page_bytes\": [4096], \"entries\": 300}]}"
profile refused-name "{\"schema\": \"smalloc.machine/1\", \"name\": \"$(printf 'x%.0s' $(seq 65))\", \"tlb\": [$l2]}"
profile refused-lines "{\"schema\": \"smalloc.machine/1\", \"name\": \"a\\nb\", \"tlb\": [$l2]}"
profile refused-hit "{$head, \"tlb\": [$l2], \"l2_hit_cycles\": -1}"
profile refused-walk "{$head, \"tlb\": [$l2], \"walk_cost\": [{\"page_bytes\": 4096, \"pages\": 9, \"cycles\": -3}]}"
profile refused-points "{$head, \"tlb\": [$l2], \"walk_cost\": [$(printf '{"page_bytes": 4096, "pages": %d, "cycles": 30},' $(seq 257) | sed 's/,$//')]}"
profile refused-frequency "{$head, \"tlb\": [$l2], \"frequency_hz\": 0}"
profile refused-overlapped "{$head, \"tlb\": [$l2], \"overlapped_walk_cost\": \"none\"}"
profile refused-near "{$head, \"tlb\": [$l2], \"overlapped_near_walk_cost\": \"none\"}"
profile refused-base "{$head, \"base_page_bytes\": 2097152, \"tlb\": [{\"page_bytes\": [2097152], \"entries\": 300}]}"
profile refused-reach "{$head, \"tlb\": [$l2], \"reach_pages\": 0}"
profile refused-end "{$head,"$'\n'"  \"tlb\": ["
profile refused-behind "{$head, \"tlb\": [$l2]} more"
{ cat refused-behind.json; printf '\0garbage'; } >refused-zero.json
{ cat taken-plain.json; printf '\0'; } >refused-last-zero.json
{ cat taken-plain.json; printf '\0 {"reach_pages": 9}'; } >refused-second.json

for file in taken-*.json; do
  expect_status 0 "$SMALLOC" machine show "$file"
  expect_match out '^mine: reach 300 pages'
  expect_status 0 compile "$file"
  expect_match err 'reach 300 pages of mine'
  # The plugin and the command read a profile that the command writes as the same profile.
  "$SMALLOC" machine show "$file" --json >again.json
  mv err first
  expect_status 0 compile again.json
  cmp first err || fail "$file: the plugin decides otherwise by the file that the command wrote of it"
done
for file in refused-*.json; do
  expect_error 1 "cannot use machine profile" "$SMALLOC" machine show "$file"
  reason=$(sed -n 's/^smalloc: error: \(cannot use machine profile .*\)/\1/p' err)
  expect_status 1 compile "$file"
  grep -qF "error: smalloc: $reason" err || {
    cat err >&2
    fail "$file: the command says '$reason', the plugin something else"
  }
done
expect_error 1 "refused-end.json\): it is not JSON: line 2, column 11" "$SMALLOC" machine show refused-end.json
# A file whose name might be a preset's.
cp taken-plain.json bare
cp refused-end.json broken
expect_status 0 "$SMALLOC" machine show bare
expect_match out '^mine: reach 300 pages'
expect_error 1 "broken\): it is not JSON: line 2, column 11" "$SMALLOC" machine show broken
# A preset and the file that the command writes of it are the same machine. Superpages compete with
# base pages for a second level that holds both. Columns of that many rows, a superpage each.
cat >columns.c <<'C'
#include <stdlib.h>
#define COLUMNS 262144L
#define SUM_OF(rows)                                                                               \
  double sum_##rows(void) {                                                                        \
    double *m = malloc(rows * COLUMNS * sizeof *m), sum = 0;                                       \
    for (long i = 0; i < rows * COLUMNS; i++)                                                      \
      m[i] = i;                                                                                    \
    for (long c = 0; c < COLUMNS; c++)                                                             \
      for (long r = 0; r < rows; r++)                                                              \
        sum += m[r * COLUMNS + c];                                                                 \
    free(m);                                                                                       \
    return sum;                                                                                    \
  }
SUM_OF(700) SUM_OF(1200) SUM_OF(1800) SUM_OF(2500)
C
decisions() { "$CLANG" -O2 -c -o columns.o -fplugin="$PLUGIN" -fplugin-arg-smalloc-machine="$1" -Rpass-analysis=smalloc -Rpass=smalloc columns.c; }
for preset in zen1 zen4 skylake golden-cove neoverse-n2 core2 apple-m1 power9 generic; do
  "$SMALLOC" machine show $preset --json >preset.json
  expect_status 0 decisions $preset
  grep -q 'pages of' err || fail "$preset: no decision"
  mv err first
  expect_status 0 decisions preset.json
  cmp first err || {
    diff first err
    fail "$preset: the plugin decides otherwise by the file that the command wrote of it"
  }
done
