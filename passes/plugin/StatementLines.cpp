//===- StatementLines.cpp - the lines that calls get ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "passes/plugin/StatementLines.h"
#include "clang/AST/Attr.h"
#include "clang/AST/Decl.h"
#include "clang/AST/Expr.h"
#include "clang/AST/Stmt.h"
#include "clang/Basic/SourceManager.h"

using namespace clang;

namespace smalloc {

bool givesNoMemory(const FunctionDecl &F) {
  auto *Result = dyn_cast<BuiltinType>(F.getReturnType().getCanonicalType());
  const IdentifierInfo *Name = F.getIdentifier();
  return Result && (Result->isInteger() || Result->getKind() == BuiltinType::Void) &&
         !(Name && Name->getName() == "posix_memalign");
}

bool StatementLines::areCalls(const Stmt *S, SourceLocation At) const {
  if (!S)
    return true;
  switch (S->getStmtClass()) {
  case Stmt::NullStmtClass:
  case Stmt::BreakStmtClass:
  case Stmt::ContinueStmtClass:
  case Stmt::GotoStmtClass:
    return true;
  case Stmt::CompoundStmtClass:
  case Stmt::LabelStmtClass:
  case Stmt::CaseStmtClass:
  case Stmt::DefaultStmtClass:
    return llvm::all_of(S->children(), [&](const Stmt *Part) { return areCallsIn(Part); });
  case Stmt::IfStmtClass: {
    auto *If = cast<IfStmt>(S);
    return areCallsBelow(S, If->getCond(), If->getThen()) && areCallsIn(If->getElse());
  }
  case Stmt::SwitchStmtClass:
    return areCallsBelow(S, cast<SwitchStmt>(S)->getCond(), cast<SwitchStmt>(S)->getBody());
  case Stmt::WhileStmtClass:
    return areCallsBelow(S, cast<WhileStmt>(S)->getCond(), cast<WhileStmt>(S)->getBody());
  case Stmt::DoStmtClass: { // its condition is generated after the body's last statement
    auto *Do = cast<DoStmt>(S);
    return areCalls(Do->getCond(), SourceLocation()) && areCallsIn(Do->getBody());
  }
  case Stmt::ForStmtClass: {
    auto *For = cast<ForStmt>(S);
    const Stmt *First = For->getInit() ? For->getInit() : S;
    return areCallsIn(For->getInit()) && areCallsBelow(First, For->getCond(), For->getInc()) &&
           areCallsIn(For->getBody());
  }
  default:
    return areCallsOfParts(S, At);
  }
}

/// Checks \p S, a statement without a body or an expression, and its parts. \p At: see areCalls().
bool StatementLines::areCallsOfParts(const Stmt *S, SourceLocation At) const {
  switch (S->getStmtClass()) {
  case Stmt::DeclStmtClass:
    for (const Decl *D : cast<DeclStmt>(S)->decls())
      if (D->hasAttr<CleanupAttr>())
        return false;
    At = S->getBeginLoc();
    break;
  case Stmt::ReturnStmtClass:
    At = S->getBeginLoc();
    break;
  case Stmt::StmtExprClass:
  case Stmt::BlockExprClass:
    return false;
  case Stmt::CallExprClass: {
    auto *Call = cast<CallExpr>(S);
    const FunctionDecl *Callee = Call->getDirectCallee();
    if (!(Callee && !Callee->hasBody() && givesNoMemory(*Callee)) &&
        !onOneLine(At, Call->getBeginLoc()))
      return false;
    break;
  }
  default:
    if (!isa<Expr>(S))
      return false;
  }
  return llvm::all_of(S->children(), [&](const Stmt *Part) { return areCalls(Part, At); });
}

/// Checks \p S as a statement of its own.
bool StatementLines::areCallsIn(const Stmt *S) const { return !S || areCalls(S, S->getBeginLoc()); }

/// Checks \p Condition, to which \p S gives its line, and \p Body, a statement of its own.
bool StatementLines::areCallsBelow(const Stmt *S, const Stmt *Condition, const Stmt *Body) const {
  return areCalls(Condition, S->getBeginLoc()) && areCallsIn(Body);
}

bool StatementLines::onOneLine(SourceLocation From, SourceLocation To) const {
  if (From.isInvalid() || To.isInvalid())
    return false;
  From = Sources.getExpansionLoc(From);
  To = Sources.getExpansionLoc(To);
  if (From == To)
    return true;
  const auto [File, Begin] = Sources.getDecomposedLoc(From);
  const auto [SameFile, End] = Sources.getDecomposedLoc(To);
  return File == SameFile && Begin < End &&
         !Sources.getBufferData(File).slice(Begin, End).contains('\n');
}

} // namespace smalloc
