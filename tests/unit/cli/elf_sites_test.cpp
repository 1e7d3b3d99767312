// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// elf_sites_test.cpp tests which site tables the reader accepts, skips and survives. It builds
// tables and whole ELF files byte by byte, and also damages each of them.
#include "runtime/cli/sites/elf_sites.h"
#include "runtime/errors/diagnostics.h"

#include <cstring>

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace smalloc::cli {
namespace {

using Bytes = std::vector<unsigned char>;

struct smalloc_site plain_record() {
  struct smalloc_site r;
  std::memset(&r, 0, sizeof r);
  r.magic = SMALLOC_SITE_MAGIC;
  r.version = SMALLOC_ABI_VERSION;
  r.fixed_bytes = sizeof r;
  r.id = 0x0123456789abcdef;
  r.line = 1;
  r.size_bytes = r.spread_pages = r.first_touch_faults_saved = r.min_bytes = SMALLOC_UNKNOWN;
  r.page_shift = 21;
  r.base_page_shift = 12;
  return r;
}

// Returns the record followed by its function and its reason.
Bytes record_bytes(struct smalloc_site r, const std::string &function = "main",
                   const std::string &why = "because") {
  r.function = sizeof r;
  r.why = r.function + static_cast<uint32_t>(function.size()) + 1;
  r.record_bytes = (r.why + static_cast<uint32_t>(why.size()) + 1 + 7) & ~7u;
  Bytes bytes(r.record_bytes);
  std::memcpy(bytes.data(), &r, sizeof r);
  std::memcpy(bytes.data() + r.function, function.data(), function.size());
  std::memcpy(bytes.data() + r.why, why.data(), why.size());
  return bytes;
}

template <typename T> void put(Bytes &bytes, size_t offset, const T &value) {
  ASSERT_LE(offset + sizeof value, bytes.size());
  std::memcpy(bytes.data() + offset, &value, sizeof value);
}

void append(Bytes &bytes, const Bytes &more) {
  bytes.insert(bytes.end(), more.begin(), more.end());
}

constexpr uint64_t kTableOffset = 0x100, kAddress = 0x400000;

// Returns a file with one loaded segment, which is the whole file, the table at kTableOffset, and
// optional section headers.
Bytes elf_file(const Bytes &table, bool sections = true, uint16_t type = ET_EXEC) {
  const char names[] = "\0smalloc_sites\0.shstrtab";
  const size_t names_at = kTableOffset + table.size(),
               headers_at = (names_at + sizeof names + 7) & ~size_t{7};
  Bytes file(sections ? headers_at + 3 * sizeof(Elf64_Shdr) : headers_at);
  Elf64_Ehdr e{};
  std::memcpy(e.e_ident, ELFMAG, SELFMAG);
  e.e_ident[EI_CLASS] = ELFCLASS64;
  e.e_ident[EI_DATA] = ELFDATA2LSB;
  e.e_type = type;
#if defined(__x86_64__)
  e.e_machine = EM_X86_64;
#else
  e.e_machine = EM_AARCH64;
#endif
  e.e_phoff = sizeof e;
  e.e_phentsize = sizeof(Elf64_Phdr);
  e.e_phnum = 1;
  if (sections) {
    e.e_shoff = headers_at;
    e.e_shentsize = sizeof(Elf64_Shdr);
    e.e_shnum = 3;
    e.e_shstrndx = 2;
    Elf64_Shdr sites{}, strings{};
    sites.sh_name = 1;
    sites.sh_type = SHT_PROGBITS;
    sites.sh_addr = kAddress + kTableOffset;
    sites.sh_offset = kTableOffset;
    sites.sh_size = table.size();
    strings.sh_name = 15;
    strings.sh_type = SHT_STRTAB;
    strings.sh_offset = names_at;
    strings.sh_size = sizeof names;
    put(file, headers_at + sizeof sites, sites);
    put(file, headers_at + 2 * sizeof sites, strings);
  }
  Elf64_Phdr p{};
  p.p_type = PT_LOAD;
  p.p_vaddr = kAddress;
  p.p_filesz = p.p_memsz = headers_at;
  put(file, 0, e);
  put(file, sizeof e, p);
  std::memcpy(file.data() + kTableOffset, table.data(), table.size());
  std::memcpy(file.data() + names_at, names, sizeof names);
  return file;
}

SiteTable read(const Bytes &file) { return read_sites(parse_elf(file, "test")); }

TEST(ParseSite, TakesWholeRecord) {
  std::string why;
  const auto site = parse_site(record_bytes(plain_record()), why);
  ASSERT_TRUE(site) << why;
  EXPECT_EQ(site->function, "main");
  EXPECT_EQ(site->why, "because");
  EXPECT_EQ(site->callee, "");
  EXPECT_EQ(site->record.id, 0x0123456789abcdefu);
}

TEST(ParseSite, RejectsEveryCutRecord) {
  const Bytes whole = record_bytes(plain_record());
  for (size_t length = 0; length < whole.size(); length++) {
    const Bytes cut(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(length));
    std::string why;
    EXPECT_FALSE(parse_site(cut, why)) << length;
    EXPECT_NE(why, "");
  }
}

TEST(ParseSite, RejectsStringsOutsideTheRecord) {
  for (uint32_t offset : {1u, uint32_t{sizeof(struct smalloc_site)} - 1, 1u << 20, UINT32_MAX}) {
    Bytes bytes = record_bytes(plain_record());
    put(bytes, offsetof(struct smalloc_site, callee), offset);
    std::string why;
    EXPECT_FALSE(parse_site(bytes, why)) << offset;
    EXPECT_THAT(why, testing::HasSubstr("'callee'"));
  }
}

TEST(ParseSite, RejectsAStringThatRunsIntoTheNextRecord) {
  Bytes bytes = record_bytes(plain_record(), "main", "1234567");
  struct smalloc_site r;
  std::memcpy(&r, bytes.data(), sizeof r);
  for (size_t i = r.why; i < bytes.size(); i++)
    bytes[i] = 'x';
  append(bytes, record_bytes(plain_record())); // has a NUL, but not inside the first record
  std::string why;
  EXPECT_FALSE(parse_site(bytes, why));
  EXPECT_THAT(why, testing::HasSubstr("'why'"));
}

TEST(ParseSite, RejectsContradictoryLengthsAndUnknownEnumerations) {
  std::string why;
  for (uint32_t length : {0u, 8u, 119u, 125u, 1u << 30, UINT32_MAX}) {
    Bytes bytes = record_bytes(plain_record());
    put(bytes, offsetof(struct smalloc_site, record_bytes), length);
    EXPECT_FALSE(parse_site(bytes, why)) << length;
  }
  for (size_t field :
       {offsetof(struct smalloc_site, pattern), offsetof(struct smalloc_site, decision),
        offsetof(struct smalloc_site, decided_by), offsetof(struct smalloc_site, model),
        offsetof(struct smalloc_site, page_shift), offsetof(struct smalloc_site, confidence)}) {
    Bytes bytes = record_bytes(plain_record());
    bytes[field] = 0xff;
    EXPECT_FALSE(parse_site(bytes, why)) << field;
  }
}

TEST(ReadSites, GoesOnAfterADamagedRecord) {
  Bytes table = record_bytes(plain_record(), "first");
  Bytes bad = record_bytes(plain_record(), "second");
  put(bad, offsetof(struct smalloc_site, why), UINT32_MAX);
  const size_t bad_at = kTableOffset + table.size();
  append(table, bad);
  append(table, record_bytes(plain_record(), "third"));
  const SiteTable result = read(elf_file(table));
  ASSERT_EQ(result.sites.size(), 2u);
  EXPECT_EQ(result.sites[0].function, "first");
  EXPECT_EQ(result.sites[1].function, "third");
  ASSERT_EQ(result.warnings.size(), 1u);
  char offset[32];
  std::snprintf(offset, sizeof offset, "%#zx", bad_at);
  EXPECT_THAT(result.warnings[0], testing::HasSubstr(offset));
}

TEST(ReadSites, ZeroesBetweenUnitsAreNoDamage) {
  Bytes table = record_bytes(plain_record(), "first");
  append(table, Bytes(24));
  append(table, record_bytes(plain_record(), "second"));
  const SiteTable result = read(elf_file(table));
  EXPECT_EQ(result.sites.size(), 2u);
  EXPECT_THAT(result.warnings, testing::IsEmpty());
}

TEST(ReadSites, LeavesOutOtherVersionsByTheirLength) {
  auto newer = plain_record();
  newer.version = 7;
  Bytes table = record_bytes(newer);
  append(table, record_bytes(plain_record(), "ours"));
  const SiteTable result = read(elf_file(table));
  ASSERT_EQ(result.sites.size(), 1u);
  EXPECT_EQ(result.sites[0].function, "ours");
  EXPECT_THAT(result.warnings, testing::IsEmpty());
  EXPECT_THAT(result.notes, testing::ElementsAre(testing::HasSubstr("version 7")));
}

TEST(ReadSites, SaysWhatGivesLines) {
  struct smalloc_site lineless = plain_record(), variable = plain_record();
  lineless.line = variable.line = 0;
  variable.flags = SMALLOC_SITE_STATIC;
  Bytes table = record_bytes(lineless);
  append(table, record_bytes(variable));
  append(table, record_bytes(plain_record()));
  EXPECT_THAT(read(elf_file(table)).notes,
              testing::ElementsAre(testing::HasSubstr("1 site without a line: compile with -g1")));
}

TEST(ReadSites, ScansFilesWithoutSectionHeaders) {
  Bytes table(40, 0x90);
  append(table, record_bytes(plain_record()));
  const SiteTable result = read(elf_file(table, false));
  ASSERT_EQ(result.sites.size(), 1u);
  EXPECT_EQ(result.sites[0].file_offset, kTableOffset + 40);
  EXPECT_THAT(result.notes, testing::ElementsAre(testing::HasSubstr("no section headers")));
}

TEST(ReadSites, HeadersOfTheSameBytesDoNotMultiplyThem) {
  Bytes file = elf_file(record_bytes(plain_record()));
  Elf64_Ehdr e;
  std::memcpy(&e, file.data(), sizeof e);
  const auto sites = file.begin() + static_cast<ptrdiff_t>(e.e_shoff + sizeof(Elf64_Shdr));
  const Bytes header(sites, sites + sizeof(Elf64_Shdr));
  for (int i = 0; i < 1000; i++)
    append(file, header);
  e.e_shnum += 1000;
  put(file, 0, e);
  const SiteTable table = read(file);
  EXPECT_GE(table.sites.size(), 1u);
  EXPECT_LE(table.sites.size(), file.size() / sizeof(struct smalloc_site));
  ASSERT_FALSE(table.warnings.empty());
  EXPECT_THAT(table.warnings[0], testing::HasSubstr("overlap"));
}

TEST(ReadSites, NoTableIsNotFound) {
  const SiteTable result = read(elf_file(Bytes(64, 0x90), false));
  EXPECT_FALSE(result.table_found);
  EXPECT_THAT(result.sites, testing::IsEmpty());
}

Bytes table_with_cell(uint64_t word, int64_t back) {
  auto r = plain_record();
  const size_t length = record_bytes(r).size();
  r.cell_offset = static_cast<int32_t>(length);
  r.flags = SMALLOC_SITE_REWRITTEN;
  Bytes table = record_bytes(r);
  const struct smalloc_cell cell = {word, back, 0};
  Bytes cell_bytes(sizeof cell);
  std::memcpy(cell_bytes.data(), &cell, sizeof cell);
  // Here the cell is behind the table, as data that is no record; the reader warns of it.
  append(table, cell_bytes);
  return table;
}

TEST(ReadSites, TheCellHasTodaysDecision) {
  const int64_t length = static_cast<int64_t>(record_bytes(plain_record()).size());
  const uint64_t word = SMALLOC_WORD(SMALLOC_DECISION_SUPERPAGE, 1, 30, SMALLOC_BY_DIRECTIVE, 0);
  const SiteTable result = read(elf_file(table_with_cell(word, -length)));
  ASSERT_EQ(result.sites.size(), 1u);
  EXPECT_EQ(result.sites[0].decision(), unsigned{SMALLOC_DECISION_SUPERPAGE});
  EXPECT_EQ(result.sites[0].decided_by(), unsigned{SMALLOC_BY_DIRECTIVE});
  EXPECT_EQ(result.sites[0].page_shift(), 30u);
}

TEST(ReadSites, ACellThatDoesNotPointBackIsNotBelieved) {
  const uint64_t word = SMALLOC_WORD(SMALLOC_DECISION_SUPERPAGE, 1, 21, SMALLOC_BY_COMPILER, 0);
  const SiteTable result = read(elf_file(table_with_cell(word, 0)));
  ASSERT_EQ(result.sites.size(), 1u);
  EXPECT_FALSE(result.sites[0].cell_word);
  EXPECT_EQ(result.sites[0].decision(), unsigned{SMALLOC_DECISION_BASE});
}

TEST(ParseElf, RejectsWhatIsNotAProgramOfThisMachine) {
  const auto why = [](const Bytes &bytes) -> std::string {
    try {
      parse_elf(bytes, "test");
    } catch (const Failure &failure) {
      EXPECT_EQ(failure.status, kFailed);
      return failure.why;
    }
    return "accepted";
  };
  EXPECT_EQ(why({}), "the file is empty");
  const std::string script = "#!/bin/sh\n", archive = "!<arch>\n";
  EXPECT_THAT(why(Bytes(script.begin(), script.end())), testing::HasSubstr("script"));
  EXPECT_THAT(why(Bytes(archive.begin(), archive.end())), testing::HasSubstr("archive"));
  Bytes file = elf_file(record_bytes(plain_record()));
  file[EI_CLASS] = ELFCLASS32;
  EXPECT_THAT(why(file), testing::HasSubstr("32-bit"));
  file[EI_CLASS] = ELFCLASS64;
  file[EI_DATA] = ELFDATA2MSB;
  EXPECT_THAT(why(file), testing::HasSubstr("big-endian"));
  file[EI_DATA] = ELFDATA2LSB;
  put(file, offsetof(Elf64_Ehdr, e_machine), uint16_t{EM_RISCV});
  EXPECT_THAT(why(file), testing::HasSubstr("RISC-V"));
}

TEST(ParseElf, ProgramsOfBothProcessorsAreRead) {
  Bytes file = elf_file(record_bytes(plain_record()));
  for (const uint16_t machine : {EM_X86_64, EM_AARCH64}) {
    put(file, offsetof(Elf64_Ehdr, e_machine), machine);
    EXPECT_EQ(parse_elf(file, "test").machine, machine);
  }
}

TEST(ParseElf, EveryCutFileIsATruncatedOne) {
  const Bytes whole = elf_file(record_bytes(plain_record()));
  for (size_t length = 0; length < whole.size(); length++) {
    const Bytes cut(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(length));
    EXPECT_THROW(parse_elf(cut, "test"), Failure) << length;
  }
}

// Changes each byte, a small version of fuzzing: no value in the headers may lead outside the file.
// Sanitizer builds make the test strong; in any build a crash fails it.
TEST(ParseElf, SurvivesEveryChangedByte) {
  const Bytes whole = elf_file(record_bytes(plain_record()));
  size_t read_well = 0;
  for (size_t i = 0; i < whole.size(); i++)
    for (unsigned char value : {0x00, 0x01, 0x7f, 0x80, 0xff}) {
      Bytes changed = whole;
      changed[i] = value;
      try {
        const ElfImage image = parse_elf(changed, "test");
        for (const Site &site : read_sites(image).sites)
          read_well += site.function.size() < changed.size();
        image.build_id();
        image.needed_libraries();
        image.dynamic_symbols("x");
      } catch (const Failure &) {
      }
    }
  EXPECT_GT(read_well, whole.size()); // most bytes do not matter
}

} // namespace
} // namespace smalloc::cli
