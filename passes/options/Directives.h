//===- Directives.h - decisions of a profile, at compile time -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what a directives file (docs/directives.md, profile-use=FILE) changes in a unit: a site that it names gets its
// page size, over the compiler's own decision. Lines that make no sense, sites that are no longer there, and another
// machine's profile are remarks: a profile never fails a compile.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_DIRECTIVES_H
#define SMALLOC_PASSES_DIRECTIVES_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <map>
#include <string>
#include <vector>

namespace llvm {
class Module;
}

namespace smalloc {

struct Directive {
  unsigned PageShift = 0; ///< 12: the program's malloc
  unsigned Line = 0;
  uint64_t Held = 0,
           Validated = 0; ///< it did what it promised in so many of the runs that were looked at
  uint64_t Superpages = 0;
  std::string Rank, Pmb, Comment;

  /// As smalloc_site::worth.
  uint32_t worth() const;
};

class Directives {
public:
  /// \p Name is a path, or path#DIGEST: the first digits of the content's SHA-256, so that build tools and compiler
  /// caches see another content as another command line. Fails when the file cannot be read or is of another kind.
  static llvm::Expected<Directives> load(llvm::StringRef Name);

  /// The directive for a site: that of its own inline chain goes before that for all copies. Null: there is none.
  const Directive *find(uint64_t Id, llvm::StringRef Context) const;

  /// Of a directive that is for more than base pages: why validation has left nothing of that. Empty: it stands.
  std::string givenUp(const Directive &D) const;

  const std::string &path() const { return Path; }
  /// What people should know of the file, whatever the unit: one remark each.
  llvm::SmallVector<std::string, 2> complaints(llvm::StringRef Machine) const;
  /// Directives that by their comment are of \p Unit but whose id no site has (\p HasSite).
  std::vector<std::string> stale(llvm::StringRef Unit,
                                 llvm::function_ref<bool(uint64_t)> HasSite) const;

private:
  bool parse(llvm::StringRef Line, unsigned Number);

  std::string Path, Machine;
  bool WrongDigest = false, Slower = false;
  unsigned BadLines = 0, FirstBadLine = 0;
  std::map<std::pair<uint64_t, uint64_t>, Directive>
      Entries; ///< by id and hash of the context; 0: any
};

} // namespace smalloc
#endif
