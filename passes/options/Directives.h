//===- Directives.h - page sizes that a profile prescribes ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads a directives file (docs/reference.md, option profile-use=FILE). A site that the file names
// gets the file's page size, which overrides the compiler's own decision. Invalid lines, sites that
// no longer exist, and a profile of another machine only cause remarks: a profile never fails a
// compilation.
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
  unsigned PageShift = 0; ///< base-2 logarithm of the page size; 12: the program's malloc
  unsigned Line = 0;
  /// The directive kept its promise in Held of the Validated runs that were examined.
  uint64_t Held = 0, Validated = 0;
  uint64_t Superpages = 0;
  std::string Rank, Pmb, Comment;

  /// Returns the value of smalloc_site::worth for the site.
  uint32_t worth() const;
};

class Directives {
public:
  /// Reads the file \p Name: a path, or path#DIGEST, where DIGEST is the first digits of the
  /// content's SHA-256. The digest makes build tools and compiler caches see another command line
  /// when the content changes. Fails if the file cannot be read or is of another kind.
  static llvm::Expected<Directives> load(llvm::StringRef Name);

  /// Returns the directive for a site. One for the site's own inline chain \p Context precedes one
  /// for all its copies. Null: there is none.
  const Directive *find(uint64_t Id, llvm::StringRef Context) const;

  /// Returns why validation dropped \p D, a directive for more than base pages; empty: it still
  /// applies.
  std::string givenUp(const Directive &D) const;

  const std::string &path() const { return Path; }
  /// Returns remarks about the file that hold for every unit, one string each. \p Machine: the
  /// machine compiled for.
  llvm::SmallVector<std::string, 2> complaints(llvm::StringRef Machine) const;
  /// Returns a remark for each directive whose comment names \p Unit although no site of it has the
  /// id. \p HasSite: true if a site of the unit has the id.
  std::vector<std::string> stale(llvm::StringRef Unit,
                                 llvm::function_ref<bool(uint64_t)> HasSite) const;

private:
  bool parse(llvm::StringRef Line, unsigned Number);

  std::string Path, Machine;
  bool WrongDigest = false, Slower = false;
  unsigned BadLines = 0, FirstBadLine = 0;
  std::map<std::pair<uint64_t, uint64_t>, Directive>
      Entries; ///< key: id and hash of the context; hash 0: any context
};

} // namespace smalloc
#endif
