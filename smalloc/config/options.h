// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// options.h holds the settings of SMALLOC_CONF="key:value,key:value" and their defaults. Parsing
// allocates nothing and never fails: an unknown key or bad value costs one warning line and is
// ignored.
#ifndef SMALLOC_CONFIG_OPTIONS_H
#define SMALLOC_CONFIG_OPTIONS_H

#include "smalloc/base/numbers.h"
#include "smalloc/numa/live_options.h"

#include <stdint.h>

namespace smalloc {

enum class HeapStrategy : uint8_t {
  kAuto = 0,
  kOff = 1,
  kSuperpage = 2,
  kMigrate = 3,
  kGuest = 4
}; // the same numbers as in site.h
enum class PageBacking : uint8_t { kThp, kHugetlb, kGigantic, kMedium, kBase };
enum class FirstTouchPolicy : uint8_t { kAuto, kAlways };
enum class PromotePolicy : uint8_t { kAuto, kOff, kEager, kCalls, kThread };

struct Options {
  /// heap:auto|off|superpage|migrate|guest. If not given, the setting for which the images were
  /// compiled (auto unless the plugin's option changes it).
  HeapStrategy heap = HeapStrategy::kAuto;
  bool heap_given = false;

  /// pages:thp|hugetlb|1g|mthp|base: the first step of the fallback (page_fallback.h). If it is not
  /// available, the next step serves. hugetlb and 1g back objects that get superpages at first
  /// touch, as far as the pools' sizes allow.
  PageBacking pages = PageBacking::kThp;
  /// force:on: request superpages although the administrator set THP to never. Only with pages:thp.
  bool force = false;

  /// budget:512m or budget:10% (of the process' resident memory): at most this much memory is on
  /// superpages at a time. 0: no limit.
  uint64_t budget_bytes = 0;
  unsigned budget_percent = 0;

  /// cache:64m: at most this much memory of freed units is kept for the next object. Usually less
  /// is kept: see UnitCache in big_objects.h. 64 MiB is what glibc keeps at most in its top chunk
  /// (2 x M_MMAP_THRESHOLD_MAX).
  uint64_t cache_bytes = uint64_t{64} << 20;

  /// populate:auto|always. auto: superpages at first touch unless their first touch is too
  /// expensive (first_touch_cost.h). always: whatever the cost. Directives, the C interface and
  /// heap:superpage give superpages at first touch always.
  FirstTouchPolicy populate = FirstTouchPolicy::kAuto;

  /// promote:auto|off|eager|calls|thread. auto: ski rental (ski_rental.h); eager: every dense unit
  /// at once, whatever the cost (for measurements); off: objects that start on base pages stay
  /// there. calls, thread: as auto, and where no promotion point is, only the program's calls of
  /// the allocator look for promotions, or always a thread while an object waits
  /// (promotion_thread.h). Otherwise both look, the thread under the conditions of
  /// Runtime::wake_helper().
  PromotePolicy promote = PromotePolicy::kAuto;
  /// False: there is no helper thread (promote:calls, and a process that filters its system calls).
  bool helper_thread = true;

  /// demote:N% | auto | off: limit on the unused memory in superpages of small objects, as a share
  /// of the pages in use. Beyond that the emptiest superpages become base pages and release their
  /// unused ones. off (0): superpages stay until they are empty, and a used-up budget stays with
  /// its owners. auto: 10 %, the documented limit of fragmentation (docs/memory.md).
  unsigned demote_percent = 10;

  /// reserve:256g: address space to reserve, in bytes. 0: 16 times the machine's memory, within
  /// 16 GiB and 1 TiB; less under the process' limits (Runtime::bytes_to_reserve()).
  uint64_t reserve_bytes = 0;

  /// True for `only-advised:on`. With THP=always the kernel then gives superpages to the memory
  /// that libsmalloc advises and to no other. Child processes inherit the setting.
  bool only_advised = false;

  /// stats:off, or words with + between them: exit (a table on standard error when the program
  /// ends), json (the same as JSON), jemalloc (the private jemalloc's report too), sites (charge
  /// small objects to their sites, by sampling, for `smalloc stats PID`; exit implies it). off
  /// disables even `smalloc stats PID`.
  bool stats_at_exit = false, stats_json = false, stats_jemalloc = false, stats_sites = false;
  bool stats_live = true;
  /// stats_file:FILE: destination of the table at exit; %p process, %h host, %r MPI rank.
  char stats_file[256] = "";
  /// directives:FILE: decisions of an earlier profile (agent/directives.h), which overrule the
  /// compiler's.
  char directives[256] = "";
  /// validate:on|off: report at the end the costs of the run and whether the directives held
  /// (agent/run_report.h). If not given, on with directives.
  bool validate = false, validate_given = false;
  /// input:NAME: name of the program's input, if its arguments do not identify it.
  char input[128] = "";
  /// trace:FILE belongs to libsmalloc_feedback.so; libsmalloc reads it to report that library's
  /// absence.
  bool trace = false;
  /// program:off, or words with + between them: static, text, stack (the main thread's) put the
  /// program's own memory on superpages (image_superpages.h).
  bool static_on_superpages = false, text_on_superpages = false, stack_on_superpages = false;

  /// numa:..., numa_...: see numa/live_options.h.
  numa::LiveOptions numa;

  /// debug:on: print one line at the program's start and one when the heaps start, report and
  /// ignore wrong frees of libsmalloc's pointers, check invariants at exit.
  bool debug = false;
  /// abort:true: report wrong frees of libsmalloc's pointers, then abort(). This key and debug:on
  /// record every object's address, which costs about 24 bytes and 100 ns an object. Without
  /// either, wrong frees of big objects still end the program, unless abort:false is given.
  bool abort_on_error = false;
  bool abort_given = false;

  /// sysfs:DIR: path of /sys, for tests and containers.
  char sysfs[256] = "/sys";
};

/// Function that receives one finished line, newline included.
using WarningSink = void (*)(Text line);

/// Parses `conf` and overwrites the options that it sets. `privileged`: a set-uid program; ignores
/// everything but heap:off then.
void parse_options(Text conf, bool privileged, Options &options, WarningSink warn);

/// Switches off everything that works on pages: the heaps, superpages of the program's own image,
/// directives, and NUMA placement.
void switch_pages_off(Options &options);

} // namespace smalloc
#endif
