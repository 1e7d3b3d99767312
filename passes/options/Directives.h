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

#include "smalloc/agent/directive_line.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

namespace llvm {
class Module;
}

namespace smalloc {

class Directives {
public:
  /// Reads the file \p Name: a path, or path#DIGEST, where DIGEST is the first digits, at least 12,
  /// of the content's SHA-256. The digest makes build tools and compiler caches see another command
  /// line when the content changes. Fails if the file cannot be read, is of another kind, or has
  /// more than 16 MiB.
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
  struct Entry {
    Directive Parsed;
    unsigned Line;
  };

  std::string Path, Machine;
  std::unique_ptr<llvm::MemoryBuffer> Contents; ///< holds the directives' comments
  bool WrongDigest = false, Slower = false;
  unsigned BadLines = 0, FirstBadLine = 0;
  /// Key: id, whether the directive is for one inline chain, and the chain's hash.
  std::map<std::tuple<uint64_t, bool, uint64_t>, Entry> Entries;
};

} // namespace smalloc
#endif
