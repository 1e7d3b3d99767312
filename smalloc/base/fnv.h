// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// fnv.h hashes bytes with FNV-1a: names of sites and inline chains, and the program's arguments.
// The hashes are written to files, so they must stay the same.
#ifndef SMALLOC_BASE_FNV_H
#define SMALLOC_BASE_FNV_H

#include <stddef.h>
#include <stdint.h>

namespace smalloc {

inline constexpr uint64_t kFnvStart = 0xcbf29ce484222325u;

/// Returns the hash of `count` bytes. `hash`: that of the bytes before them.
inline uint64_t fnv1a(const char *bytes, size_t count, uint64_t hash = kFnvStart) {
  for (size_t i = 0; i < count; i++)
    hash = (hash ^ static_cast<unsigned char>(bytes[i])) * 0x100000001b3u;
  return hash;
}

} // namespace smalloc
#endif
