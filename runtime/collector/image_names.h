// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// image_names.h names an address of a running program so that the name is the same in the next run.
// It also finds the value of a key in SMALLOC_CONF. Inside the traced process: no malloc.
#ifndef RUNTIME_COLLECTOR_IMAGE_NAMES_H
#define RUNTIME_COLLECTOR_IMAGE_NAMES_H

#include <stddef.h>
#include <stdint.h>

namespace smalloc::trace {

struct ImageName {
  const char *path; ///< of the image; "" if the address is in none
  uint64_t offset;  ///< of the address in it
};
ImageName image_of(const void *address);
/// Hashes the image's base name and the offset: the same id wherever the image is loaded or
/// installed.
uint64_t site_id(const ImageName &image);
/// Calls visit(start, bytes, path, data) for each writable segment (static data), except those of
/// smalloc's own libraries.
void for_each_segment(void (*visit)(uint64_t, uint64_t, const char *, void *), void *data);
/// Copies the value of the last KEY:VALUE in `conf` (SMALLOC_CONF). Leaves out values that are
/// empty or do not fit. False if none is left.
bool find_conf_key(const char *conf, const char *key, char *value, size_t capacity);

} // namespace smalloc::trace
#endif
