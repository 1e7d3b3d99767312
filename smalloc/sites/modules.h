// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// modules.h lists the loaded images that were compiled with the plugin, and visits their sites.
// Each image registers one smalloc_module when it is loaded.
#ifndef SMALLOC_SITES_MODULES_H
#define SMALLOC_SITES_MODULES_H

#include "smalloc/include/smalloc/site.h"

#include <stdint.h>

namespace smalloc {

/// Appends `module` to the list.
void modules_add(smalloc_module *module);
/// Removes `module` from the list.
void modules_remove(smalloc_module *module);
/// Records that an image with sites was registered.
void modules_note_sites();
/// Calls visit(module) for each registered image, under the lock.
void modules_for_each(void (*visit)(const smalloc_module &, void *), void *data);

/// Calls visit(site, cell) for each rewritten site of each registered image, under the lock:
/// `visit` must not allocate.
void modules_for_each_site(void (*visit)(const smalloc_site *, smalloc_cell *, void *), void *data);
void for_each_site_of(const smalloc_module &module,
                      void (*visit)(const smalloc_site *, smalloc_cell *, void *), void *data);
/// True if an image with sites was registered.
bool modules_seen();
/// Returns a string of a record, "" if it is absent.
const char *site_string(const smalloc_site *site, uint32_t offset);

void modules_lock();
void modules_unlock();

} // namespace smalloc
#endif
