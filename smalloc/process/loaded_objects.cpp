// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// loaded_objects.cpp reads dynamic symbol tables of the loaded images. dl_iterate_phdr lists the
// images in load order. It finds definitions by each image's GNU hash table. Without one, and for
// imports, it walks over the image's whole symbol table.
#include "smalloc/process/loaded_objects.h"

#include <atomic>
#include <elf.h>
#include <link.h>
#include <stdint.h>
#include <string.h>

namespace smalloc {
namespace {

struct Dynamic {
  const ElfW(Sym) *symbols = nullptr;
  const char *strings = nullptr;
  const uint32_t *gnu_hash = nullptr, *sysv_hash = nullptr;
};

bool contains(const dl_phdr_info &image, const void *address) {
  auto at = reinterpret_cast<uintptr_t>(address);
  for (unsigned i = 0; i < image.dlpi_phnum; i++) {
    const ElfW(Phdr) &p = image.dlpi_phdr[i];
    if (p.p_type == PT_LOAD && at - (image.dlpi_addr + p.p_vaddr) < p.p_memsz)
      return true;
  }
  return false;
}

Dynamic dynamic_of(const dl_phdr_info &image) {
  Dynamic d;
  for (unsigned i = 0; i < image.dlpi_phnum; i++) {
    if (image.dlpi_phdr[i].p_type != PT_DYNAMIC)
      continue;
    auto *entry = reinterpret_cast<const ElfW(Dyn) *>(image.dlpi_addr + image.dlpi_phdr[i].p_vaddr);
    for (; entry->d_tag != DT_NULL; entry++) {
      // glibc has relocated these pointers, except those of the vdso.
      uintptr_t at = entry->d_un.d_ptr < image.dlpi_addr ? image.dlpi_addr + entry->d_un.d_ptr
                                                         : entry->d_un.d_ptr;
      if (entry->d_tag == DT_SYMTAB)
        d.symbols = reinterpret_cast<const ElfW(Sym) *>(at);
      else if (entry->d_tag == DT_STRTAB)
        d.strings = reinterpret_cast<const char *>(at);
      else if (entry->d_tag == DT_GNU_HASH)
        d.gnu_hash = reinterpret_cast<const uint32_t *>(at);
      else if (entry->d_tag == DT_HASH)
        d.sysv_hash = reinterpret_cast<const uint32_t *>(at);
    }
  }
  return d;
}

bool defines(const Dynamic &d, const ElfW(Sym) & s, const char *name) {
  unsigned type = ELF64_ST_TYPE(s.st_info);
  return s.st_shndx != SHN_UNDEF && s.st_value != 0 &&
         (type == STT_FUNC || type == STT_GNU_IFUNC) && strcmp(d.strings + s.st_name, name) == 0;
}

const ElfW(Sym) * find_definition(const Dynamic &d, const char *name) {
  if (!d.symbols || !d.strings)
    return nullptr;
  if (d.gnu_hash) {
    uint32_t hash = 5381;
    for (const char *c = name; *c; c++)
      hash = hash * 33 + static_cast<unsigned char>(*c);
    uint32_t buckets = d.gnu_hash[0], first = d.gnu_hash[1], bloom = d.gnu_hash[2];
    auto *bucket = reinterpret_cast<const uint32_t *>(
        reinterpret_cast<const ElfW(Addr) *>(d.gnu_hash + 4) + bloom);
    const uint32_t *chain = bucket + buckets;
    uint32_t i = buckets ? bucket[hash % buckets] : 0;
    if (i < first)
      return nullptr;
    for (;; i++) {
      uint32_t h = chain[i - first];
      if ((h | 1) == (hash | 1) && defines(d, d.symbols[i], name))
        return &d.symbols[i];
      if (h & 1)
        return nullptr;
    }
  }
  if (d.sysv_hash)
    for (uint32_t i = 0; i < d.sysv_hash[1]; i++)
      if (defines(d, d.symbols[i], name))
        return &d.symbols[i];
  return nullptr;
}

struct Search {
  const char *name;
  const void *after; ///< search starts after the image that contains it; nullptr: at the first
                     ///< image
  bool passed;
  void *found;
};

int search_image(dl_phdr_info *image, size_t, void *data) {
  auto &search = *static_cast<Search *>(data);
  if (!search.passed) {
    search.passed = contains(*image, search.after);
    return 0;
  }
  if (is_loader_or_vdso(image->dlpi_name))
    return 0; // only the loader calls its own minimal malloc
  if (const ElfW(Sym) *s = find_definition(dynamic_of(*image), search.name)) {
    search.found = reinterpret_cast<void *>(image->dlpi_addr + s->st_value);
    return 1;
  }
  return 0;
}

struct Mention {
  const char *const *names;
  const char *found;
};

uint32_t symbol_count(const Dynamic &d) {
  if (d.sysv_hash)
    return d.sysv_hash[1];
  if (!d.gnu_hash)
    return 0;
  uint32_t buckets = d.gnu_hash[0], first = d.gnu_hash[1], bloom = d.gnu_hash[2], last = 0;
  auto *bucket = reinterpret_cast<const uint32_t *>(
      reinterpret_cast<const ElfW(Addr) *>(d.gnu_hash + 4) + bloom);
  for (uint32_t b = 0; b < buckets; b++)
    if (bucket[b] > last)
      last = bucket[b];
  if (last < first)
    return first; // the table has imports only
  for (const uint32_t *chain = bucket + buckets; !(chain[last - first] & 1);)
    last++;
  return last + 1;
}

int search_mentions(dl_phdr_info *image, size_t, void *data) {
  auto &mention = *static_cast<Mention *>(data);
  Dynamic d = dynamic_of(*image);
  uint32_t n = d.symbols && d.strings ? symbol_count(d) : 0;
  for (uint32_t i = 0; i < n; i++)
    for (const char *const *name = mention.names; *name; name++)
      if (strcmp(d.strings + d.symbols[i].st_name, *name) == 0) {
        mention.found = *name;
        return 1;
      }
  return 1; // the first image is the executable
}

} // namespace

bool is_loader_or_vdso(const char *path) {
  const char *slash = path ? strrchr(path, '/') : nullptr;
  const char *name = slash ? slash + 1 : path ? path : "";
  return strncmp(name, "linux-vdso", 10) == 0 || strncmp(name, "ld-linux", 8) == 0;
}

static constinit std::atomic<unsigned> g_start_images{0};

void remember_start_images() {
  unsigned count = 0;
  dl_iterate_phdr(
      [](dl_phdr_info *, size_t, void *data) {
        ++*static_cast<unsigned *>(data);
        return 0;
      },
      &count);
  g_start_images.store(count, std::memory_order_relaxed);
}

bool was_loaded_later(const void *address) {
  struct Question {
    const void *address;
    unsigned index;
  } question = {address, 0};
  const unsigned at_start = g_start_images.load(std::memory_order_relaxed);
  const bool found = dl_iterate_phdr(
                         [](dl_phdr_info *image, size_t, void *data) {
                           auto &q = *static_cast<Question *>(data);
                           q.index++;
                           return contains(*image, q.address) ? 1 : 0;
                         },
                         &question) != 0;
  return at_start != 0 && found && question.index > at_start;
}

void *first_definition(const char *name) {
  Search search = {name, nullptr, true, nullptr};
  dl_iterate_phdr(search_image, &search);
  return search.found;
}

void *next_definition(const char *name, const void *here) {
  Search search = {name, here, false, nullptr};
  dl_iterate_phdr(search_image, &search);
  return search.found;
}

bool in_executable(const void *address) {
  struct Question {
    const void *address;
    bool answer;
  } question = {address, false};
  dl_iterate_phdr(
      [](dl_phdr_info *image, size_t, void *data) {
        auto &q = *static_cast<Question *>(data);
        q.answer = contains(*image, q.address);
        return 1;
      },
      &question);
  return question.answer;
}

// Calls `ask` with the image that contains `address`. Returns false if no image contains it.
template <class Ask> static bool ask_image_of(const void *address, Ask ask) {
  struct Question {
    const void *address;
    Ask &ask;
  } question = {address, ask};
  return dl_iterate_phdr(
             [](dl_phdr_info *image, size_t, void *data) {
               auto &q = *static_cast<Question *>(data);
               if (!contains(*image, q.address))
                 return 0;
               q.ask(*image);
               return 1;
             },
             &question) != 0;
}

const char *image_name(const void *address) {
  const char *name = nullptr;
  ask_image_of(address, [&](const dl_phdr_info &image) { name = image.dlpi_name; });
  return name ? name : "";
}

bool image_defines(const void *address, const char *name) {
  bool answer = false;
  ask_image_of(address, [&](const dl_phdr_info &image) {
    answer = find_definition(dynamic_of(image), name) != nullptr;
  });
  return answer;
}

bool image_mentions(const void *address, const char *name) {
  bool answer = true;
  ask_image_of(address, [&](const dl_phdr_info &image) {
    const Dynamic d = dynamic_of(image);
    const uint32_t n = d.symbols && d.strings ? symbol_count(d) : 0;
    answer = n == 0;
    for (uint32_t i = 0; i < n && !answer; i++)
      answer = strcmp(d.strings + d.symbols[i].st_name, name) == 0;
  });
  return answer;
}

const char *executable_mentions(const char *const *names) {
  Mention mention = {names, nullptr};
  dl_iterate_phdr(search_mentions, &mention);
  return mention.found;
}

} // namespace smalloc
