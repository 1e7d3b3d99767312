// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// elf_image.h decides what of an ELF file the command trusts: a 64-bit file of this machine's byte
// order, whose headers lie inside the file. Everything works on a span of bytes that may be
// hostile: each offset is checked before it is followed, sums cannot wrap, and names end inside
// their table.
//
// Plain <elf.h> rather than libelf: two structures of headers are all that is needed, and the
// reader stays a pure function of bytes that a fuzzer can drive.
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

// A parsed view; it does not own the bytes.
struct ElfImage {
  ByteSpan bytes;
  uint16_t type = 0;
  uint16_t machine = 0;
  std::vector<ElfSection> sections; // empty: the file has no section headers
  std::vector<ElfSegment> segments;

  // The bytes of a section in the file; empty for one without contents (SHT_NOBITS).
  ByteSpan contents(const ElfSection &section) const;
  ByteSpan contents(const ElfSegment &segment) const;
  // Where the file has the `size` bytes that are loaded at `address`.
  std::optional<uint64_t> file_offset(uint64_t address, uint64_t size) const;

  bool relocatable() const;
  // What PT_INTERP names; empty: a static program, a shared library, an object.
  std::string interpreter() const;
  bool has_dynamic_table() const;
  // DT_NEEDED in the order of the file: the order in which the loader looks symbols up.
  std::vector<std::string> needed_libraries() const;
  // Lower-case hexadecimal digits; empty: the linker wrote no build-id.
  std::string build_id() const;
  // Dynamic symbols whose name starts with `prefix`. Needs section headers.
  std::vector<DynamicSymbol> dynamic_symbols(std::string_view prefix) const;
};

// Throws Failure("cannot read ...", file, why) for anything but a whole 64-bit ELF file of this
// machine.
ElfImage parse_elf(ByteSpan bytes, const std::string &file);

// True for files that start like ELF, whatever follows.
bool looks_like_elf(ByteSpan bytes);

// The NUL-terminated string at `offset`; nothing when it does not end inside `bytes`.
std::optional<std::string_view> string_at(ByteSpan bytes, uint64_t offset);

} // namespace smalloc::cli
