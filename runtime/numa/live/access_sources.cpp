// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// access_sources.cpp decides the order in which sources are tried, how each event is asked for, and which of its samples
// are accesses to memory.
#include "runtime/numa/live/access_sources.h"
#include "runtime/numa/live/pages.h"
#include "smalloc/base/keep_errno.h"
#include "smalloc/base/numbers.h"
#include "smalloc/base/units.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace smalloc::numa {
namespace {

#if defined(__aarch64__)
constexpr uint64_t kKernelHalf = uint64_t{1} << 52;
#else
constexpr uint64_t kKernelHalf = uint64_t{1} << 47;
#endif
/// ax bx cx dx si di bp sp, r8 to r15 (asm/perf_regs.h).
constexpr uint64_t kRegisterMask = 0xff00ff;

/// A part of an event's file. errno says why not.
void *map_event(int fd, size_t bytes, off_t from) {
  void *place = place_for(bytes);
  return mmap(place, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | (place ? MAP_FIXED : 0), fd, from);
}
int kernel_open_auxiliary(const perf_event_attr &attr, int cpu, size_t bytes, size_t aux_bytes,
                          void **mapping, void **aux) {
  KeepErrno keep;
  int error = 0;
  const int fd =
      static_cast<int>(syscall(SYS_perf_event_open, &attr, 0, cpu, -1, PERF_FLAG_FD_CLOEXEC));
  if (fd < 0)
    return errno;
  *mapping = map_event(fd, bytes, 0);
  if (*mapping == MAP_FAILED) {
    error = errno;
  } else if (aux_bytes) {
    auto *page = static_cast<perf_event_mmap_page *>(*mapping);
    page->aux_offset = bytes;
    page->aux_size = aux_bytes;
    *aux = map_event(fd, aux_bytes, static_cast<off_t>(bytes));
    if (*aux == MAP_FAILED) {
      error = errno;
      munmap(*mapping, bytes);
    }
  }
  ::close(fd); // the mappings keep the event
  return error;
}
int kernel_open(const perf_event_attr &attr, int cpu, size_t bytes, void **mapping) {
  return kernel_open_auxiliary(attr, cpu, bytes, 0, mapping, nullptr);
}
void kernel_close(void *mapping, size_t bytes) { munmap(mapping, bytes); }
long kernel_read(const char *path, char *buffer, size_t capacity) {
  const int before = errno;
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  const ssize_t n = fd < 0 ? -1 : read(fd, buffer, capacity - 1);
  if (fd >= 0)
    ::close(fd);
  if (n >= 0)
    buffer[n] = 0;
  errno = before;
  return n;
}

perf_event_attr event(uint32_t type, uint64_t config, uint64_t period, uint64_t sample_type) {
  perf_event_attr a = {};
  a.type = type;
  a.size = sizeof a;
  a.config = config;
  a.sample_period = period;
  a.sample_type = sample_type;
  a.exclude_kernel = 1;
  a.exclude_hv = 1;
  a.inherit = 1;
  a.inherit_thread = 1; // threads, not children
  a.watermark = 1;      // nobody is woken: the profiler looks
  a.wakeup_watermark = UINT32_MAX;
  return a;
}

/// "event=0xcd,umask=0x1,ldlat=3" as in sysfs; absent: 0.
uint64_t event_term(const char *text, const char *term) {
  const size_t length = strlen(term);
  for (const char *at = text; (at = strstr(at, term)); at++)
    if ((at == text || at[-1] == ',') && at[length] == '=') {
      uint64_t value = 0;
      at += length + 1;
      const unsigned base = at[0] == '0' && at[1] == 'x' ? 16 : 10;
      for (at += base == 16 ? 2 : 0;; at++) {
        const char c = *at;
        const unsigned digit = c >= '0' && c <= '9'   ? static_cast<unsigned>(c - '0')
                               : c >= 'a' && c <= 'f' ? static_cast<unsigned>(c - 'a' + 10)
                                                      : 99;
        if (digit >= base)
          return value;
        value = value * base + digit;
      }
    }
  return 0;
}

/// Was it served by the first or second level? Not known counts as memory.
bool from_near_cache(uint64_t data_source) {
  const uint64_t level = data_source >> PERF_MEM_LVL_SHIFT;
  return (level & PERF_MEM_LVL_HIT) && (level & (PERF_MEM_LVL_L1 | PERF_MEM_LVL_L2));
}

// --- What the program tells. ---
SampleRing *g_ring;
std::atomic<uint32_t> g_listen_period{0};

/// One access of every N, at a place by chance: a loop over a power of two would show every N-th the same few pages for ever.
struct Stratum {
  uint64_t until;  ///< the sample is the so manieth access from here; 0: not begun
  uint64_t behind; ///< accesses of the N that follow it
  uint32_t period, random;

  void begin(uint32_t n) {
    period = n;
    if (random == 0)
      random = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(this) >> 4) | 1;
    until = behind = 0;
    next();
  }
  void next() {
    constexpr uint32_t kChanceFrom = 64; // below, one in N is hardly a regular pattern of pages
    random ^= random << 13;
    random ^= random >> 17;
    random ^= random << 5;
    const uint32_t place = period < kChanceFrom ? period - 1 : random % period;
    until += behind + 1 + place;
    behind = period - 1 - place;
  }
};
__thread Stratum t_stratum __attribute__((tls_model("initial-exec")));

} // namespace

const PerfHooks kKernelPerf = {kernel_open, kernel_close, kernel_read, kernel_open_auxiliary};

void tell_access(uint64_t address, uint32_t accesses) {
  const uint32_t period = g_listen_period.load(std::memory_order_acquire);
  if (period == 0)
    return;
  constexpr uint64_t kMostAtOnce = 64; // samples of one page: it is known by now
  uint64_t left = min_of(uint64_t{accesses}, kMostAtOnce * period);
  Stratum &stratum = t_stratum;
  if (stratum.period != period)
    stratum.begin(period);
  while (left >= stratum.until) {
    const int cpu = sched_getcpu();
    g_ring->put(address, cpu < 0 ? 0 : static_cast<uint32_t>(cpu));
    left -= stratum.until;
    stratum.until = 0;
    stratum.next();
  }
  stratum.until -= left;
}

void listen_to_accesses(unsigned sample_period) {
  if (sample_period && !g_ring) {
    g_ring = static_cast<SampleRing *>(map_pages(sizeof(SampleRing))); // zeroes are its beginning
    if (!g_ring)
      return;
  }
  g_listen_period.store(sample_period, std::memory_order_release);
}

uint32_t clock_stands_for(unsigned clock_us, double local_ns) {
  constexpr double kWaiting = 0.25;
  const double n = clock_us * 1000.0 * kWaiting / (local_ns > 0 ? local_ns : 1);
  return n < 1 ? 1 : static_cast<uint32_t>(n);
}

bool AccessSources::read_text(const char *root, const char *path, char *text,
                              size_t capacity) const {
  char full[512];
  const int n = snprintf(full, sizeof full, "%s%s", root, path);
  return n > 0 && static_cast<size_t>(n) < sizeof full &&
         config_.hooks->read_file(full, text, capacity) > 0;
}

bool AccessSources::open_rings(const perf_event_attr &attr, const Topology &topology) {
  size_t count = 0, opened = 0;
  for (unsigned cpu = 0; cpu < kMaxCpus; cpu++)
    count += topology.node_of_cpu[cpu] != kNoNode;
  const size_t bytes = count * (sizeof(PerfRing) + sizeof(void *));
  auto *memory = static_cast<char *>(map_pages(bytes));
  if (!memory)
    return false;
  auto *rings = reinterpret_cast<PerfRing *>(memory);
  auto **mappings = reinterpret_cast<void **>(memory + count * sizeof(PerfRing));
  perf_event_attr a = attr;
  a.disabled = config_.idle;
  for (unsigned cpu = 0; cpu < kMaxCpus; cpu++) {
    if (topology.node_of_cpu[cpu] == kNoNode)
      continue;
    void *p = nullptr;
    void *aux = nullptr;
    const auto open = [&] {
      return auxiliary_ ? config_.hooks->open_auxiliary(a, static_cast<int>(cpu), kRingBytes,
                                                        kAuxBytes, &p, &aux)
                        : config_.hooks->open(a, static_cast<int>(cpu), kRingBytes, &p);
    };
    int error = open();
    if (error == EINVAL && a.inherit_thread) { // before Linux 5.13
      a.inherit_thread = 0;
      error = open();
    }
    if (error == ENODEV || (error == EINVAL && opened)) // a processor that is offline, or not there
      continue;
    if (error) {
      error_ = error;
      break;
    }
    mappings[opened] = p;
    if (auxiliary_)
      auxiliary_[opened] = {SpeRing(static_cast<perf_event_mmap_page *>(p),
                                    static_cast<unsigned char *>(aux), kAuxBytes),
                            cpu, aux};
    rings[opened++] = PerfRing(p, 4096, kDataPages * 4096, a.sample_type);
  }
  if (error_ || opened == 0) {
    for (size_t i = 0; i < opened; i++) {
      config_.hooks->close(mappings[i], kRingBytes);
      if (auxiliary_)
        config_.hooks->close(auxiliary_[i].memory, kAuxBytes);
    }
    unmap_pages(memory, bytes);
    return false;
  }
  rings_ = rings;
  mappings_ = mappings;
  rings_count_ = opened;
  rings_bytes_ = bytes;
  return true;
}

bool AccessSources::open_pmu(const Topology &topology) {
  constexpr uint64_t kSample =
      PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_ADDR | PERF_SAMPLE_CPU | PERF_SAMPLE_DATA_SRC;
  /// Beyond the second level, on whatever machine.
  constexpr uint64_t kLeastLatencyCycles = 64;
  char text[256];
  uint64_t type;
  for (const char *unit : {"cpu", "cpu_core"}) {
    char path[128];
    snprintf(path, sizeof path, "/bus/event_source/devices/%s/events/mem-loads", unit);
    if (!read_text(config_.sysfs, path, text, sizeof text))
      continue;
    const uint64_t code = event_term(text, "event"), mask = event_term(text, "umask");
    snprintf(path, sizeof path, "/bus/event_source/devices/%s/type", unit);
    if (!code || !read_text(config_.sysfs, path, text, sizeof text) ||
        !parse_number(Text(text, strcspn(text, "\n")), type))
      continue;
    perf_event_attr a =
        event(static_cast<uint32_t>(type), code | mask << 8, config_.sample_period, kSample);
    a.config1 = kLeastLatencyCycles;
    a.precise_ip = 2;
    error_ = 0;
    if (open_rings(a, topology)) {
      stands_for_ = config_.sample_period;
      return true;
    }
  }
  if (read_text(config_.sysfs, "/bus/event_source/devices/ibs_op/type", text, sizeof text) &&
      parse_number(Text(text, strcspn(text, "\n")), type)) {
    // IBS counts operations, not accesses, in steps of 16, and cannot leave out the kernel itself.
    constexpr uint64_t kCountOperations = uint64_t{1} << 19;
    perf_event_attr a = event(static_cast<uint32_t>(type), kCountOperations,
                              uint64_t{config_.sample_period} * 16, kSample);
    a.exclude_kernel = a.exclude_hv = 0;
    error_ = 0;
    if (open_rings(a, topology)) {
      stands_for_ = config_.sample_period * 16;
      return true;
    }
  }
  if (!error_ && open_spe(topology))
    return true;
  if (!error_)
    error_ = ENOENT;
  return false;
}

/// Arm. An operation in so many is followed from its dispatch to its end, and written down if it was a load or a store.
bool AccessSources::open_spe(const Topology &topology) {
  char text[64];
  uint64_t type;
  if (!read_text(config_.sysfs, "/bus/event_source/devices/arm_spe_0/type", text, sizeof text) ||
      !parse_number(Text(text, strcspn(text, "\n")), type))
    return false;
  constexpr uint64_t kJitter = uint64_t{1} << 16, kLoads = uint64_t{1} << 33,
                     kStores = uint64_t{1} << 34;
  const size_t bytes = kMaxCpus * sizeof(Auxiliary);
  auxiliary_ = static_cast<Auxiliary *>(map_pages(bytes));
  if (!auxiliary_)
    return false;
  const perf_event_attr a =
      event(static_cast<uint32_t>(type), kJitter | kLoads | kStores, config_.sample_period, 0);
  if (open_rings(a, topology)) {
    stands_for_ = config_.sample_period;
    return true;
  }
  unmap_pages(auxiliary_, bytes);
  auxiliary_ = nullptr;
  return false;
}

bool AccessSources::from_spe(Touch &touch) {
  SpeRecord r;
  for (size_t looked = 0; looked < rings_count_;) {
    Auxiliary &a = auxiliary_[turn_];
    if (!a.ring.next(r)) {
      PerfSample none;
      rings_[turn_].next(none); // what the kernel says about the auxiliary area, and what was lost
      turn_ = (turn_ + 1) % rings_count_;
      looked++;
      continue;
    }
    bool ours = false;
    for (unsigned i = 0; i < ignored_count_; i++)
      ours |= r.thread && r.thread == ignored_[i];
    if (ours || r.ip >= kKernelHalf || !(r.load || r.store) || !r.missed_first_level ||
        r.address == 0 || r.address >= kKernelHalf)
      continue;
    touch = {r.address, a.cpu};
    return true;
  }
  return false;
}

bool AccessSources::open_clock(const Topology &topology) {
  auto *memory = static_cast<OperandAddress *>(map_pages(sizeof(OperandAddress)));
  if (!memory)
    return false;
  why_ = memory->open(config_.code);
  error_ = 0;
  perf_event_attr a =
      event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, uint64_t{config_.clock_us} * 1000,
            PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_CPU | PERF_SAMPLE_REGS_USER);
  a.sample_regs_user = kRegisterMask;
  if (why_ || !open_rings(a, topology)) {
    unmap_pages(memory, sizeof(OperandAddress));
    return false;
  }
  operands_ = memory;
  double local = 0;
  for (unsigned n = 0; n < topology.nodes; n++)
    local = local > topology.latency(n, n) ? local : topology.latency(n, n);
  stands_for_ = clock_stands_for(config_.clock_us, local);
  return true;
}

bool AccessSources::open_faults(const Topology &topology) {
  char text[64];
  if (config_.wanted == CountSource::kAuto &&
      (!read_text(config_.procfs, "/sys/kernel/numa_balancing", text, sizeof text) ||
       text[0] == '0')) {
    why_ = "page faults say nothing while kernel.numa_balancing is 0";
    return false;
  }
  error_ = 0;
  const perf_event_attr a =
      event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, 1,
            PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_ADDR | PERF_SAMPLE_CPU);
  stands_for_ = config_.sample_period;
  return open_rings(a, topology);
}

const char *AccessSources::open(const Config &config, const Topology &topology) {
  config_ = config;
  const bool any = config.wanted == CountSource::kAuto;
  why_ = nullptr;
  if ((any || config.wanted == CountSource::kPmu) && open_pmu(topology))
    kind_ = CountSource::kPmu;
  else if ((any || config.wanted == CountSource::kClock) && open_clock(topology))
    kind_ = CountSource::kClock;
  else if ((any || config.wanted == CountSource::kFaults) && open_faults(topology))
    kind_ = CountSource::kFaults;
  else
    kind_ = CountSource::kInstrumented;
  listens_ = !config.idle && (any || config.wanted == CountSource::kInstrumented);
  if (listens_)
    listen_to_accesses(config.sample_period);
  if (kind_ != CountSource::kInstrumented || config.wanted == CountSource::kInstrumented)
    return nullptr;
  if (error_ == EACCES || error_ == EPERM)
    return "perf events are not allowed (sysctl kernel.perf_event_paranoid=2, or a seccomp filter)";
  if (error_ == ENOENT || error_ == ENODEV || error_ == EOPNOTSUPP)
    return "this processor samples no data addresses";
  return why_ ? why_ : "the kernel refuses the events";
}

void AccessSources::close() {
  listen_to_accesses(0);
  for (size_t i = 0; i < rings_count_; i++) {
    config_.hooks->close(mappings_[i], kRingBytes);
    if (auxiliary_)
      config_.hooks->close(auxiliary_[i].memory, kAuxBytes);
  }
  if (auxiliary_)
    unmap_pages(auxiliary_, kMaxCpus * sizeof(Auxiliary));
  auxiliary_ = nullptr;
  if (rings_)
    unmap_pages(rings_, rings_bytes_);
  rings_ = nullptr;
  rings_count_ = 0;
}

void AccessSources::ignore_thread(uint32_t thread) {
  if (ignored_count_ < sizeof ignored_ / sizeof *ignored_)
    ignored_[ignored_count_++] = thread;
}

bool AccessSources::from_ring(Touch &touch) {
  if (auxiliary_)
    return from_spe(touch);
  PerfSample s;
  for (size_t looked = 0; looked < rings_count_;) {
    if (!rings_[turn_].next(s)) {
      turn_ = (turn_ + 1) % rings_count_;
      looked++;
      continue;
    }
    bool ours = s.process != static_cast<uint32_t>(getpid());
    for (unsigned i = 0; i < ignored_count_; i++)
      ours |= s.thread == ignored_[i];
    if (ours || s.ip >= kKernelHalf)
      continue;
    uint64_t address = s.address;
    if (kind_ == CountSource::kClock)
      address = s.has_registers ? operands_->next_access(s.ip, s.registers) : 0;
    else if (kind_ == CountSource::kPmu && from_near_cache(s.data_source))
      continue;
    if (address == 0 || address >= kKernelHalf)
      continue;
    touch = {address, s.cpu};
    return true;
  }
  return false;
}

bool AccessSources::next(Touch &touch) {
  if (listens_ && g_ring && g_ring->take(touch.address, touch.cpu)) {
    told_ = true;
    return true;
  }
  while (from_ring(touch))
    if (!told_)
      return true;
  return false;
}

const char *AccessSources::name() const {
  static const char *const names[] = {"none", "pmu", "clock", "faults", "instrumented"};
  return names[static_cast<unsigned>(told_ ? CountSource::kInstrumented : kind_)];
}

uint64_t AccessSources::lost() const {
  uint64_t n = listens_ && g_ring ? g_ring->lost() : 0;
  for (size_t i = 0; i < rings_count_; i++)
    n += rings_[i].lost();
  return n;
}

} // namespace smalloc::numa
