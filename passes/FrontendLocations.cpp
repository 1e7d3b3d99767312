//===- FrontendLocations.cpp - which functions get locations for the plugin -===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "FrontendLocations.h"
#include "clang/AST/ASTConsumer.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/Attr.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/ExprCXX.h"
#include "clang/Basic/Builtins.h"
#include "clang/Basic/SourceManager.h"

using namespace clang;

#define WEAK(Symbol) asm(".weak " #Symbol);
#include "ClangSymbols.inc"
#undef WEAK

namespace smalloc {
namespace {

/// Of a body: longer ones are not what this is for.
constexpr unsigned MaxStatements = 48;
/// Of calls within calls.
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

  /// Code of inline functions is generated after this: all bodies are there.
  void HandleTranslationUnit(ASTContext &Context) override {
    const SourceManager &Sources = Context.getSourceManager();
    for (FunctionDecl *F : Candidates)
      if (Sources.isInSystemHeader(F->getLocation()) && isPlain(*F, 0))
        F->addAttr(NoDebugAttr::CreateImplicit(Context));
  }

private:
  /// They stay one call, or become a few loads and stores.
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

  /// A call of it, without its body, is no site: it returns nothing or a number, and stores no block through an argument.
  static bool givesNoMemory(const FunctionDecl &F) {
    auto *Result = dyn_cast<BuiltinType>(F.getReturnType().getCanonicalType());
    const IdentifierInfo *Name = F.getIdentifier();
    return Result && (Result->isInteger() || Result->getKind() == BuiltinType::Void) &&
           !(Name && Name->getName() == "posix_memalign");
  }

  bool isPlain(const FunctionDecl &Declared, unsigned Depth) {
    // Names of the language, seen through where they are called: std::move and its like.
    if (unsigned Builtin = Declared.getBuiltinID())
      return Declared.isInStdNamespace() || copiesMemory(Builtin) || givesNoMemory(Declared);
    const FunctionDecl *F = nullptr;
    const Stmt *Body = Declared.getBody(F);
    if (!Body) // of another unit: never inlined
      return givesNoMemory(Declared);
    if (Depth > MaxDepth || isa<CXXDestructorDecl>(F))
      return false;
    auto [Known, New] = Plain.try_emplace(F, false); // one that calls itself is not
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
    switch (S->getStmtClass()) {
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
    case Stmt::ExprWithCleanupsClass: // what is destroyed stands in it
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
      break;
    case Stmt::DeclStmtClass:
      for (const Decl *D : cast<DeclStmt>(S)->decls()) {
        auto *Variable = dyn_cast<VarDecl>(D);
        if (Variable && (!Variable->hasLocalStorage() || Variable->getType().isDestructedType()))
          return false;
      }
      break;
    case Stmt::CallExprClass:
    case Stmt::CXXMemberCallExprClass:
    case Stmt::CXXOperatorCallExprClass: {
      const FunctionDecl *Callee = cast<CallExpr>(S)->getDirectCallee();
      auto *Method = dyn_cast_or_null<CXXMethodDecl>(Callee);
      if (!Callee || (Method && Method->isVirtual()) || !isPlain(*Callee, Depth + 1))
        return false;
      break;
    }
    case Stmt::CXXConstructExprClass:
    case Stmt::CXXTemporaryObjectExprClass: {
      const CXXConstructorDecl *Callee = cast<CXXConstructExpr>(S)->getConstructor();
      if (!Callee->isTrivial() && !isPlain(*Callee, Depth + 1))
        return false;
      break;
    }
    default: // loops, new, what is destroyed, all else
      return false;
    }
    for (const Stmt *Part : S->children())
      if (!isPlain(Part, Depth, Left))
        return false;
    return true;
  }

  std::vector<FunctionDecl *> Candidates;
  llvm::DenseMap<const FunctionDecl *, bool> Plain;
};

} // namespace

std::unique_ptr<ASTConsumer> leaveOutLocations() { return std::make_unique<PlainFunctions>(); }

} // namespace smalloc
