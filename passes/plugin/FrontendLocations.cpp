//===- FrontendLocations.cpp - omits unneeded debug locations -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "passes/plugin/FrontendLocations.h"
#include "passes/plugin/StatementLines.h"
#include "clang/AST/ASTConsumer.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/Attr.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/ExprCXX.h"
#include "clang/Basic/Builtins.h"
#include "clang/Basic/CodeGenOptions.h"
#include "clang/Basic/SourceManager.h"

using namespace clang;

namespace smalloc {
namespace {

/// Statements of a body that are examined; longer functions keep their locations.
constexpr unsigned MaxStatements = 48;
/// Depth of calls within calls that are examined.
constexpr unsigned MaxDepth = 8;

class PlainFunctions : public ASTConsumer {
public:
  bool HandleTopLevelDecl(DeclGroupRef Group) override {
    for (Decl *D : Group)
      if (auto *F = dyn_cast<FunctionDecl>(D))
        Candidates.push_back(F);
    return true;
  }
  void HandleInlineFunctionDefinition(FunctionDecl *F) override { Candidates.push_back(F); }

  /// Runs before code of inline functions is generated: all bodies exist. Unused functions, which
  /// are most of them, get no code.
  void HandleTranslationUnit(ASTContext &Context) override {
    const SourceManager &Sources = Context.getSourceManager();
    for (FunctionDecl *F : Candidates)
      if (F->isUsed(/*CheckUsedAttr=*/false) && Sources.isInSystemHeader(F->getLocation()) &&
          isPlain(*F, 0))
        F->addAttr(NoDebugAttr::CreateImplicit(Context));
  }

private:
  /// True for functions whose calls stay one call, or become a few loads and stores.
  static bool copiesMemory(unsigned Builtin) {
    switch (Builtin) {
    case Builtin::BImemcpy:
    case Builtin::BImemmove:
    case Builtin::BImemset:
    case Builtin::BImemchr:
    case Builtin::BI__builtin_memcpy:
    case Builtin::BI__builtin_memmove:
    case Builtin::BI__builtin_memset:
    case Builtin::BI__builtin_memchr:
      return true;
    default:
      return false;
    }
  }

  bool isPlain(const FunctionDecl &Declared, unsigned Depth) {
    // The front end expands builtins of the language, such as std::move, at the call.
    if (unsigned Builtin = Declared.getBuiltinID())
      return Declared.isInStdNamespace() || copiesMemory(Builtin) || givesNoMemory(Declared);
    const FunctionDecl *F = nullptr;
    const Stmt *Body = Declared.getBody(F);
    if (!Body) // defined in another unit: never inlined
      return givesNoMemory(Declared);
    if (Depth > MaxDepth || isa<CXXDestructorDecl>(F))
      return false;
    auto [Known, New] = Plain.try_emplace(F, false); // a recursive function is not plain
    if (!New)
      return Known->second;
    unsigned Left = MaxStatements;
    bool All = isPlain(Body, Depth, Left);
    if (auto *Constructor = dyn_cast<CXXConstructorDecl>(F))
      for (const CXXCtorInitializer *Part : Constructor->inits())
        All = All && isPlain(Part->getInit(), Depth, Left);
    return Plain[F] = All;
  }

  bool isPlain(const Stmt *S, unsigned Depth, unsigned &Left) {
    if (!S)
      return true;
    if (Left == 0)
      return false;
    --Left;
    if (!isPlainItself(S, Depth))
      return false;
    for (const Stmt *Part : S->children())
      if (!isPlain(Part, Depth, Left))
        return false;
    return true;
  }

  /// True if \p S is plain when all its parts are.
  bool isPlainItself(const Stmt *S, unsigned Depth) {
    if (isSimple(S->getStmtClass()))
      return true;
    switch (S->getStmtClass()) {
    case Stmt::DeclStmtClass:
      return llvm::all_of(cast<DeclStmt>(S)->decls(), [](const Decl *D) {
        auto *Variable = dyn_cast<VarDecl>(D);
        return !Variable ||
               (Variable->hasLocalStorage() && !Variable->getType().isDestructedType());
      });
    case Stmt::CallExprClass:
    case Stmt::CXXMemberCallExprClass:
    case Stmt::CXXOperatorCallExprClass: {
      const FunctionDecl *Callee = cast<CallExpr>(S)->getDirectCallee();
      auto *Method = dyn_cast_or_null<CXXMethodDecl>(Callee);
      return Callee && !(Method && Method->isVirtual()) && isPlain(*Callee, Depth + 1);
    }
    case Stmt::CXXConstructExprClass:
    case Stmt::CXXTemporaryObjectExprClass: {
      const CXXConstructorDecl *Callee = cast<CXXConstructExpr>(S)->getConstructor();
      return Callee->isTrivial() || isPlain(*Callee, Depth + 1);
    }
    default: // loops, new, destruction and everything else
      return false;
    }
  }

  /// True for statements and expressions that call nothing.
  static bool isSimple(Stmt::StmtClass Class) {
    switch (Class) {
    case Stmt::CompoundStmtClass:
    case Stmt::ReturnStmtClass:
    case Stmt::NullStmtClass:
    case Stmt::IfStmtClass:
    case Stmt::ArraySubscriptExprClass:
    case Stmt::BinaryOperatorClass:
    case Stmt::CompoundAssignOperatorClass:
    case Stmt::CharacterLiteralClass:
    case Stmt::ConditionalOperatorClass:
    case Stmt::ConstantExprClass:
    case Stmt::CStyleCastExprClass:
    case Stmt::CXXBoolLiteralExprClass:
    case Stmt::CXXConstCastExprClass:
    case Stmt::CXXFunctionalCastExprClass:
    case Stmt::CXXNullPtrLiteralExprClass:
    case Stmt::CXXReinterpretCastExprClass:
    case Stmt::CXXScalarValueInitExprClass:
    case Stmt::CXXStaticCastExprClass:
    case Stmt::CXXThisExprClass:
    case Stmt::DeclRefExprClass:
    case Stmt::ExprWithCleanupsClass: // the expression contains what it destroys
    case Stmt::FloatingLiteralClass:
    case Stmt::ImplicitCastExprClass:
    case Stmt::ImplicitValueInitExprClass:
    case Stmt::InitListExprClass:
    case Stmt::IntegerLiteralClass:
    case Stmt::MaterializeTemporaryExprClass:
    case Stmt::MemberExprClass:
    case Stmt::ParenExprClass:
    case Stmt::StringLiteralClass:
    case Stmt::SubstNonTypeTemplateParmExprClass:
    case Stmt::TypeTraitExprClass:
    case Stmt::UnaryExprOrTypeTraitExprClass:
    case Stmt::UnaryOperatorClass:
      return true;
    default:
      return false;
    }
  }

  std::vector<FunctionDecl *> Candidates;
  llvm::DenseMap<const FunctionDecl *, bool> Plain;
};

/// Makes clang give locations to statements only, as for CodeView, instead of each expression. That
/// is a fraction of the work. Clang reads the option at each expression, so each function can have
/// its own setting. Clang generates a unit's external functions one by one as it reads them, but
/// static and inline ones together at the end of the unit.
class ByStatement : public ASTConsumer {
public:
  explicit ByStatement(CodeGenOptions &CodeGen) : CodeGen(CodeGen) {}

  void Initialize(ASTContext &Context) override { Sources = &Context.getSourceManager(); }

  bool HandleTopLevelDecl(DeclGroupRef Group) override {
    for (Decl *D : Group) {
      auto *F = dyn_cast<FunctionDecl>(D);
      if (!F || !F->doesThisDeclarationHaveABody())
        continue;
      const bool Exact = StatementLines(*Sources).areCalls(F->getBody(), SourceLocation());
      CodeGen.EmitCodeView = Exact;
      if (F->getCanonicalDecl()->getStorageClass() == SC_Static || F->isInlined())
        AtTheEnd = AtTheEnd && Exact;
    }
    return true;
  }

  void HandleTranslationUnit(ASTContext &) override { CodeGen.EmitCodeView = AtTheEnd; }

private:
  CodeGenOptions &CodeGen;
  const SourceManager *Sources = nullptr;
  bool AtTheEnd = true;
};

} // namespace

std::unique_ptr<ASTConsumer> locateStatements(CodeGenOptions &CodeGen) {
  return std::make_unique<ByStatement>(CodeGen);
}

std::unique_ptr<ASTConsumer> leaveOutLocations() { return std::make_unique<PlainFunctions>(); }

} // namespace smalloc
