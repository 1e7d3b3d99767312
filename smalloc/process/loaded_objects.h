// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// loaded_objects.h finds the loaded image that really defines a function. dlsym cannot: in a
// position-dependent executable that takes &free, every image's &free is the executable's PLT slot.
// And dlsym of a missing name leaves an allocated dlerror text behind.
#ifndef SMALLOC_PROCESS_LOADED_OBJECTS_H
#define SMALLOC_PROCESS_LOADED_OBJECTS_H

namespace smalloc {

/// True if `path` is the file name of the loader or the vdso.
bool is_loader_or_vdso(const char *path);
/// Records the number of images that are loaded now, at the start. They are searched for every
/// image's symbols and never unloaded.
void remember_start_images();
/// True if the image that contains `address` was opened after the start (dlopen) and may thus be
/// closed again.
bool was_loaded_later(const void *address);
/// Returns the first definition of function `name` in load order, or nullptr. Ignores undefined
/// entries (PLT slots).
void *first_definition(const char *name);
/// Returns the next definition after the image that contains `here`, in load order, or nullptr.
void *next_definition(const char *name, const void *here);
/// True if `address` is inside the executable's own segments.
bool in_executable(const void *address);
/// Returns the file name of the image that contains `address`; "" for the executable and if no
/// image contains it.
const char *image_name(const void *address);
/// True if the image that contains `address` defines function `name`.
bool image_defines(const void *address, const char *name);
/// True if the image that contains `address` imports or defines function `name`. True as well if
/// that cannot be seen: in an executable without a dynamic symbol table.
bool image_mentions(const void *address, const char *name);
/// Returns the first of `names` that the executable imports or defines, or nullptr. A nullptr ends
/// `names`.
const char *executable_mentions(const char *const *names);

} // namespace smalloc
#endif
