//===- StatementLines.h - the lines that calls get ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds whether the calls of a function get the right lines if clang gives locations to statements
// only (FrontendLocations).
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_STATEMENTLINES_H
#define SMALLOC_PASSES_STATEMENTLINES_H

#include "clang/Basic/SourceLocation.h"

namespace clang {
class FunctionDecl;
class SourceManager;
class Stmt;
} // namespace clang

namespace smalloc {

/// True if the declaration of \p F alone shows that a call of it is no site. \p F then returns
/// nothing or a number, and stores no memory block through an argument.
bool givesNoMemory(const clang::FunctionDecl &F);

/// Checks that the lines of calls are those of their statements. A statement gives its line to the
/// code generated from there on. Code after a nested statement, or at the end of a scope, gets an
/// uncertain line.
class StatementLines {
public:
  explicit StatementLines(const clang::SourceManager &Sources) : Sources(Sources) {}

  /// True if all calls in \p S get the right line. \p At is the start of the statement that gives
  /// its line to \p S, a part of it; invalid if there is none.
  bool areCalls(const clang::Stmt *S, clang::SourceLocation At) const;

private:
  bool areCallsIn(const clang::Stmt *S) const;
  bool areCallsBelow(const clang::Stmt *S, const clang::Stmt *Condition,
                     const clang::Stmt *Body) const;
  bool areCallsOfParts(const clang::Stmt *S, clang::SourceLocation At) const;
  bool onOneLine(clang::SourceLocation From, clang::SourceLocation To) const;

  const clang::SourceManager &Sources;
};

} // namespace smalloc
#endif
