// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// site_table_fuzz: reads any file as a program with a site table. The reader must stay inside the
// file, end, and accept no invalid record. The input is a whole file, and also one record.
#include "runtime/cli/sites/elf_sites.h"
#include "runtime/errors/diagnostics.h"
#include "tests/fuzz/fuzz.h"

using namespace smalloc::cli;

namespace {

constexpr size_t kMostWarnings = 9; // eight, and the line that counts the rest

void check_site(const Site &site, size_t bytes) {
  const struct smalloc_site &r = site.record;
  FUZZ_CHECK(r.magic == SMALLOC_SITE_MAGIC && r.version == SMALLOC_ABI_VERSION);
  FUZZ_CHECK(r.record_bytes <= bytes && site.file_offset <= bytes - r.record_bytes);
  FUZZ_CHECK(site.decision() <= SMALLOC_DECISION_RUNTIME);
  FUZZ_CHECK(site.decided_by() <= SMALLOC_BY_VALIDATION);
  FUZZ_CHECK(site.page_shift() <= 40);
  size_t text = 0;
  for (const std::string *s : {&site.function, &site.file, &site.callee, &site.spread_expr,
                               &site.why, &site.context, &site.machine}) {
    FUZZ_CHECK(s->find('\0') == std::string::npos);
    FUZZ_CHECK(s->size() < r.record_bytes);
    text += s->size();
  }
  FUZZ_CHECK(text < 7 * size_t{r.record_bytes});
}

void check_record(ByteSpan bytes) {
  std::string why;
  if (const auto site = parse_site(bytes, why))
    check_site(*site, bytes.size());
  else
    FUZZ_CHECK(!why.empty());
}

void check_file(ByteSpan bytes) {
  const ElfImage image = parse_elf(bytes, "input");
  const SiteTable table = read_sites(image);
  for (const Site &site : table.sites)
    check_site(site, bytes.size());
  FUZZ_CHECK(table.warnings.size() <= kMostWarnings);
  FUZZ_CHECK(table.table_found || table.sites.empty());
  FUZZ_CHECK(!(table.table_found && table.debug_only));
  // A byte of the file belongs to one record at most.
  FUZZ_CHECK(table.sites.size() <= bytes.size() / sizeof(struct smalloc_site));

  FUZZ_CHECK(image.interpreter().size() < bytes.size());
  FUZZ_CHECK(image.build_id().size() <= 2 * bytes.size());
  for (const std::string &library : image.needed_libraries())
    FUZZ_CHECK(library.size() < bytes.size());
  for (const DynamicSymbol &symbol : image.dynamic_symbols("m"))
    FUZZ_CHECK(symbol.name.substr(0, 1) == "m");
}

} // namespace

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const ByteSpan bytes(data, size);
  check_record(bytes);
  try {
    check_file(bytes);
  } catch (const Failure &failure) {
    FUZZ_CHECK(!failure.why.empty() && failure.status != kDone);
    for (char c : describe(failure))
      FUZZ_CHECK(c == '\n' || static_cast<unsigned char>(c) >= 0x20);
  }
  return 0;
}
