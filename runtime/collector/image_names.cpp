// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// image_names.cpp finds the image of an address with _dl_find_object, which takes no lock. It
// hashes the image's base name and the offset to a site's id.
#include "runtime/collector/image_names.h"
#include "smalloc/base/conf_keys.h"
#include "smalloc/base/fnv.h"

#include <initializer_list>

#include <dlfcn.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

namespace smalloc::trace {
namespace {

char g_executable[4096];

const char *path_of(const char *name) {
  if (name && *name)
    return name;
  if (!*g_executable) {
    const ssize_t n = readlink("/proc/self/exe", g_executable, sizeof g_executable - 1);
    g_executable[n > 0 ? n : 0] = 0;
  }
  return g_executable;
}

bool is_own_library(const char *path) {
  const char *slash = strrchr(path, '/');
  const char *name = slash ? slash + 1 : path;
  for (const char *own : {"libsmalloc.so", "libsmalloc_feedback.so"})
    if (const size_t n = strlen(own);
        strncmp(name, own, n) == 0 && (name[n] == 0 || name[n] == '.')) // and a version
      return true;
  return false;
}

} // namespace

ImageName image_of(const void *address) {
  dl_find_object found;
  if (_dl_find_object(const_cast<void *>(address), &found) != 0 || !found.dlfo_link_map)
    return {"", reinterpret_cast<uintptr_t>(address)};
  return {path_of(found.dlfo_link_map->l_name),
          reinterpret_cast<uintptr_t>(address) - found.dlfo_link_map->l_addr};
}

uint64_t site_id(const ImageName &image) {
  const char *slash = strrchr(image.path, '/');
  const char *name = slash ? slash + 1 : image.path;
  // Little-endian, as all supported machines.
  const uint64_t hash = fnv1a(reinterpret_cast<const char *>(&image.offset), sizeof image.offset,
                              fnv1a(name, strlen(name)));
  return hash ? hash : 1;
}

void for_each_segment(void (*visit)(uint64_t, uint64_t, const char *, void *), void *data) {
  struct Call {
    void (*visit)(uint64_t, uint64_t, const char *, void *);
    void *data;
  } call = {visit, data};
  dl_iterate_phdr(
      [](dl_phdr_info *image, size_t, void *p) {
        const auto &c = *static_cast<Call *>(p);
        if (is_own_library(path_of(image->dlpi_name)))
          return 0;
        for (int i = 0; i < image->dlpi_phnum; i++) {
          const ElfW(Phdr) &segment = image->dlpi_phdr[i];
          if (segment.p_type == PT_LOAD && (segment.p_flags & PF_W))
            c.visit(image->dlpi_addr + segment.p_vaddr, segment.p_memsz, path_of(image->dlpi_name),
                    c.data);
        }
        return 0;
      },
      &call);
}

bool find_conf_key(const char *conf, const char *key, char *value, size_t capacity) {
  bool found = false;
  for_each_key(Text(conf), [&](Text, Text name, Text given) {
    if (!name.is(key) || given.size == 0 || given.size >= capacity)
      return;
    memcpy(value, given.data, given.size);
    value[given.size] = 0;
    found = true;
  });
  return found;
}

} // namespace smalloc::trace
