// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// register_module.h registers images that were compiled with the plugin. An image may register
// before libsmalloc's own constructor has run. Registration links its record into the list and sets
// its cells. It allocates nothing and starts no heap.
#ifndef SMALLOC_CORE_REGISTER_MODULE_H
#define SMALLOC_CORE_REGISTER_MODULE_H

#include "smalloc/include/smalloc/site.h"

namespace smalloc {

void module_register(smalloc_module *module);
void module_unregister(smalloc_module *module);

} // namespace smalloc
#endif
