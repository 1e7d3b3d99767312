//===- FrontendLocations.h - which functions get locations for the plugin ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which functions the front end need not give locations where nobody but the plugin asked for them (no -g): those of
// system headers that neither loop nor call anything but others like them, and destroy nothing. No site and no loop is in
// them, and the calls that they are inlined for need no place in a chain.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_FRONTENDLOCATIONS_H
#define SMALLOC_PASSES_FRONTENDLOCATIONS_H

#include <memory>

namespace clang {
class ASTConsumer;
} // namespace clang

namespace smalloc {

/// Stands before the consumer that generates code.
std::unique_ptr<clang::ASTConsumer> leaveOutLocations();

} // namespace smalloc
#endif
