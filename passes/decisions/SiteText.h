//===- SiteText.h - what people read about a site ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the words: the same phrases stand in remarks, in the descriptor's "why", and in `smalloc sites`.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_SITETEXT_H
#define SMALLOC_PASSES_SITETEXT_H

#include "passes/decisions/SiteDecision.h"
#include <string>

namespace smalloc {

/// Where people look: the innermost frame of the call's inline chain that is not in a system header (the line that
/// grows the vector, not the allocator's); the call's own location if there is none. Null without locations.
const llvm::DILocation *userLocation(const llvm::Instruction &I);

/// File, line, column, function and inline chain of V.Call from its debug location (which the plugin switches on without -g).
void describeLocation(SiteDecision &V, const llvm::Module &M);
/// Size, element size and their text from the call's arguments.
/// \p Evolution: asked only where the size is no constant.
void describeSize(SiteDecision &V, llvm::function_ref<llvm::ScalarEvolution &()> Evolution);

std::string pagesText(double Pages);            ///< "1 page", "1953 pages"
std::string missesText(double MissesPerAccess); ///< "0.97 TLB misses an access"
std::string bytesText(uint64_t Bytes);          ///< "8.2 MiB"
std::string nestText(const LoopReference &R);   ///< "the loop at line 20"
std::string motionText(const LoopReference &R); ///< "picked at random through loaded indices"
/// Pages as an expression, e.g. "min(n*m, size/4096)"; trip counts that are known stand as numbers.
std::string spreadText(const LoopReference &R, uint64_t PageBytes);
/// "malloc of 8000000 bytes in 'f'"
std::string siteText(const SiteDecision &V);

} // namespace smalloc
#endif
