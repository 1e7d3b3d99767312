// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// shared_claims.cpp trusts only a regular file with one name that belongs to this user and that no
// other user may open. It gives up on a lock that it does not get in 5 ms (kTries x kPauseNs; an
// exchange takes some 50 us).
#include "smalloc/agent/shared_claims.h"
#include "smalloc/base/keep_errno.h"
#include "smalloc/base/sleep.h"
#include "smalloc/base/text.h"
#include "smalloc/base/units.h"
#include "smalloc/files/quiet_file.h"
#include "smalloc/files/uncancelled.h"
#include "smalloc/os/own_stack.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace smalloc {
namespace {

constexpr uint64_t kMostSuperpages = uint64_t{1} << 32; ///< of one claim: 8 PiB
constexpr unsigned kTries = 50;
constexpr long kPauseNs = 100000;

bool is_ours_alone(const struct stat &info) {
  return S_ISREG(info.st_mode) && info.st_uid == geteuid() && (info.st_mode & 077) == 0 &&
         info.st_nlink == 1;
}

bool locked(int fd) {
  for (unsigned i = 0; i < kTries; i++) {
    if (flock(fd, LOCK_EX | LOCK_NB) == 0)
      return true;
    sleep_ns(kPauseNs);
  }
  return false;
}

/// Returns an open, locked file that still has its name, or -1.
int open_locked(const char *path, bool create) {
  for (unsigned tries = 0; tries < 4; tries++) {
    const int fd = uncancelled::open(
        path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | (create ? O_CREAT : 0),
        0600);
    if (fd < 0)
      return -1;
    struct stat info = {};
    if (fstat(fd, &info) != 0 || !is_ours_alone(info)) {
      // The last of the other processes has unlinked it: try a new one.
      const bool gone = S_ISREG(info.st_mode) && info.st_nlink == 0;
      uncancelled::close(fd);
      if (gone)
        continue;
      return -1;
    }
    if (!locked(fd)) {
      uncancelled::close(fd);
      return -1;
    }
    if (fstat(fd, &info) == 0 && is_ours_alone(info))
      return fd;
    uncancelled::close(fd);
  }
  return -1;
}

} // namespace

uint64_t exchange_claims(ClaimTable &table, size_t bytes_read, const Claim &mine, IsAlive alive,
                         bool &any) {
  const size_t header = sizeof table.magic;
  const bool known = bytes_read >= header && memcmp(table.magic, kClaimsMagic, header) == 0;
  const size_t whole = known ? min_of((bytes_read - header) / sizeof(Claim), kMostClaims) : 0;
  memcpy(table.magic, kClaimsMagic, header);
  memset(table.claims + whole, 0, (kMostClaims - whole) * sizeof(Claim));
  uint64_t others = 0;
  Claim *place = nullptr;
  any = false;
  for (Claim &claim : table.claims) {
    const bool own = claim.pid == mine.pid && claim.start_ticks == mine.start_ticks;
    const bool sane = claim.pid != 0 && claim.pid < uint64_t{1} << 32 && claim.superpages != 0 &&
                      claim.superpages <= kMostSuperpages;
    if (!sane || own || !alive(claim.pid, claim.start_ticks)) {
      claim = {};
      if (!place)
        place = &claim;
      continue;
    }
    others += claim.superpages; // at most 255 x 2^32
    any = true;
  }
  if (place && mine.superpages) {
    *place = mine;
    place->superpages = min_of(mine.superpages, kMostSuperpages);
    any = true;
  }
  return others;
}

void SharedClaims::init(const char *folder, const Claim &self, IsAlive alive) {
  TextBuffer<sizeof path_> path;
  path.put(folder).put("/smalloc.").number(geteuid());
  if (path.size() >= sizeof path_ || self.start_ticks == 0)
    return; // without /proc an ended process cannot be detected
  memcpy(path_, path.data(), path.size());
  path_[path.size()] = 0;
  self_ = self;
  alive_ = alive;
}

bool SharedClaims::exchange(uint64_t superpages, uint64_t &others) {
  others = 0;
  if (!*path_)
    return false;
  bool done = false;
  on_own_stack([&] { done = exchange_table(superpages, others); });
  return done;
}

bool SharedClaims::exchange_table(uint64_t superpages, uint64_t &others) {
  KeepErrno keep;
  const int fd = open_locked(path_, superpages != 0);
  if (fd < 0) {
    claiming_ = claiming_ && superpages != 0;
    return superpages == 0;
  }
  ClaimTable table;
  size_t got = 0;
  while (got < sizeof table) {
    const ssize_t n = uncancelled::pread(fd, reinterpret_cast<char *>(&table) + got,
                                         sizeof table - got, static_cast<off_t>(got));
    if (n <= 0)
      break;
    got += static_cast<size_t>(n);
  }
  Claim mine = self_;
  mine.superpages = superpages;
  bool any;
  others = exchange_claims(table, got, mine, alive_, any);
  bool done = true;
  if (any)
    done = write_quietly_at(fd, &table, sizeof table, 0) == static_cast<ssize_t>(sizeof table);
  else
    unlink(path_);
  flock(fd, LOCK_UN); // a child that another thread has just forked keeps the file open
  uncancelled::close(fd);
  claiming_ = done && superpages != 0;
  return done;
}

} // namespace smalloc
