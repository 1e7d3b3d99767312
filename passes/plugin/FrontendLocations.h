//===- FrontendLocations.h - what gets locations for the plugin -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what the front end need not give locations where nobody but the plugin asked for them (no -g). In C++ it is the functions of
// system headers that neither loop nor call anything but others like them, and destroy nothing: no site and no loop is in
// them, and the calls that they are inlined for need no place in a chain. In C it is the expressions of functions whose
// statements tell the lines of all calls: those and the lines of loops are all that is read.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_FRONTENDLOCATIONS_H
#define SMALLOC_PASSES_FRONTENDLOCATIONS_H

#include <memory>

namespace clang {
class ASTConsumer;
class CodeGenOptions;
} // namespace clang

namespace smalloc {

/// Stands before the consumer that generates code.
std::unique_ptr<clang::ASTConsumer> leaveOutLocations();

/// Of C; the same. What it leaves in the module for CodeView's sake, OwnLocationsPass takes out.
std::unique_ptr<clang::ASTConsumer> locateStatements(clang::CodeGenOptions &CodeGen);

} // namespace smalloc
#endif
