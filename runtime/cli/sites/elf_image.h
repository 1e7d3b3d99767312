// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// elf_image.h parses ELF files: 64-bit, with this machine's byte order, and with headers inside the
// file. The bytes may be hostile: each offset is checked before it is followed, sums cannot wrap,
// and names end inside their table.
//
// It uses plain <elf.h> instead of libelf, because it needs only two header structures. So the
// reader is a pure function of bytes, which a fuzzer can drive.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace smalloc::cli {

using ByteSpan = std::span<const unsigned char>;

struct ElfSection {
  std::string_view name; // points into the image
  uint32_t type = 0;
  uint64_t flags = 0;
  uint64_t address = 0;
  uint64_t offset = 0;
  uint64_t size = 0;
  uint32_t link = 0;
};

struct ElfSegment {
  uint32_t type = 0;
  uint64_t offset = 0;
  uint64_t address = 0;
  uint64_t file_bytes = 0;
};

struct DynamicSymbol {
  std::string_view name;
  bool defined = false;
  bool weak = false;
};

// A parsed view of the bytes; the caller owns them.
struct ElfImage {
  ByteSpan bytes;
  uint16_t type = 0;
  uint16_t machine = 0;
  std::vector<ElfSection> sections; // empty: the file has no section headers
  std::vector<ElfSegment> segments;

  // Returns the section's bytes in the file; empty for a section without contents (SHT_NOBITS).
  ByteSpan contents(const ElfSection &section) const;
  ByteSpan contents(const ElfSegment &segment) const;
  // Returns the offset in the file of the `size` bytes that are loaded at `address`.
  std::optional<uint64_t> file_offset(uint64_t address, uint64_t size) const;

  bool relocatable() const;
  // Returns the name in PT_INTERP; empty for a static program, a shared library or an object file.
  std::string interpreter() const;
  bool has_dynamic_table() const;
  // Returns DT_NEEDED in the file's order, in which the loader searches for symbols.
  std::vector<std::string> needed_libraries() const;
  // Returns lower-case hexadecimal digits; empty if the linker wrote no build-id.
  std::string build_id() const;
  // Returns the dynamic symbols whose names start with `prefix`. Precondition: section headers.
  std::vector<DynamicSymbol> dynamic_symbols(std::string_view prefix) const;
};

// Parses an ELF file. Throws Failure("cannot read ...", file, why) unless it is a whole 64-bit ELF
// file for x86-64 or aarch64.
ElfImage parse_elf(ByteSpan bytes, const std::string &file);

// True if the bytes start like ELF; the rest is not checked.
bool looks_like_elf(ByteSpan bytes);

// Returns the NUL-terminated string at `offset`, or nothing if it does not end inside `bytes`.
std::optional<std::string_view> string_at(ByteSpan bytes, uint64_t offset);

} // namespace smalloc::cli
