// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// process_identity.cpp finds the executable's program headers by the auxiliary vector, as the
// kernel left them. The loader's list takes a lock, and under some debuggers another image is first
// in it. Other facts come from /proc.
#include "smalloc/process/process_identity.h"
#include "smalloc/base/fnv.h"
#include "smalloc/base/keep_errno.h"
#include "smalloc/base/numbers.h"
#include "smalloc/base/text.h"
#include "smalloc/files/system_file.h"
#include "smalloc/files/uncancelled.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/auxv.h>
#include <unistd.h>

namespace smalloc {
namespace {

/// Finds the build-id among the notes in [at, end) and writes it to `text` in hexadecimal digits.
bool build_id_in(const char *at, const char *end, char *text, size_t capacity) {
  while (static_cast<size_t>(end - at) >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    memcpy(&note, at, sizeof note);
    const char *name = at + sizeof note;
    const size_t name_bytes = (note.n_namesz + size_t{3}) & ~size_t{3};
    const size_t bytes = (note.n_descsz + size_t{3}) & ~size_t{3};
    if (static_cast<size_t>(end - name) < name_bytes ||
        static_cast<size_t>(end - name) - name_bytes < bytes)
      return false;
    const char *id = name + name_bytes;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp(name, "GNU", 4) == 0) {
      if (note.n_descsz == 0 || capacity < 2 * size_t{note.n_descsz} + 1)
        return false;
      for (size_t i = 0; i < note.n_descsz; i++) {
        const auto byte = static_cast<unsigned char>(id[i]);
        *text++ = "0123456789abcdef"[byte >> 4];
        *text++ = "0123456789abcdef"[byte & 15];
      }
      *text = 0;
      return true;
    }
    at = id + bytes;
  }
  return false;
}

/// True if the file of the parent in /proc contains the bytes of `wanted`. Reads pieces and finds
/// bytes that lie across two of them.
bool parent_file_holds(const char *file, const char *wanted, size_t bytes) {
  KeepErrno keep;
  TextBuffer<64> path;
  path.put("/proc/").number(static_cast<uint64_t>(getppid())).put(file).put_char('\0');
  const int fd = uncancelled::open(path.data(), O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return false;
  char text[4096];
  size_t kept = 0;
  bool found = false;
  if (bytes < sizeof text / 2)
    for (ssize_t got;
         !found && (got = uncancelled::read(fd, text + kept, sizeof text - kept)) > 0;) {
      const size_t size = kept + static_cast<size_t>(got);
      found = memmem(text, size, wanted, bytes) != nullptr;
      kept = size < bytes ? size : bytes - 1;
      memmove(text, text + size - kept, kept);
    }
  uncancelled::close(fd);
  return found;
}

} // namespace

bool executable_build_id(char *text, size_t capacity) {
  const auto *headers = reinterpret_cast<const ElfW(Phdr) *>(getauxval(AT_PHDR));
  const size_t count = getauxval(AT_PHNUM);
  uintptr_t bias = 0;
  for (size_t i = 0; headers && i < count; i++)
    if (headers[i].p_type == PT_PHDR)
      bias = reinterpret_cast<uintptr_t>(headers) - headers[i].p_vaddr;
  for (size_t i = 0; headers && i < count; i++) {
    if (headers[i].p_type != PT_NOTE)
      continue;
    const auto *at = reinterpret_cast<const char *>(bias + headers[i].p_vaddr);
    if (build_id_in(at, at + headers[i].p_memsz, text, capacity))
      return true;
  }
  return false;
}

bool parent_was_started_with(const char *variable, const char *value) {
  TextBuffer<2048> entry;
  entry.put(variable).put("=").put(value).put_char('\0');
  // The search finds the entry also at the end of a longer variable's name; libsmalloc has no
  // variable of that kind. An entry that was cut off is not searched for.
  return entry.data()[entry.size() - 1] == 0 &&
         parent_file_holds("/environ", entry.data(), entry.size());
}

bool parent_has_seen(const char *variable, const char *value, const char *image) {
  TextBuffer<256> name;
  name.put("/").put(image);
  return parent_was_started_with(variable, value) &&
         parent_file_holds("/maps", name.data(), name.size());
}

uint64_t start_ticks(uint64_t pid) {
  TextBuffer<64> path;
  path.put("/proc/").number(pid).put("/stat").put_char('\0');
  char text[1024];
  if (read_system_file(path.data(), text, sizeof text) <= 0)
    return 0;
  // Format: "pid (name with anything) S ppid ...". The name ends at the last parenthesis. The state
  // is field 3 and the start time field 22.
  const char *c = strrchr(text, ')');
  if (!c || c[1] != ' ' || c[2] == 'Z' || c[2] == 'X')
    return 0;
  c += 2;
  for (unsigned field = 3; field < 22; field++) {
    c = strchr(c, ' ');
    if (!c)
      return 0;
    c++;
  }
  return take_number(c);
}

bool is_alive(uint64_t pid, uint64_t started) {
  return started != 0 && start_ticks(pid) == started;
}

bool command_line_signature(uint64_t &signature) {
  KeepErrno keep;
  const int fd = uncancelled::open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return false;
  signature = kFnvStart;
  bool behind_name = false, any = false;
  char piece[4096];
  for (ssize_t got; (got = uncancelled::read(fd, piece, sizeof piece)) > 0;) {
    any = true;
    size_t at = 0;
    const auto bytes = static_cast<size_t>(got);
    while (!behind_name && at < bytes)
      behind_name = piece[at++] == 0;
    signature = fnv1a(piece + at, bytes - at, signature);
  }
  uncancelled::close(fd);
  return any;
}

} // namespace smalloc
