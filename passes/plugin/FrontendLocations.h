//===- FrontendLocations.h - omits unneeded debug locations ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Omits debug locations that only the plugin asked for (no -g) and that it does not need.
//
// In C++ these are the locations of system-header functions without loops, without destructors, and
// with calls of similar functions only. They contain no site and no loop, and calls inlined from
// them need no place in an inline chain. In C these are the locations of expressions, in functions
// whose statements give the lines of all calls. The plugin reads only those lines and the lines of
// loops.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_FRONTENDLOCATIONS_H
#define SMALLOC_PASSES_FRONTENDLOCATIONS_H

#include <memory>

namespace clang {
class ASTConsumer;
class CodeGenOptions;
} // namespace clang

namespace smalloc {

/// Returns the consumer for C++. It must run before the consumer that generates code.
std::unique_ptr<clang::ASTConsumer> leaveOutLocations();

/// Returns the consumer for C, with the same order. It leaves a CodeView flag in the module, which
/// OwnLocationsPass removes.
std::unique_ptr<clang::ASTConsumer> locateStatements(clang::CodeGenOptions &CodeGen);

} // namespace smalloc
#endif
