// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// loaded_objects.h decides how we learn which loaded image really defines a function. dlsym alone
// does not tell: in a position-dependent executable that takes &free, everybody's &free is the
// executable's PLT slot; and a missing name leaves an allocated dlerror text behind.
#ifndef SMALLOC_PROCESS_LOADED_OBJECTS_H
#define SMALLOC_PROCESS_LOADED_OBJECTS_H

#include <stddef.h>

namespace smalloc {

/// By an image's file name.
bool is_loader_or_vdso(const char *path);
/// What is loaded now was there from the start: it is searched for everybody, and never unloaded.
void remember_start_images();
/// The image that contains the address was opened later (dlopen), and may be closed again.
bool was_loaded_later(const void *address);
/// First definition of a function in load order, not counting undefined entries (PLT slots);
/// nullptr: none.
void *first_definition(const char *name);
/// The next definition after the image that contains `here`, in load order.
void *next_definition(const char *name, const void *here);
/// Is the address inside the executable's own segments?
bool in_executable(const void *address);
/// File name of the image that contains the address; "" for the executable and for none.
const char *image_name(const void *address);
/// Does the image that contains the address define this function?
bool image_defines(const void *address, const char *name);
/// Does the image that contains the address import or define this function? True as well where that cannot be seen: in an
/// executable without a dynamic symbol table.
bool image_mentions(const void *address, const char *name);
/// Does the executable import or define one of these names (a nullptr ends the list)? Returns the
/// first that it does.
const char *executable_mentions(const char *const *names);

} // namespace smalloc
#endif
