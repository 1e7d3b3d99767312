// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// elf_sites.cpp validates records of the site table and skips invalid ones.
#include "runtime/cli/sites/elf_sites.h"

#include <algorithm>
#include <cstring>

#include <elf.h>
#include <fmt/format.h>

namespace smalloc::cli {
namespace {

// Longest valid record. A page of reasons fits easily, and a hostile length cannot hide the rest of
// the table.
constexpr uint32_t kMaxRecordBytes = 1u << 20;
constexpr uint64_t kRecordAlignment = 8;
// Most warnings, so that a damaged table does not bury its valid sites.
constexpr size_t kMaxWarnings = 8;

bool has_magic(ByteSpan bytes) {
  uint32_t magic = 0;
  if (bytes.size() < sizeof magic)
    return false;
  std::memcpy(&magic, bytes.data(), sizeof magic);
  return magic == SMALLOC_SITE_MAGIC;
}

uint16_t version_of(ByteSpan bytes) {
  uint16_t version = 0;
  if (bytes.size() >= 6)
    std::memcpy(&version, bytes.data() + 4, sizeof version);
  return version;
}

// Returns the length of a record of an unknown version: the one field that all versions share.
std::optional<uint32_t> length_of(ByteSpan bytes) {
  uint32_t length = 0;
  if (bytes.size() < 12)
    return std::nullopt;
  std::memcpy(&length, bytes.data() + 8, sizeof length);
  if (length < 16 || length > kMaxRecordBytes || length % kRecordAlignment || length > bytes.size())
    return std::nullopt;
  return length;
}

// Returns the length of the smalloc_keys block at the start of `bytes`; nothing if there is none.
std::optional<uint32_t> length_of_keys(ByteSpan bytes) {
  struct smalloc_keys head;
  if (bytes.size() < sizeof head)
    return std::nullopt;
  std::memcpy(&head, bytes.data(), sizeof head);
  if (head.magic != SMALLOC_KEYS_MAGIC || head.bytes < sizeof head || head.bytes > bytes.size() ||
      head.bytes % kRecordAlignment)
    return std::nullopt;
  return head.bytes;
}

class Reader {
public:
  explicit Reader(const ElfImage &image) : image_(image) {}

  // Reads a section: records in a row, with zero bytes between the contributions of different
  // units.
  void read_section(ByteSpan table, uint64_t file_offset, std::optional<uint64_t> address) {
    bool in_garbage = false; // one warning per run of unreadable bytes
    for (uint64_t o = 0; o < table.size();) {
      const ByteSpan rest = table.subspan(o);
      if (has_magic(rest)) {
        if (version_of(rest) != SMALLOC_ABI_VERSION) {
          if (auto length = length_of(rest)) {
            other_versions_++;
            other_version_ = version_of(rest);
            in_garbage = false;
            o += *length;
            continue;
          }
        }
        std::string why;
        if (auto site = parse_site(rest, why)) {
          const uint64_t step = site->record.record_bytes;
          add(std::move(*site), file_offset + o,
              address ? std::optional(*address + o) : std::nullopt);
          in_garbage = false;
          o += step;
          continue;
        }
        warn(file_offset + o, why);
        in_garbage = true;
      } else if (!in_garbage && !zero(rest)) {
        warn(file_offset + o, "bytes that are no record");
        in_garbage = true;
      }
      o += kRecordAlignment;
    }
  }

  // Appends the keys. The join skips invalid ones.
  void read_keys(ByteSpan bytes) {
    const size_t words = bytes.size() / sizeof(uint64_t), at = table_.keys.size();
    if (words == 0)
      return;
    table_.keys.resize(at + words);
    std::memcpy(table_.keys.data() + at, bytes.data(), words * sizeof(uint64_t));
  }

  // Scans a loaded segment of a file without section headers; accepts only complete, consistent
  // records.
  void scan_segment(ByteSpan bytes, const ElfSegment &segment) {
    uint64_t o = (kRecordAlignment - segment.address % kRecordAlignment) % kRecordAlignment;
    while (o < bytes.size()) {
      const ByteSpan rest = bytes.subspan(o);
      std::string why;
      if (has_magic(rest) && version_of(rest) == SMALLOC_ABI_VERSION)
        if (auto site = parse_site(rest, why)) {
          const uint64_t step = site->record.record_bytes;
          add(std::move(*site), segment.offset + o, segment.address + o);
          o += step;
          continue;
        }
      if (const auto length = length_of_keys(rest)) {
        read_keys(rest.first(*length));
        o += *length;
        continue;
      }
      o += kRecordAlignment;
    }
  }

  SiteTable take() {
    if (warning_count_ > kMaxWarnings)
      table_.warnings.push_back(fmt::format("{} more like these", warning_count_ - kMaxWarnings));
    if (other_versions_)
      table_.notes.push_back(fmt::format(
          "{} site{} of table version {} left out: this command reads version {}", other_versions_,
          other_versions_ == 1 ? "" : "s", other_version_, SMALLOC_ABI_VERSION));
    // Only clang's -fplugin adds line information by itself; variables have none unless compiled
    // with all of -g.
    const auto without_line = std::ranges::count_if(table_.sites, [](const Site &site) {
      return site.record.line == 0 && !(site.record.flags & SMALLOC_SITE_STATIC);
    });
    if (without_line > 0)
      table_.notes.push_back(fmt::format("{} site{} without a line: compile with -g1, or -g",
                                         without_line, without_line == 1 ? "" : "s"));
    return std::move(table_);
  }

  void warn(uint64_t offset, const std::string &why) {
    if (warning_count_++ < kMaxWarnings)
      table_.warnings.push_back(fmt::format("record at byte {:#x} skipped: {}", offset, why));
  }

private:
  static bool zero(ByteSpan bytes) {
    for (size_t i = 0; i < bytes.size() && i < kRecordAlignment; i++)
      if (bytes[i])
        return false;
    return true;
  }

  void add(Site site, uint64_t file_offset, std::optional<uint64_t> address) {
    site.file_offset = file_offset;
    if (address && site.record.cell_offset != 0)
      site.cell_word = read_cell(site, *address);
    table_.sites.push_back(std::move(site));
  }

  // Reads the site's cell. The cell must point back at the record; otherwise it is another
  // record's.
  std::optional<uint64_t> read_cell(const Site &site, uint64_t address) {
    struct smalloc_cell cell;
    const int64_t offset = site.record.cell_offset;
    const auto at = image_.file_offset(address + static_cast<uint64_t>(offset), sizeof cell);
    if (!at) {
      warn_cell(site, "its decision cell lies outside the file");
      return std::nullopt;
    }
    std::memcpy(&cell, image_.bytes.data() + *at, sizeof cell);
    if (cell.site_offset != -offset ||
        SMALLOC_WORD_DECISION(cell.word) > SMALLOC_DECISION_RUNTIME ||
        SMALLOC_WORD_DECIDED_BY(cell.word) > SMALLOC_BY_VALIDATION ||
        SMALLOC_WORD_PAGE_SHIFT(cell.word) > 40) {
      warn_cell(site, "its decision cell is damaged");
      return std::nullopt;
    }
    return cell.word;
  }

  void warn_cell(const Site &site, const char *why) {
    if (warning_count_++ < kMaxWarnings)
      table_.warnings.push_back(fmt::format(
          "record at byte {:#x}: {}; showing the compiler's decision", site.file_offset, why));
  }

  const ElfImage &image_;
  SiteTable table_;
  size_t warning_count_ = 0, other_versions_ = 0;
  unsigned other_version_ = 0;
};

} // namespace

unsigned Site::decision() const {
  return cell_word ? SMALLOC_WORD_DECISION(*cell_word) : record.decision;
}

// A word of 0 means "the program's malloc" and nothing else; then the record has the decider.
unsigned Site::decided_by() const {
  return cell_word && *cell_word ? SMALLOC_WORD_DECIDED_BY(*cell_word) : record.decided_by;
}

unsigned Site::page_shift() const {
  if (decision() == SMALLOC_DECISION_BASE)
    return record.base_page_shift;
  const unsigned shift = cell_word && *cell_word ? SMALLOC_WORD_PAGE_SHIFT(*cell_word) : 0;
  return shift ? shift : record.page_shift;
}

// Reads a record's fixed part and checks it, before its strings are read. A file can hold a claim
// of a megabyte in every few bytes. False: the part makes no sense; `why` says what.
static bool parse_fixed_part(ByteSpan bytes, struct smalloc_site &r, std::string &why) {
  if (bytes.size() < SMALLOC_SITE_LEAST_BYTES) {
    why = fmt::format("{} bytes left, a record has {}", bytes.size(), SMALLOC_SITE_LEAST_BYTES);
    return false;
  }
  r = {};
  std::memcpy(&r, bytes.data(), SMALLOC_SITE_LEAST_BYTES);
  if (r.magic != SMALLOC_SITE_MAGIC || r.version != SMALLOC_ABI_VERSION)
    why = fmt::format("version {} is not {}", r.version, SMALLOC_ABI_VERSION);
  else if (r.fixed_bytes < SMALLOC_SITE_LEAST_BYTES || r.record_bytes < r.fixed_bytes ||
           r.record_bytes > kMaxRecordBytes || r.record_bytes % kRecordAlignment)
    why = fmt::format("lengths {} and {} contradict each other", r.fixed_bytes, r.record_bytes);
  else if (r.record_bytes > bytes.size())
    why = fmt::format("it claims {} bytes and the table has {} left", r.record_bytes, bytes.size());
  else {
    std::memcpy(&r, bytes.data(), std::min<size_t>(r.fixed_bytes, sizeof r));
    if (r.pattern <= SMALLOC_PATTERN_POINTER_CHASING && r.decision <= SMALLOC_DECISION_RUNTIME &&
        r.decided_by <= SMALLOC_BY_VALIDATION && r.model <= SMALLOC_MODEL_PAPER &&
        r.page_shift <= 40 && r.base_page_shift <= 40 && r.confidence <= 100 &&
        r.machine_source <= SMALLOC_MACHINE_FILE)
      return true;
    why = "a field has a value that no version knows";
  }
  return false;
}

std::optional<Site> parse_site(ByteSpan bytes, std::string &why) {
  Site site;
  struct smalloc_site &r = site.record;
  if (!parse_fixed_part(bytes, r, why))
    return std::nullopt;
  const ByteSpan whole = bytes.first(r.record_bytes);
  const struct {
    const char *name;
    uint32_t offset;
    std::string &text;
  } strings[] = {
      {"function", r.function, site.function},
      {"file", r.file, site.file},
      {"array", r.array, site.array},
      {"callee", r.callee, site.callee},
      {"spread_expr", r.spread_expr, site.spread_expr},
      {"why", r.why, site.why},
      {"context", r.context, site.context},
      {"machine", r.machine, site.machine},
  };
  // The strings are at the end of a record. If the record's last byte ends a string, all strings
  // end inside. Then the record is valid and the reader continues behind it, so no byte is read
  // more often than there are strings.
  uint32_t last = 0;
  for (const auto &s : strings) {
    last = std::max(last, s.offset);
    if (s.offset != 0 && (s.offset < r.fixed_bytes || s.offset >= r.record_bytes)) {
      why = fmt::format("its string '{}' at {} does not lie inside the record", s.name, s.offset);
      return std::nullopt;
    }
  }
  for (const auto &s : strings)
    if (s.offset != 0 && s.offset == last && whole.back() != 0) {
      why = fmt::format("its string '{}' at {} does not lie inside the record", s.name, s.offset);
      return std::nullopt;
    }
  for (const auto &s : strings)
    if (s.offset != 0)
      s.text.assign(string_at(whole, s.offset).value_or(std::string_view{}));
  return site;
}

SiteTable read_sites(const ElfImage &image) {
  Reader reader(image);
  bool found = false, debug_only = false, scanned = false;
  // Read no more bytes than the file has. Otherwise thousands of headers that name the same bytes
  // would cost thousands of readings and yield thousands of tables.
  uint64_t unread = image.bytes.size();
  const auto read_once = [&unread](ByteSpan bytes) {
    if (bytes.size() > unread)
      return false;
    unread -= bytes.size();
    return true;
  };
  for (const ElfSection &s : image.sections) {
    if (s.name == SMALLOC_KEYS_SECTION && s.type != SHT_NOBITS && read_once(image.contents(s)))
      reader.read_keys(image.contents(s));
    if (s.name != SMALLOC_SITES_SECTION || s.size == 0)
      continue;
    if (s.type == SHT_NOBITS) {
      debug_only = true;
      continue;
    }
    found = true;
    if (image.contents(s).empty())
      reader.warn(s.offset, fmt::format("its {} bytes lie outside the file", s.size));
    if (!read_once(image.contents(s))) {
      reader.warn(s.offset, "sections of that name overlap");
      continue;
    }
    reader.read_section(image.contents(s), s.offset,
                        image.relocatable() ? std::nullopt : std::optional(s.address));
  }
  if (image.sections.empty()) {
    scanned = true;
    for (const ElfSegment &s : image.segments)
      if (s.type == PT_LOAD && read_once(image.contents(s)))
        reader.scan_segment(image.contents(s), s);
  }
  SiteTable table = reader.take();
  table.table_found = found || !table.sites.empty();
  table.debug_only = debug_only && !found;
  if (scanned && table.table_found)
    table.notes.insert(table.notes.begin(),
                       "no section headers: the table was found by scanning the loaded segments");
  return table;
}

} // namespace smalloc::cli
