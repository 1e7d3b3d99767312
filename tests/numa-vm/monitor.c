/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * monitor.c: counts the guest's memory traffic, independently of its kernel and of smalloc. It is a
 * plugin of QEMU (TCG) that sees every access of user-mode code. It counts, by phase (phase.h),
 * [node of the processor][node of the page]: all accesses, and those that miss a small private
 * cache per processor, which would reach an interconnect.
 *  *
 * Arguments: nodes=N,cpus=C (a node),mem=MIB (a node),out=FILE. A phase's counts are appended to
 * FILE when it ends, as JSON. Plugin API version 1 (QEMU 5.2 to 8.x); declared here because Debian
 * has no qemu-plugin.h. */
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t qemu_plugin_id_t;
typedef uint32_t qemu_plugin_meminfo_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_plugin_hwaddr;
typedef struct {
  const char *target_name;
  struct {
    int min, cur;
  } version;
  bool system_emulation;
  struct {
    int smp_vcpus, max_vcpus;
  } system;
} qemu_info_t;
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t,
                                           void (*)(qemu_plugin_id_t, struct qemu_plugin_tb *));
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *,
                                      void (*)(unsigned, qemu_plugin_meminfo_t, uint64_t, void *),
                                      int flags, int rw, void *);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *, void (*)(unsigned, void *),
                                            int flags, void *);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t, void (*)(qemu_plugin_id_t, void *), void *);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *, size_t);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *);
struct qemu_plugin_hwaddr *qemu_plugin_get_hwaddr(qemu_plugin_meminfo_t, uint64_t);
bool qemu_plugin_hwaddr_is_io(const struct qemu_plugin_hwaddr *);
uint64_t qemu_plugin_hwaddr_phys_addr(const struct qemu_plugin_hwaddr *);
bool qemu_plugin_mem_is_store(qemu_plugin_meminfo_t);
#define EXPORT __attribute__((visibility("default")))
EXPORT int qemu_plugin_version = 1;

enum { kMostNodes = 16, kMostCpus = 64, kWays = 8, kLineShift = 6, kCacheBytes = 256 << 10 };
enum { kSets = kCacheBytes / (1 << kLineShift) / kWays };
static const uint32_t kMagic = 0x534d4100u; /* phase.h */

static unsigned nodes = 2, cpus_per_node = 1;
static uint64_t node_bytes = (uint64_t)512 << 20;
static const char *out;
static volatile unsigned phase;
static uint32_t
    *version_of_line; /* version << 6 | last writer: another writer's copies are stale */
struct Way {
  uint64_t line;
  uint32_t version, used;
};
static struct Cpu {
  uint64_t accesses[kMostNodes], misses[kMostNodes], not_attributed;
  uint32_t tick;
  struct Way *cache;
  char padding[64];
} cpus[kMostCpus];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void on_access(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t address, void *unused) {
  (void)unused;
  if (!phase)
    return;
  struct Cpu *c = &cpus[cpu];
  struct qemu_plugin_hwaddr *hw = qemu_plugin_get_hwaddr(info, address);
  if (!hw || qemu_plugin_hwaddr_is_io(hw)) {
    c->not_attributed++;
    return;
  }
  /* QEMU returns the block's offset + the offset in it + the address of its region, no physical
   * address. With one memory backend of node_bytes a node, made first and in order, that is n *
   * node_bytes + offset + n * node_bytes. */
  const uint64_t answer = qemu_plugin_hwaddr_phys_addr(hw), twice = answer / node_bytes;
  const uint64_t node = twice / 2;
  if (twice % 2 || node >= nodes) {
    c->not_attributed++;
    return;
  }
  c->accesses[node]++;
  const uint64_t line = (answer - node * node_bytes) >> kLineShift;
  uint32_t version = version_of_line[line];
  if (qemu_plugin_mem_is_store(info) && (version & 63) != cpu) {
    version = ((version >> 6) + 1) << 6 | cpu;
    version_of_line[line] = version;
  }
  struct Way *set = c->cache + line % kSets * kWays, *victim = set;
  for (int i = 0; i < kWays; i++) {
    if (set[i].line == line + 1) {
      victim = &set[i];
      if (set[i].version >> 6 == version >> 6) {
        set[i].used = ++c->tick;
        return;
      }
      break;
    }
    if (set[i].used < victim->used)
      victim = &set[i];
  }
  *victim = (struct Way){line + 1, version, ++c->tick};
  c->misses[node]++;
}

static void write_down(unsigned ended) {
  FILE *f = ended ? fopen(out, "a") : NULL;
  uint64_t local = 0, remote = 0, lost = 0;
  if (!f)
    return;
  fprintf(f, "{\"phase\": %u, \"accesses\": [", ended);
  for (unsigned from = 0; from < nodes; from++) {
    fprintf(f, "%s[", from ? ", " : "");
    for (unsigned to = 0; to < nodes; to++) {
      uint64_t accesses = 0, misses = 0;
      for (unsigned c = from * cpus_per_node; c < (from + 1) * cpus_per_node; c++) {
        accesses += cpus[c].accesses[to];
        misses += cpus[c].misses[to];
      }
      *(from == to ? &local : &remote) += misses;
      fprintf(f, "%s%lu", to ? ", " : "", (unsigned long)accesses);
    }
    fputs("]", f);
  }
  for (unsigned c = 0; c < nodes * cpus_per_node; c++) {
    lost += cpus[c].not_attributed;
    struct Way *cache = cpus[c].cache;
    memset(&cpus[c], 0, sizeof cpus[c]);
    memset(cache, 0, sizeof(struct Way) * kSets * kWays);
    cpus[c].cache = cache;
  }
  fprintf(f, "], \"misses_local\": %lu, \"misses_remote\": %lu, \"not_attributed\": %lu}\n",
          (unsigned long)local, (unsigned long)remote, (unsigned long)lost);
  fclose(f);
}

static void on_phase(unsigned cpu, void *next) {
  (void)cpu;
  pthread_mutex_lock(&lock);
  const unsigned ended = phase;
  phase = 0;
  write_down(ended);
  phase = (unsigned)(uintptr_t)next;
  pthread_mutex_unlock(&lock);
}

static void on_translate(qemu_plugin_id_t id, struct qemu_plugin_tb *tb) {
  (void)id;
  for (size_t i = 0, n = qemu_plugin_tb_n_insns(tb); i < n; i++) {
    struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
    const unsigned char *code = qemu_plugin_insn_data(insn);
    uint32_t immediate = 0;
    if (qemu_plugin_insn_vaddr(insn) >> 47)
      continue; /* the kernel */
    if (qemu_plugin_insn_size(insn) == 7 && code[0] == 0x0f && code[1] == 0x1f && code[2] == 0x80)
      memcpy(&immediate, code + 3, sizeof immediate);
    if ((immediate & ~0xffu) == kMagic)
      qemu_plugin_register_vcpu_insn_exec_cb(insn, on_phase, 0,
                                             (void *)(uintptr_t)(immediate & 0xff));
    else
      qemu_plugin_register_vcpu_mem_cb(insn, on_access, 0, 3, NULL);
  }
}

static void on_exit_of_qemu(qemu_plugin_id_t id, void *unused) {
  (void)id;
  on_phase(0, unused);
}

EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc,
                               char **argv) {
  if (!info->system_emulation)
    return 1;
  for (int i = 0; i < argc; i++) {
    char *value = strchr(argv[i], '=');
    if (!value)
      return 1;
    *value++ = 0;
    if (strcmp(argv[i], "nodes") == 0)
      nodes = (unsigned)atoi(value);
    else if (strcmp(argv[i], "cpus") == 0)
      cpus_per_node = (unsigned)atoi(value);
    else if (strcmp(argv[i], "mem") == 0)
      node_bytes = strtoull(value, NULL, 10) << 20;
    else if (strcmp(argv[i], "out") == 0)
      out = strdup(value);
    else
      return 1;
  }
  if (!out || nodes > kMostNodes || nodes * cpus_per_node > kMostCpus)
    return 1;
  version_of_line = calloc(nodes * node_bytes >> kLineShift, sizeof *version_of_line);
  for (unsigned c = 0; c < nodes * cpus_per_node; c++)
    cpus[c].cache = calloc((size_t)kSets * kWays, sizeof(struct Way));
  qemu_plugin_register_vcpu_tb_trans_cb(id, on_translate);
  qemu_plugin_register_atexit_cb(id, on_exit_of_qemu, NULL);
  return 0;
}
