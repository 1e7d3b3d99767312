//===- DirectiveUse.h - applies the directives of a profile ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Replaces the compiler's decisions with those of the directives file of plugin option profile-use.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_DIRECTIVEUSE_H
#define SMALLOC_PASSES_DIRECTIVEUSE_H

#include "passes/decisions/SiteDecision.h"
#include "passes/options/Options.h"

namespace smalloc {

/// Applies the directives file of \p O to \p Sites. Does nothing if there is no file.
void obeyDirectives(std::vector<SiteDecision> &Sites, const Options &O);

} // namespace smalloc
#endif
