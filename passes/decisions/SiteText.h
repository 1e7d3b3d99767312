//===- SiteText.h - texts about a site ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Makes the phrases about a site. Remarks, the descriptor's "why" and `smalloc sites` share them.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_SITETEXT_H
#define SMALLOC_PASSES_SITETEXT_H

#include "passes/decisions/SiteDecision.h"
#include <string>

namespace smalloc {

/// Returns the location to report for \p I: the innermost frame of its inline chain outside system
/// headers. That is the line that grows the vector, not the allocator's line. Returns the call's
/// own location if all frames are in system headers; null without locations.
const llvm::DILocation *userLocation(const llvm::Instruction &I);

/// Sets file, line, column, function and inline chain of \p V from the debug location of V.Call.
/// The plugin switches on debug locations without -g.
void describeLocation(SiteDecision &V, const llvm::Module &M);
/// Sets the size, the element size and their text from the call's arguments. Calls \p Evolution
/// only if the size is no constant.
void describeSize(SiteDecision &V, llvm::function_ref<llvm::ScalarEvolution &()> Evolution);

std::string pagesText(double Pages);            ///< "1 page", "1953 pages"
std::string missesText(double MissesPerAccess); ///< "0.97 TLB misses an access"
std::string bytesText(uint64_t Bytes);          ///< "8.2 MiB"
std::string nestText(const LoopReference &R);   ///< "the loop at line 20"
std::string motionText(const LoopReference &R); ///< "picked at random through loaded indices"
/// Returns the page count as an expression, e.g. "min(i*j, size/4096)". Known trip counts appear as
/// numbers.
std::string spreadText(const LoopReference &R, uint64_t PageBytes);
/// Returns "malloc of 8000000 bytes in 'f'".
std::string siteText(const SiteDecision &V);
llvm::StringRef patternName(smalloc_pattern P);
llvm::StringRef decisionName(smalloc_decision D);

} // namespace smalloc
#endif
