//===- ModuleRecord.h - the record of a linked image ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Emits the record of the linked image (smalloc_module), and the constructor and destructor that
// pass it to the runtime. The record holds the bounds of the image's sections and the addresses of
// the program's own functions. The linker keeps one copy per image.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_MODULERECORD_H
#define SMALLOC_PASSES_MODULERECORD_H

#include "smalloc/site.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/IR/Module.h"

namespace smalloc {

/// Emits the record as IR. The constructor refers to \p Tables, one variable of each section, to
/// keep the sections. Not every linker knows SHF_GNU_RETAIN: gold's -r drops it. Then lld's
/// --gc-sections would drop the section and leave its bounds undefined.
void emitModuleRecord(llvm::Module &M, smalloc_heap_strategy Heap,
                      llvm::ArrayRef<llvm::GlobalVariable *> Tables);

/// Emits the same record as assembly (ThunkText.h).
void moduleRecordText(llvm::Module &M, smalloc_heap_strategy Heap,
                      llvm::ArrayRef<llvm::GlobalVariable *> Tables);

} // namespace smalloc
#endif
