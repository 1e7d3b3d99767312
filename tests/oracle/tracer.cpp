// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// tracer.cpp: the reference for the oracle. -fsanitize-coverage=trace-loads,trace-stores reports
// every load and store of a program, which goes through exact models of TLBs:
//  - fully associative, least recently used, ORACLE_ENTRIES base pages;
//  - the same entries in sets of ORACLE_WAYS, the set being the page number modulo the number of
// sets;
//  - ORACLE_ENTRIES superpages.
// A miss is hidden if a stride prefetcher had predicted the page. The prefetcher is a table of
// instructions with last address and last stride (Chen and Baer 1995). It predicts the third access
// in a row with the same distance, up to ORACLE_STREAM bytes.
// //
// It shares no loop and no formula with the plugin. Of the source it has the line of each
// allocation and the address of each accessing instruction; oracle.py finds the rest in the debug
// information.
// //
// All objects come from one arena and are never freed. Those of a page and more have their own
// pages; small ones follow each other.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <sys/mman.h>
#include <unordered_map>
#include <vector>

namespace {

constexpr uint64_t kPageShift = 12, kSuperpageShift = 21;
constexpr uint64_t kArenaBytes = uint64_t(256) << 20;
constexpr uint64_t kGranule = 16, kPage = uint64_t(1) << kPageShift;
constexpr uint64_t kOwnPages = kPage; // an object of a page or more starts on one

uint64_t setting(const char *name, uint64_t otherwise) {
  const char *text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

/// Pages of one size with least-recently-used replacement, in sets. `where` is indexed by a dense
/// page number.
class Tlb {
public:
  Tlb(uint64_t entries, uint64_t ways, uint64_t pages)
      : sets_(entries / ways), ways_(ways), slots_(entries), lists_(sets_), where_(pages, kNone) {
    for (uint32_t set = 0; set < sets_; ++set) {
      for (uint32_t way = 0; way < ways_; ++way) {
        const uint32_t slot = static_cast<uint32_t>(set * ways_ + way);
        slots_[slot] = {kNone, slot - 1, slot + 1};
      }
      lists_[set] = {static_cast<uint32_t>(set * ways_),
                     static_cast<uint32_t>((set + 1) * ways_ - 1)};
    }
  }

  bool misses(uint64_t page) {
    if (page >= where_.size())
      where_.resize(page + 1, kNone);
    List &list = lists_[page % sets_];
    uint32_t slot = where_[page];
    const bool hit = slot != kNone;
    if (!hit) {
      slot = list.last;
      if (slots_[slot].page != kNone)
        where_[slots_[slot].page] = kNone;
      slots_[slot].page = static_cast<uint32_t>(page);
      where_[page] = slot;
    }
    if (slot != list.first) {
      Slot &s = slots_[slot];
      slots_[s.newer].older = s.older;
      if (slot == list.last)
        list.last = s.newer;
      else
        slots_[s.older].newer = s.newer;
      slots_[list.first].newer = slot;
      s.older = list.first;
      list.first = slot;
    }
    return !hit;
  }

private:
  static constexpr uint32_t kNone = UINT32_MAX;
  struct Slot {
    uint32_t page, newer, older;
  };
  struct List {
    uint32_t first, last;
  };
  uint64_t sets_, ways_;
  std::vector<Slot> slots_;
  std::vector<List> lists_;
  std::vector<uint32_t> where_;
};

/// Counts of one instruction's accesses to the objects of one line.
struct Counts {
  uint64_t accesses = 0, misses = 0, exposed = 0, conflicts = 0, superpage_misses = 0, pages = 0;
  std::vector<bool> seen = std::vector<bool>(kArenaBytes >> kPageShift);
};

struct Instruction {
  uint64_t pc = 0;
  uint64_t last = 0;
  int64_t stride = 0;
  unsigned repeated = 0;
  std::vector<std::pair<int, std::unique_ptr<Counts>>> lines;
};

struct Site {
  uint64_t objects = 0, bytes = 0, largest = 0;
};

class Oracle {
public:
  Oracle()
      : stream_(setting("ORACLE_STREAM", 2048)), entries_(setting("ORACLE_ENTRIES", 64)),
        tlb_(entries_, entries_, 2 * kArenaBytes >> kPageShift),
        sets_(entries_, setting("ORACLE_WAYS", 4), 2 * kArenaBytes >> kPageShift),
        super_(entries_, entries_, 2 * kArenaBytes >> kSuperpageShift),
        line_of_(kArenaBytes / kGranule) {
    void *at = mmap(nullptr, kArenaBytes + (uint64_t(1) << kSuperpageShift), PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) {
      std::perror("oracle: arena");
      std::exit(1);
    }
    const uint64_t superpage = uint64_t(1) << kSuperpageShift;
    base_ = (reinterpret_cast<uint64_t>(at) + superpage - 1) / superpage * superpage;
    table_.resize(1 << 16);
  }

  void *allocate(uint64_t bytes, int line) {
    const uint64_t alignment = bytes >= kOwnPages ? kPage : kGranule;
    used_ = (used_ + alignment - 1) / alignment * alignment;
    const uint64_t at = used_;
    used_ += (bytes + kGranule - 1) / kGranule * kGranule;
    if (bytes >= kOwnPages) // the next object starts on a page of its own
      used_ = (used_ + kPage - 1) / kPage * kPage;
    if (used_ > kArenaBytes) {
      std::fprintf(stderr, "oracle: the arena is full\n");
      std::exit(1);
    }
    for (uint64_t granule = at / kGranule; granule * kGranule < at + bytes; ++granule)
      line_of_[granule] = static_cast<uint16_t>(line);
    Site &site = sites_[line];
    ++site.objects;
    site.bytes += bytes;
    site.largest = std::max(site.largest, bytes);
    return reinterpret_cast<void *>(base_ + at);
  }

  void access(uint64_t pc, uint64_t address) {
    Instruction &by = instruction(pc);
    // True if this instruction had the same stride twice before.
    const auto stride = static_cast<int64_t>(address - by.last);
    bool followed = false;
    if (stride != 0) {
      by.repeated = stride == by.stride ? by.repeated + 1 : 0;
      by.stride = stride;
      followed = by.repeated >= 2 && static_cast<uint64_t>(std::llabs(stride)) <= stream_;
    }
    by.last = address;
    const uint64_t offset = address - base_;
    const bool ours = offset < kArenaBytes;
    // The arena's pages first, then all others in the order of their first access.
    uint64_t page = offset >> kPageShift, superpage = offset >> kSuperpageShift;
    if (!ours) {
      page = elsewhere(address >> kPageShift);
      superpage = (kArenaBytes >> kSuperpageShift) + (page - (kArenaBytes >> kPageShift)) / 512;
    }
    const bool missed = tlb_.misses(page), conflicted = sets_.misses(page),
               far = super_.misses(superpage);
    const int line = ours ? line_of_[offset / kGranule] : 0;
    if (!line)
      return;
    Counts &counts = counts_of(by, line);
    ++counts.accesses;
    counts.misses += missed;
    counts.exposed += missed && !followed;
    counts.conflicts += conflicted;
    counts.superpage_misses += far && !followed;
    if (!counts.seen[page]) {
      counts.seen[page] = true;
      ++counts.pages;
    }
  }

  /// Records a prefetch, which loads the translation without a wait.
  void prefetch(uint64_t address) {
    const uint64_t offset = address - base_;
    if (offset >= kArenaBytes)
      return;
    tlb_.misses(offset >> kPageShift);
    sets_.misses(offset >> kPageShift);
    super_.misses(offset >> kSuperpageShift);
  }

  void write(std::FILE *out) const {
    std::fprintf(out, "{\"entries\": %llu, \"sites\": [",
                 static_cast<unsigned long long>(entries_));
    const char *comma = "";
    for (const auto &[line, site] : sites_) {
      std::fprintf(out,
                   "%s\n  {\"line\": %d, \"objects\": %llu, \"bytes\": %llu, \"largest\": %llu}",
                   comma, line, static_cast<unsigned long long>(site.objects),
                   static_cast<unsigned long long>(site.bytes),
                   static_cast<unsigned long long>(site.largest));
      comma = ",";
    }
    std::fprintf(out, "],\n\"accesses\": [");
    comma = "";
    for (const Instruction &by : table_)
      for (const auto &[line, c] : by.lines) {
        std::fprintf(
            out,
            "%s\n  {\"pc\": %llu, \"line\": %d, \"accesses\": %llu, \"pages\": %llu, \"misses\": "
            "%llu, "
            "\"exposed\": %llu, \"conflict_misses\": %llu, \"superpage_misses\": %llu}",
            comma, static_cast<unsigned long long>(by.pc), line,
            static_cast<unsigned long long>(c->accesses), static_cast<unsigned long long>(c->pages),
            static_cast<unsigned long long>(c->misses), static_cast<unsigned long long>(c->exposed),
            static_cast<unsigned long long>(c->conflicts),
            static_cast<unsigned long long>(c->superpage_misses));
        comma = ",";
      }
    std::fprintf(out, "]}\n");
  }

private:
  Instruction &instruction(uint64_t pc) {
    for (uint64_t at = pc * 0x9e3779b97f4a7c15ULL >> 48;; at = (at + 1) & 0xffff) {
      if (table_[at].pc == pc)
        return table_[at];
      if (!table_[at].pc) {
        table_[at].pc = pc;
        return table_[at];
      }
    }
  }

  static Counts &counts_of(Instruction &by, int line) {
    for (auto &[known, counts] : by.lines)
      if (known == line)
        return *counts;
    by.lines.emplace_back(line, std::make_unique<Counts>());
    return *by.lines.back().second;
  }

  uint64_t elsewhere(uint64_t page) {
    const uint64_t next = (kArenaBytes >> kPageShift) + elsewhere_.size();
    return elsewhere_.try_emplace(page, next).first->second;
  }

  uint64_t base_ = 0, used_ = 0, stream_, entries_;
  Tlb tlb_, sets_, super_;
  std::vector<uint16_t> line_of_;
  std::vector<Instruction> table_;
  std::map<int, Site> sites_;
  std::unordered_map<uint64_t, uint64_t> elsewhere_;
};

Oracle &oracle() {
  static Oracle *const one = [] {
    std::atexit([] {
      const char *path = std::getenv("ORACLE_OUTPUT");
      std::FILE *out = path ? std::fopen(path, "w") : stdout;
      if (!out) {
        std::perror(path);
        std::_Exit(1);
      }
      oracle().write(out);
      std::fclose(out);
    });
    return new Oracle;
  }();
  return *one;
}

} // namespace

extern "C" {

void *oracle_allocate(size_t bytes, int line) { return oracle().allocate(bytes, line); }

void oracle_prefetch(const void *address) {
  oracle().prefetch(reinterpret_cast<uint64_t>(address));
}

#define ORACLE_CALLBACK(name)                                                                      \
  void __sanitizer_cov_##name(void *address) {                                                     \
    oracle().access(reinterpret_cast<uint64_t>(__builtin_return_address(0)),                       \
                    reinterpret_cast<uint64_t>(address));                                          \
  }
ORACLE_CALLBACK(load1)
ORACLE_CALLBACK(load2)
ORACLE_CALLBACK(load4)
ORACLE_CALLBACK(load8)
ORACLE_CALLBACK(load16)
ORACLE_CALLBACK(store1)
ORACLE_CALLBACK(store2)
ORACLE_CALLBACK(store4)
ORACLE_CALLBACK(store8)
ORACLE_CALLBACK(store16)

// The instrumentation refers to these, although edges are not traced.
void __sanitizer_cov_trace_pc_guard_init(uint32_t *, uint32_t *) {}
void __sanitizer_cov_trace_pc_guard(uint32_t *) {}
}
