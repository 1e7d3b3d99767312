// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// register_module.h registers the images that were compiled with the plugin. An image registers possibly before
// libsmalloc's own constructor has run: its record is linked into the list and its cells are set; nothing is
// allocated and no heap starts.
#ifndef SMALLOC_CORE_REGISTER_MODULE_H
#define SMALLOC_CORE_REGISTER_MODULE_H

#include "smalloc/include/smalloc/site.h"

namespace smalloc {

void module_register(smalloc_module *module);
void module_unregister(smalloc_module *module);

} // namespace smalloc
#endif
