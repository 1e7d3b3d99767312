// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// options.h decides what a user may set in SMALLOC_CONF="key:value,key:value" and what happens
// otherwise. Parsing allocates nothing and never fails: what is not understood costs one warning
// line and is ignored.
#ifndef SMALLOC_CONFIG_OPTIONS_H
#define SMALLOC_CONFIG_OPTIONS_H

#include "smalloc/base/numbers.h"
#include "smalloc/numa/live_options.h"

#include <stddef.h>
#include <stdint.h>

namespace smalloc {

enum class HeapStrategy : uint8_t {
  kAuto = 0,
  kOff = 1,
  kSuperpage = 2,
  kMigrate = 3,
  kGuest = 4
}; // as site.h
enum class PageBacking : uint8_t { kThp, kHugetlb, kGigantic, kMedium, kBase };
enum class FirstTouchPolicy : uint8_t { kAuto, kAlways };
enum class Promoter : uint8_t { kAuto, kCalls, kThread };
enum class PromotePolicy : uint8_t { kAuto, kOff, kEager };

struct Options {
  /// heap:auto|off|superpage|migrate|guest. Not given: what the images were compiled for (auto
  /// unless the plugin's option says otherwise).
  HeapStrategy heap = HeapStrategy::kAuto;
  bool heap_given = false;

  /// pages:thp|hugetlb|1g|mthp|base: the first step of the ladder (page_fallback.h); what cannot be had
  /// comes from the next. hugetlb and 1g back objects that get superpages at first touch; the pools' sizes
  /// are the limit.
  PageBacking pages = PageBacking::kThp;
  /// force:on: ask for superpages although the administrator set THP to never. Only together with
  /// pages:thp.
  bool force = false;

  /// budget:512m or budget:10% (of what the process has in memory): most bytes on superpages at a time. 0: no
  /// limit.
  uint64_t budget_bytes = 0;
  unsigned budget_percent = 0;

  /// cache:64m: most bytes of freed units that are kept for the next object. What is really kept is
  /// less: see UnitCache in big_objects.h. 64 MiB is what glibc keeps at most in its top chunk (2 x
  /// M_MMAP_THRESHOLD_MAX).
  uint64_t cache_bytes = uint64_t{64} << 20;

  /// populate:auto|always. auto: superpages at first touch where their first touch is not dear (first_touch_cost.h); always: whatever it costs.
  /// A directive, and who asks by the C interface or heap:superpage, gets them always.
  FirstTouchPolicy populate = FirstTouchPolicy::kAuto;

  /// promote:auto|off|eager. auto: ski rental (promotion.h); eager: every dense unit at once,
  /// whatever it costs (for measurements); off: objects that start on base pages stay there.
  PromotePolicy promote = PromotePolicy::kAuto;

  /// promoter:auto|calls|thread: who looks for promotions where no promotion point does: the
  /// program's calls of the allocator, or a thread while something waits (promotion_thread.h). auto: a
  /// thread under heap:auto, in a process with 32 MiB of big objects, while one is being filled.
  Promoter promoter = Promoter::kAuto;

  /// demote:N% | auto | off: most memory that superpages of small objects may hold without an object
  /// in it, as a share of those objects' pages; beyond that the emptiest superpages become base pages
  /// and give it back. off (0): superpages are kept until they are empty, and a budget that is used
  /// up stays with who has it. auto: 10 %, the fragmentation that is promised; see docs/memory.md.
  unsigned demote_percent = 10;

  /// walk_near:35, walk_far:89: cycles of a page walk whose entries are in the second-level cache /
  /// in memory. What a saved TLB miss is worth. 0: the preset of this processor (machine.h).
  unsigned walk_near_cycles = 0;
  unsigned walk_far_cycles = 0;

  /// reserve:256g: address space to reserve. 0: 1 TiB, less under RLIMIT_AS.
  uint64_t reserve_bytes = 0;

  /// only-ours:on: where THP is always on, only memory of ours gets it. Inherited by children.
  bool only_ours = false;

  /// stats:off, or words with + between them: exit (a table on standard error when the program
  /// ends), json (the same as JSON), jemalloc (the private jemalloc's report too), sites (charge
  /// small objects to their sites, by sampling, for `smalloc stats PID`; exit implies it).
  /// off: not even `smalloc stats PID`.
  bool stats_at_exit = false, stats_json = false, stats_jemalloc = false, stats_sites = false;
  bool stats_live = true;
  /// stats_file:FILE: where the table at exit goes; %p process, %h host, %r MPI rank.
  char stats_file[256] = "";
  /// directives:FILE: decisions of an earlier profile (agent/directives.h), which overrule the compiler's.
  char directives[256] = "";
  /// validate:on|off: report at the end what the run took and whether the directives held (agent/run_report.h). Not given:
  /// where there are directives.
  bool validate = false, validate_given = false;
  /// input:NAME: what the program works on, where its arguments do not tell.
  char input[128] = "";
  /// trace:FILE is libsmalloc_feedback.so's; here only so that its absence can be told.
  bool trace = false;
  /// static:on, text:on: the program's own static data and code on superpages (image_superpages.h).
  bool static_on_superpages = false, text_on_superpages = false;
  /// stack:on: the main thread's stack, too.
  bool stack_on_superpages = false;

  /// numa:..., numa_...: numa/live_options.h.
  numa::LiveOptions numa;

  /// debug:on: one line when the heaps start, wrong frees of our pointers reported and ignored,
  /// invariants checked at exit.
  bool debug = false;
  /// abort:true: wrong frees of our pointers reported, then abort(). This key and debug:on make every
  /// object known by address, which costs about 24 bytes and 100 ns an object. Without either, those of
  /// big objects end the program all the same, unless abort:false is given.
  bool abort_on_error = false;
  bool abort_given = false;

  /// sysfs:DIR: where /sys is; for tests and containers.
  char sysfs[256] = "/sys";
};

/// Receives one finished line, newline included.
using WarningSink = void (*)(Text line);

/// Overwrites what `conf` sets. privileged: a set-uid program; then everything but heap:off is
/// ignored.
void parse_options(Text conf, bool privileged, Options &options, WarningSink warn);

} // namespace smalloc
#endif
