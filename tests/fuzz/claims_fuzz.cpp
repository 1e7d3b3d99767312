// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// claims_fuzz: reads any bytes as the programs' shared claims. The result is valid, holds this
// process' claim once, and a second exchange changes nothing.
#include "smalloc/agent/shared_claims.h"
#include "tests/fuzz/fuzz.h"

#include <cstring>

using namespace smalloc;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static ClaimTable table;
  std::memset(&table, 0xa5, sizeof table);
  const size_t bytes = size < sizeof table ? size : sizeof table;
  std::memcpy(&table, data, bytes);
  const auto alive = [](uint64_t pid, uint64_t start_ticks) {
    return (pid ^ start_ticks) % 3 != 0;
  };
  const Claim mine = {4711, 5, size % 7};
  bool any;
  const uint64_t others = exchange_claims(table, bytes, mine, alive, any);
  FUZZ_CHECK(std::memcmp(table.magic, kClaimsMagic, sizeof table.magic) == 0);
  uint64_t sum = 0;
  unsigned own = 0, claims = 0;
  for (const Claim &claim : table.claims) {
    claims += claim.pid != 0;
    if (claim.pid == mine.pid && claim.start_ticks == mine.start_ticks) {
      own++;
      FUZZ_CHECK(claim.superpages == mine.superpages);
    } else if (claim.pid) {
      FUZZ_CHECK(alive(claim.pid, claim.start_ticks) && claim.superpages != 0);
      sum += claim.superpages;
    }
  }
  FUZZ_CHECK(sum == others && any == (claims != 0));
  FUZZ_CHECK(own == (mine.superpages != 0 && claims > 0) || (own == 0 && claims == kMostClaims));
  ClaimTable again = table;
  FUZZ_CHECK(exchange_claims(again, sizeof again, mine, alive, any) == others);
  return 0;
}
