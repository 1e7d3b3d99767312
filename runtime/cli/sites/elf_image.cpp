// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// elf_image.cpp checks an ELF file and follows its headers without leaving the file.
#include "runtime/cli/sites/elf_image.h"

#include "runtime/errors/diagnostics.h"

#include <cstring>

#include <elf.h>
#include <fmt/format.h>

namespace smalloc::cli {
namespace {

/// True for the processors that libsmalloc is built for. The tables of sites are the same on both
/// of them, so that a cross-compiled program can be read as well.
constexpr bool is_read(uint16_t machine) { return machine == EM_X86_64 || machine == EM_AARCH64; }

// Most headers in a table; no linker writes more. It limits the work that a hostile file can cause.
constexpr uint64_t kMaxHeaders = 1u << 20;

bool inside(uint64_t offset, uint64_t size, uint64_t total) {
  return offset <= total && size <= total - offset;
}

template <typename T> bool read_at(ByteSpan bytes, uint64_t offset, T &out) {
  if (!inside(offset, sizeof(T), bytes.size()))
    return false;
  std::memcpy(&out, bytes.data() + offset, sizeof(T));
  return true;
}

const char *machine_name(uint16_t machine) {
  switch (machine) {
  case EM_386:
    return "i386";
  case EM_X86_64:
    return "x86-64";
  case EM_AARCH64:
    return "AArch64";
  case EM_ARM:
    return "32-bit Arm";
  case EM_RISCV:
    return "RISC-V";
  case EM_PPC64:
    return "POWER";
  case EM_S390:
    return "s390";
  default:
    return "another processor";
  }
}

[[noreturn]] void reject(const std::string &file, std::string why, std::string hint) {
  throw Failure{"cannot read the program", file, std::move(why), std::move(hint), kFailed};
}

[[noreturn]] void reject_damaged(const std::string &file, std::string why) {
  reject(file, std::move(why), "link or copy it again");
}

// Throws Failure that names the format of a file that is not ELF; "bad magic" would not help the
// user.
[[noreturn]] void reject_other_format(ByteSpan bytes, const std::string &file) {
  auto starts = [&](std::string_view magic) {
    return bytes.size() >= magic.size() &&
           std::memcmp(bytes.data(), magic.data(), magic.size()) == 0;
  };
  if (bytes.empty())
    reject(file, "the file is empty", "link or copy it again");
  if (starts("#!"))
    reject(file, "it is a script, not an ELF file", "name the program that the script starts");
  if (starts("!<arch>\n") || starts("!<thin>\n"))
    reject(file, "it is an archive, not one ELF file",
           fmt::format("ar x {}, then name one of its objects, or name the linked program", file));
  if (starts("BC\xC0\xDE"))
    reject(file, "it is LLVM bitcode: sites are written when code is generated",
           "name the program that was linked from it");
  if (starts("MZ") || starts("\xCF\xFA\xED\xFE"))
    reject(file, "it is a program of another operating system, not an ELF file",
           "name one that was built for Linux");
  reject(file, "it is not an ELF file", "name a program, a shared library or an object file");
}

void read_sections(ElfImage &image, const Elf64_Ehdr &header, const std::string &file) {
  if (header.e_shoff == 0)
    return;
  const uint64_t total = image.bytes.size();
  if (header.e_shentsize != sizeof(Elf64_Shdr))
    reject_damaged(file, fmt::format("damaged: section headers of {} bytes instead of {}",
                                     header.e_shentsize, sizeof(Elf64_Shdr)));
  Elf64_Shdr first;
  if (!read_at(image.bytes, header.e_shoff, first))
    reject_damaged(file,
                   fmt::format("truncated: its section headers are at byte {}, its end at byte {}",
                               header.e_shoff, total));
  // More than 65,279 sections (one per function, say) do not fit the header; the first section then
  // has the numbers.
  const uint64_t count = header.e_shnum ? header.e_shnum : first.sh_size;
  const uint64_t names = header.e_shstrndx == SHN_XINDEX ? first.sh_link : header.e_shstrndx;
  if (count > kMaxHeaders || !inside(header.e_shoff, count * sizeof(Elf64_Shdr), total))
    reject_damaged(
        file,
        fmt::format("truncated: its {} section headers from byte {} on do not fit into {} bytes",
                    count, header.e_shoff, total));
  Elf64_Shdr name_header{};
  ByteSpan name_bytes;
  if (names != SHN_UNDEF && names < count) {
    read_at(image.bytes, header.e_shoff + names * sizeof(Elf64_Shdr), name_header);
    if (name_header.sh_type != SHT_NOBITS &&
        inside(name_header.sh_offset, name_header.sh_size, total))
      name_bytes = image.bytes.subspan(name_header.sh_offset, name_header.sh_size);
  }
  image.sections.reserve(count);
  for (uint64_t i = 0; i < count; i++) {
    Elf64_Shdr s;
    read_at(image.bytes, header.e_shoff + i * sizeof s, s);
    image.sections.push_back({string_at(name_bytes, s.sh_name).value_or(std::string_view{}),
                              s.sh_type, s.sh_flags, s.sh_addr, s.sh_offset, s.sh_size, s.sh_link});
  }
}

void read_segments(ElfImage &image, const Elf64_Ehdr &header, const std::string &file) {
  if (header.e_phoff == 0 || header.e_phnum == 0)
    return;
  const uint64_t total = image.bytes.size();
  if (header.e_phentsize != sizeof(Elf64_Phdr))
    reject_damaged(file, fmt::format("damaged: program headers of {} bytes instead of {}",
                                     header.e_phentsize, sizeof(Elf64_Phdr)));
  if (!inside(header.e_phoff, uint64_t{header.e_phnum} * sizeof(Elf64_Phdr), total))
    reject_damaged(file,
                   fmt::format("truncated: its program headers are at byte {}, its end at byte {}",
                               header.e_phoff, total));
  for (uint64_t i = 0; i < header.e_phnum; i++) {
    Elf64_Phdr p;
    read_at(image.bytes, header.e_phoff + i * sizeof p, p);
    // --only-keep-debug keeps segments without bytes, but makes them empty (PT_NULL or file size
    // 0). So a loaded segment beyond the end always means a truncated file.
    if (p.p_type == PT_LOAD && !inside(p.p_offset, p.p_filesz, total))
      reject_damaged(
          file,
          fmt::format("truncated: it should have {} bytes or more and has {}",
                      p.p_filesz <= UINT64_MAX - p.p_offset ? p.p_offset + p.p_filesz : UINT64_MAX,
                      total));
    image.segments.push_back({p.p_type, p.p_offset, p.p_vaddr, p.p_filesz});
  }
}

} // namespace

std::optional<std::string_view> string_at(ByteSpan bytes, uint64_t offset) {
  if (offset >= bytes.size())
    return std::nullopt;
  const auto *start = reinterpret_cast<const char *>(bytes.data()) + offset;
  const void *end = std::memchr(start, 0, bytes.size() - offset);
  if (!end)
    return std::nullopt;
  return std::string_view(start, static_cast<const char *>(end) - start);
}

bool looks_like_elf(ByteSpan bytes) {
  return bytes.size() >= SELFMAG && std::memcmp(bytes.data(), ELFMAG, SELFMAG) == 0;
}

ElfImage parse_elf(ByteSpan bytes, const std::string &file) {
  if (!looks_like_elf(bytes))
    reject_other_format(bytes, file);
  if (bytes.size() < EI_NIDENT)
    reject_damaged(file, "truncated: it ends inside the ELF header");
  if (bytes[EI_CLASS] != ELFCLASS64)
    reject(file, "it is a 32-bit ELF file; smalloc supports 64-bit programs",
           "build it without -m32");
  if (bytes[EI_DATA] != ELFDATA2LSB)
    reject(file, "it is a big-endian ELF file; smalloc supports little-endian programs",
           "build it for a little-endian processor");
  Elf64_Ehdr header;
  if (!read_at(bytes, 0, header))
    reject_damaged(file, "truncated: it ends inside the ELF header");
  if (!is_read(header.e_machine))
    reject(file,
           fmt::format("it is built for {} (ELF machine {}), and smalloc reads x86-64 and AArch64",
                       machine_name(header.e_machine), header.e_machine),
           "build it for one of these processors");
  if (header.e_type == ET_CORE)
    reject(file, "it is a core dump", "name the program that dumped it");
  ElfImage image;
  image.bytes = bytes;
  image.type = header.e_type;
  image.machine = header.e_machine;
  read_sections(image, header, file);
  read_segments(image, header, file);
  return image;
}

ByteSpan ElfImage::contents(const ElfSection &section) const {
  if (section.type == SHT_NOBITS || !inside(section.offset, section.size, bytes.size()))
    return {};
  return bytes.subspan(section.offset, section.size);
}

ByteSpan ElfImage::contents(const ElfSegment &segment) const {
  if (!inside(segment.offset, segment.file_bytes, bytes.size()))
    return {};
  return bytes.subspan(segment.offset, segment.file_bytes);
}

std::optional<uint64_t> ElfImage::file_offset(uint64_t address, uint64_t size) const {
  for (const ElfSegment &s : segments)
    if (s.type == PT_LOAD && address >= s.address &&
        inside(address - s.address, size, s.file_bytes))
      return s.offset + (address - s.address);
  return std::nullopt;
}

bool ElfImage::relocatable() const { return type == ET_REL; }

std::string ElfImage::interpreter() const {
  for (const ElfSegment &s : segments)
    if (s.type == PT_INTERP)
      return std::string(string_at(contents(s), 0).value_or(std::string_view{}));
  return {};
}

bool ElfImage::has_dynamic_table() const {
  for (const ElfSegment &s : segments)
    if (s.type == PT_DYNAMIC)
      return true;
  return false;
}

std::vector<std::string> ElfImage::needed_libraries() const {
  std::vector<uint64_t> names;
  uint64_t table_address = 0, table_bytes = 0;
  for (const ElfSegment &s : segments) {
    if (s.type != PT_DYNAMIC)
      continue;
    ByteSpan dynamic = contents(s);
    Elf64_Dyn entry;
    for (uint64_t o = 0; read_at(dynamic, o, entry) && entry.d_tag != DT_NULL; o += sizeof entry) {
      if (entry.d_tag == DT_NEEDED)
        names.push_back(entry.d_un.d_val);
      else if (entry.d_tag == DT_STRTAB)
        table_address = entry.d_un.d_ptr;
      else if (entry.d_tag == DT_STRSZ)
        table_bytes = entry.d_un.d_val;
    }
  }
  std::vector<std::string> libraries;
  const auto offset = file_offset(table_address, table_bytes);
  if (!offset)
    return libraries;
  const ByteSpan table = bytes.subspan(*offset, table_bytes);
  for (uint64_t name : names)
    if (auto text = string_at(table, name))
      libraries.emplace_back(*text);
  return libraries;
}

namespace {

std::optional<std::string> build_id_in(ByteSpan notes) {
  Elf64_Nhdr note;
  uint64_t o = 0;
  while (read_at(notes, o, note)) {
    const uint64_t name = o + sizeof note;
    const uint64_t description = name + ((uint64_t{note.n_namesz} + 3) & ~uint64_t{3});
    if (!inside(description, note.n_descsz, notes.size()))
      return std::nullopt;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
        std::memcmp(notes.data() + name, ELF_NOTE_GNU, 4) == 0) {
      std::string digits;
      for (unsigned char byte : notes.subspan(description, note.n_descsz))
        digits += fmt::format("{:02x}", byte);
      return digits;
    }
    o = description + ((uint64_t{note.n_descsz} + 3) & ~uint64_t{3});
  }
  return std::nullopt;
}

} // namespace

std::string ElfImage::build_id() const {
  for (const ElfSegment &s : segments)
    if (s.type == PT_NOTE)
      if (auto id = build_id_in(contents(s)))
        return *id;
  for (const ElfSection &s : sections)
    if (s.type == SHT_NOTE)
      if (auto id = build_id_in(contents(s)))
        return *id;
  return {};
}

std::vector<DynamicSymbol> ElfImage::dynamic_symbols(std::string_view prefix) const {
  std::vector<DynamicSymbol> found;
  for (const ElfSection &s : sections) {
    if (s.type != SHT_DYNSYM || s.link >= sections.size())
      continue;
    const ByteSpan symbols = contents(s), names = contents(sections[s.link]);
    Elf64_Sym symbol;
    for (uint64_t o = 0; read_at(symbols, o, symbol); o += sizeof symbol) {
      auto name = string_at(names, symbol.st_name);
      if (name && name->substr(0, prefix.size()) == prefix)
        found.push_back(
            {*name, symbol.st_shndx != SHN_UNDEF, ELF64_ST_BIND(symbol.st_info) == STB_WEAK});
    }
  }
  return found;
}

} // namespace smalloc::cli
