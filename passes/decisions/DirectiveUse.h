//===- DirectiveUse.h - decisions of a profile, at compile time ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Replaces the compiler's decisions by those of the directives file of plugin option profile-use.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_DIRECTIVEUSE_H
#define SMALLOC_PASSES_DIRECTIVEUSE_H

#include "passes/decisions/SiteDecision.h"
#include "passes/options/Options.h"

namespace smalloc {

/// Makes the sites obey the file of \p O, if there is one.
void obeyDirectives(std::vector<SiteDecision> &Sites, const Options &O);

} // namespace smalloc
#endif
