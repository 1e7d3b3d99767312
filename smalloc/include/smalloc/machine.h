/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * machine.h describes processors' TLBs without measuring: the struct that all parts use, and one
 * table of presets, selected by CPUID family/model (x86), by MIDR part (Arm), or by name.
 *
 * Entries and ways are those of the last level and of the first data level, for base pages, 2 MiB
 * and 1 GiB pages. The _4k fields describe base pages, whatever size the processor's systems use.
 * Ways 0: fully associative; entries 0: none at that level, or unknown. Costs are core cycles.
 * Sources: the vendors' optimisation manuals, CPUID dumps of real machines and published
 * measurements. Zen 4's second-level hit, walk costs and effective reach were measured. A
 * description with [?] has unconfirmed numbers. walk_near is a walk whose entries are in the
 * second-level cache; walk_far is one that reads memory. The real cost is a curve, and smalloc
 * calibrate replaces both by its measurements.
 */
#ifndef SMALLOC_MACHINE_H
#define SMALLOC_MACHINE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#if defined(__powerpc64__) && defined(__linux__)
#include <sys/auxv.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

enum {
  SMALLOC_VENDOR_NONE = 0,
  SMALLOC_VENDOR_AMD = 1, /* and Hygon */
  SMALLOC_VENDOR_INTEL = 2,
  SMALLOC_VENDOR_ARM = 3,      /* MIDR implementer 0x41 */
  SMALLOC_VENDOR_FUJITSU = 4,  /* 0x46 */
  SMALLOC_VENDOR_APM = 5,      /* 0x50, later Ampere */
  SMALLOC_VENDOR_QUALCOMM = 6, /* 0x51 */
  SMALLOC_VENDOR_APPLE = 7,    /* 0x61 */
  SMALLOC_VENDOR_IBM = 8       /* POWER: the model is the number in AT_PLATFORM */
};

struct smalloc_tlb_level {
  uint32_t entries_4k, ways_4k;
  uint32_t entries_2m, ways_2m;
  uint32_t entries_1g, ways_1g;
};

/* x86: display models; Arm: MIDR parts. high 0: no range. */
struct smalloc_model_range {
  uint16_t low, high;
};

enum { SMALLOC_MODEL_RANGES = 6 };

struct smalloc_machine {
  const char *name;
  const char *description;
  uint8_t vendor;
  uint16_t family;                                         /* x86: display family */
  struct smalloc_model_range models[SMALLOC_MODEL_RANGES]; /* none: selected by name only */
  uint32_t base_page_bytes;
  struct smalloc_tlb_level l1, l2; /* l2.entries_4k == 0: one level only */
  uint32_t reach_4k;               /* effective last-level reach in base pages; 0: the entries */
  uint32_t l2_hit_cycles, walk_near_cycles, walk_far_cycles;
  uint32_t
      prefetch_max_stride_bytes; /* largest stride that the hardware prefetchers keep up with */
};

/* clang-format off */
static const struct smalloc_machine smalloc_machine_presets[] = {
  {"zen1", "AMD Zen, Zen+; Hygon Dhyana", SMALLOC_VENDOR_AMD, 0x17, {{0x00, 0x2f}}, 4096,
   {64, 0, 64, 0, 64, 0}, {1536, 6, 1536, 3, 0, 0}, 0, 7, 30, 90, 2048},
  {"zen1", "AMD Zen, Zen+; Hygon Dhyana", SMALLOC_VENDOR_AMD, 0x18, {{0x00, 0xff}}, 4096,
   {64, 0, 64, 0, 64, 0}, {1536, 6, 1536, 3, 0, 0}, 0, 7, 30, 90, 2048},
  {"zen2", "AMD Zen 2 (Rome, Matisse)", SMALLOC_VENDOR_AMD, 0x17, {{0x30, 0xff}}, 4096,
   {64, 0, 64, 0, 64, 0}, {2048, 8, 2048, 4, 0, 0}, 0, 7, 30, 90, 2048},
  {"zen4", "AMD Zen 4 (Genoa, Bergamo, Raphael)", SMALLOC_VENDOR_AMD, 0x19, {{0x10, 0x1f}}, 4096,
   {72, 0, 72, 0, 72, 0}, {3072, 8, 3072, 6, 64, 0}, 2048, 7, 35, 89, 2048},
  {"zen4", "AMD Zen 4 (Phoenix, Siena)", SMALLOC_VENDOR_AMD, 0x19, {{0x60, 0xaf}}, 4096,
   {72, 0, 72, 0, 72, 0}, {3072, 8, 3072, 6, 64, 0}, 2048, 7, 35, 89, 2048},
  {"zen3", "AMD Zen 3 (Milan, Vermeer)", SMALLOC_VENDOR_AMD, 0x19, {{0x00, 0x5f}}, 4096,
   {64, 0, 64, 0, 64, 0}, {2048, 8, 2048, 4, 64, 0}, 0, 7, 30, 90, 2048},
  {"zen5", "AMD Zen 5 (Turin, Granite Ridge)", SMALLOC_VENDOR_AMD, 0x1a, {{0x00, 0xff}}, 4096,
   {96, 0, 96, 0, 96, 0}, {4096, 16, 4096, 16, 1024, 0}, 0, 7, 35, 90, 2048},
  {"golden-cove",
   "Intel Golden Cove, Raptor Cove (Alder and Raptor Lake, Sapphire and Emerald Rapids)",
   SMALLOC_VENDOR_INTEL, 6,
   {{0x8f, 0x8f}, {0xcf, 0xcf}, {0x97, 0x9a}, {0xb7, 0xb7}, {0xba, 0xbb}, {0xbf, 0xbf}}, 4096,
   {96, 6, 32, 4, 8, 0}, {2048, 8, 1024, 8, 1024, 8}, 1600, 7, 25, 80, 2048},
  {"redwood-cove", "Intel Redwood Cove (Granite Rapids, Meteor Lake)",
   SMALLOC_VENDOR_INTEL, 6, {{0xad, 0xae}, {0xaa, 0xac}}, 4096,
   {96, 6, 32, 4, 8, 0}, {2048, 8, 1024, 8, 1024, 8}, 0, 7, 25, 80, 2048},
  {"lion-cove", "Intel Lion Cove (Lunar and Arrow Lake, performance cores)",
   SMALLOC_VENDOR_INTEL, 6, {{0xbd, 0xbd}, {0xb5, 0xb5}, {0xc5, 0xc6}}, 4096,
   {128, 8, 32, 4, 8, 0}, {2048, 8, 1024, 8, 1024, 8}, 0, 7, 25, 80, 2048},
  {"ice-lake", "Intel Ice Lake (client and SP), Tiger Lake",
   SMALLOC_VENDOR_INTEL, 6, {{0x6a, 0x6c}, {0x7d, 0x7e}, {0x8c, 0x8d}}, 4096,
   {64, 4, 32, 4, 8, 0}, {2048, 8, 1024, 8, 1024, 8}, 0, 7, 25, 80, 2048},
  {"skylake-x", "Intel Skylake-X, Cascade Lake, Cooper Lake",
   SMALLOC_VENDOR_INTEL, 6, {{0x55, 0x55}}, 4096,
   {64, 4, 32, 4, 4, 4}, {1536, 12, 1536, 12, 16, 4}, 0, 8, 25, 80, 2048},
  {"skylake", "Intel Skylake to Comet Lake (client)",
   SMALLOC_VENDOR_INTEL, 6,
   {{0x4e, 0x4e}, {0x5e, 0x5e}, {0x8e, 0x8e}, {0x9e, 0x9e}, {0xa5, 0xa6}}, 4096,
   {64, 4, 32, 4, 4, 4}, {1536, 12, 1536, 12, 16, 4}, 0, 8, 25, 80, 2048},
  {"gracemont", "Intel Gracemont; Crestmont (Sierra Forest) [?]",
   SMALLOC_VENDOR_INTEL, 6, {{0xbe, 0xbe}, {0xaf, 0xaf}}, 4096,
   {48, 0, 48, 0, 0, 0}, {2048, 4, 2048, 4, 8, 0}, 0, 8, 25, 80, 2048},
  {"skymont", "Intel Skymont (efficiency cores of Lunar and Arrow Lake), Darkmont [?]",
   SMALLOC_VENDOR_INTEL, 6, {{0xdd, 0xdd}}, 4096,
   {48, 0, 48, 0, 0, 0}, {4096, 4, 4096, 4, 8, 0}, 0, 8, 25, 80, 2048},
  {"core2", "Intel Core 2 Duo: the machine of Magee and Qasem, ACMSE 2009, section 5.1",
   SMALLOC_VENDOR_INTEL, 6, {{0x0f, 0x17}}, 4096,
   {256, 4, 32, 4, 0, 0}, {0, 0, 0, 0, 0, 0}, 0, 0, 19, 60, 1024},
  {"neoverse-n1", "Arm Neoverse N1, Cortex-A76; Ampere Altra",
   SMALLOC_VENDOR_ARM, 0, {{0xd0c, 0xd0c}, {0xd0b, 0xd0b}}, 4096,
   {48, 0, 48, 0, 0, 0}, {1280, 5, 1280, 5, 0, 0}, 0, 3, 25, 90, 2048},
  {"neoverse-v1", "Arm Neoverse V1, Cortex-X1 [?]",
   SMALLOC_VENDOR_ARM, 0, {{0xd40, 0xd40}, {0xd44, 0xd44}}, 4096,
   {40, 0, 40, 0, 0, 0}, {2048, 8, 2048, 8, 0, 0}, 0, 5, 25, 90, 2048},
  {"neoverse-n2", "Arm Neoverse N2 [?]", SMALLOC_VENDOR_ARM, 0, {{0xd49, 0xd49}}, 4096,
   {44, 0, 44, 0, 0, 0}, {1280, 5, 1280, 5, 0, 0}, 0, 5, 25, 90, 2048},
  {"neoverse-v2", "Arm Neoverse V2 (Grace, Graviton 4)",
   SMALLOC_VENDOR_ARM, 0, {{0xd4f, 0xd4f}}, 4096,
   {48, 0, 48, 0, 0, 0}, {2048, 8, 2048, 8, 0, 0}, 0, 5, 25, 90, 2048},
  {"neoverse-v3", "Arm Neoverse V3, Cortex-X925, C1-Ultra",
   SMALLOC_VENDOR_ARM, 0, {{0xd83, 0xd85}, {0xd8c, 0xd8c}}, 4096,
   {96, 0, 96, 0, 0, 0}, {2048, 8, 2048, 8, 0, 0}, 0, 6, 25, 90, 2048},
  {"skylark", "Ampere eMAG (Skylark, X-Gene 3)", SMALLOC_VENDOR_APM, 0, {{0, 0xfff}}, 4096,
   {48, 0, 48, 0, 0, 0}, {512, 4, 512, 4, 0, 0}, 0, 5, 25, 90, 2048},
  {"apple-m1", "Apple M1, performance cores (16 KiB pages)",
   SMALLOC_VENDOR_APPLE, 0, {{0x023, 0x023}, {0x025, 0x025}, {0x029, 0x029}}, 16384,
   {160, 0, 0, 0, 0, 0}, {3072, 12, 0, 0, 0, 0}, 0, 6, 25, 90, 2048},
  {"apple-m1-e", "Apple M1, efficiency cores (16 KiB pages)",
   SMALLOC_VENDOR_APPLE, 0, {{0x022, 0x022}, {0x024, 0x024}, {0x028, 0x028}}, 16384,
   {128, 4, 0, 0, 0, 0}, {1024, 0, 0, 0, 0, 0}, 0, 6, 25, 90, 2048},
  {"apple-m2", "Apple M2, performance cores (16 KiB pages) [?]",
   SMALLOC_VENDOR_APPLE, 0, {{0x033, 0x033}, {0x035, 0x035}, {0x039, 0x039}}, 16384,
   {256, 0, 0, 0, 0, 0}, {3072, 12, 0, 0, 0, 0}, 0, 6, 25, 90, 2048},
  {"apple-m2-e", "Apple M2, efficiency cores (16 KiB pages) [?]",
   SMALLOC_VENDOR_APPLE, 0, {{0x032, 0x032}, {0x034, 0x034}, {0x038, 0x038}}, 16384,
   {192, 0, 0, 0, 0, 0}, {1024, 0, 0, 0, 0, 0}, 0, 6, 25, 90, 2048},
  {"apple-m4", "Apple M4, performance cores (16 KiB pages) [?]",
   SMALLOC_VENDOR_APPLE, 0, {{0, 0}}, 16384,
   {160, 0, 0, 0, 0, 0}, {3072, 12, 0, 0, 0, 0}, 0, 6, 25, 90, 2048},
  {"apple-m4-e", "Apple M4, efficiency cores (16 KiB pages) [?]",
   SMALLOC_VENDOR_APPLE, 0, {{0, 0}}, 16384,
   {192, 0, 0, 0, 0, 0}, {1024, 0, 0, 0, 0, 0}, 0, 6, 25, 90, 2048},
  {"oryon", "Qualcomm Oryon [?]", SMALLOC_VENDOR_QUALCOMM, 0, {{1, 1}}, 4096,
   {224, 7, 224, 7, 0, 0}, {8192, 8, 8192, 8, 0, 0}, 0, 8, 25, 90, 2048},
  {"a64fx", "Fujitsu A64FX (64 KiB pages)", SMALLOC_VENDOR_FUJITSU, 0, {{1, 1}}, 65536,
   {16, 0, 0, 0, 0, 0}, {1024, 4, 0, 0, 0, 0}, 0, 8, 40, 120, 2048},
  {"power5", "IBM POWER5+", SMALLOC_VENDOR_IBM, 0, {{5, 5}}, 4096,
   {128, 0, 0, 0, 0, 0}, {2048, 4, 0, 0, 0, 0}, 0, 8, 30, 120, 1024},
  {"ppc970", "IBM PowerPC 970", SMALLOC_VENDOR_IBM, 0, {{970, 970}}, 4096,
   {128, 0, 0, 0, 0, 0}, {1024, 4, 0, 0, 0, 0}, 0, 8, 30, 120, 1024},
  {"power8", "IBM POWER8 (64 KiB pages)", SMALLOC_VENDOR_IBM, 0, {{8, 8}}, 65536,
   {48, 0, 48, 0, 0, 0}, {2048, 4, 2048, 4, 0, 0}, 0, 9, 30, 120, 2048},
  {"power9", "IBM POWER9 (64 KiB pages) [?]", SMALLOC_VENDOR_IBM, 0, {{9, 9}}, 65536,
   {64, 0, 64, 0, 0, 0}, {1024, 4, 1024, 4, 0, 0}, 0, 9, 30, 120, 2048},
  {"power10", "IBM POWER10 (64 KiB pages) [?]", SMALLOC_VENDOR_IBM, 0, {{10, 10}}, 65536,
   {64, 0, 64, 0, 0, 0}, {4096, 4, 4096, 4, 0, 0}, 0, 9, 30, 120, 2048},
  {"generic",
   "Unknown processor: a small second level, so that superpages are asked for early rather "
   "than late",
   SMALLOC_VENDOR_NONE, 0, {{0, 0}}, 4096,
   {64, 4, 32, 4, 4, 4}, {1536, 6, 1024, 8, 0, 0}, 0, 7, 30, 90, 2048},
};
/* clang-format on */

enum {
  SMALLOC_MACHINE_PRESETS = sizeof smalloc_machine_presets / sizeof smalloc_machine_presets[0]
};

/* Returns the base pages that the last level covers, to compare with a nest's spread. */
static inline uint32_t smalloc_machine_reach_pages(const struct smalloc_machine *m) {
  if (m->reach_4k)
    return m->reach_4k;
  return m->l2.entries_4k ? m->l2.entries_4k : m->l1.entries_4k;
}

/* Returns the threshold of Magee and Qasem, section 4, in pages: entries / associativity + 1.
 * Full associativity counts as one set. */
static inline uint32_t smalloc_machine_paper_threshold_pages(const struct smalloc_machine *m) {
  const struct smalloc_tlb_level *l = m->l2.entries_4k ? &m->l2 : &m->l1;
  return (l->ways_4k ? l->entries_4k / l->ways_4k : 1u) + 1u;
}

/* True if one array of the second level holds base pages and superpages. Equal numbers of
 * entries indicate that. */
static inline int smalloc_machine_shares_l2(const struct smalloc_machine *m) {
  return m->l2.entries_2m != 0 && m->l2.entries_4k == m->l2.entries_2m;
}

/* Returns the preset of that name, or NULL. */
static inline const struct smalloc_machine *smalloc_machine_by_name(const char *name) {
  for (size_t i = 0; i < SMALLOC_MACHINE_PRESETS; i++)
    if (strcmp(smalloc_machine_presets[i].name, name) == 0)
      return &smalloc_machine_presets[i];
  return NULL;
}

/* Returns the first preset that matches, else "generic". Never NULL. */
static inline const struct smalloc_machine *smalloc_machine_by_cpu(uint8_t vendor, uint16_t family,
                                                                   uint16_t model) {
  for (size_t i = 0; i < SMALLOC_MACHINE_PRESETS; i++) {
    const struct smalloc_machine *m = &smalloc_machine_presets[i];
    if (m->vendor != vendor || m->family != family)
      continue;
    for (size_t j = 0; j < SMALLOC_MODEL_RANGES && m->models[j].high; j++)
      if (model >= m->models[j].low && model <= m->models[j].high)
        return m;
  }
  return smalloc_machine_by_name("generic");
}

/* Returns the preset by CPUID: EBX of leaf 0 (the vendor's first letters) and EAX of leaf 1. */
static inline const struct smalloc_machine *smalloc_machine_by_cpuid(uint32_t vendor_ebx,
                                                                     uint32_t signature) {
  const uint8_t vendor = vendor_ebx == 0x68747541u || vendor_ebx == 0x6f677948u
                             ? SMALLOC_VENDOR_AMD                           /* Auth, Hygo */
                         : vendor_ebx == 0x756e6547u ? SMALLOC_VENDOR_INTEL /* Genu */
                                                     : SMALLOC_VENDOR_NONE;
  uint32_t family = (signature >> 8) & 15, model = (signature >> 4) & 15;
  if (family == 6 || family == 15)
    model |= (signature >> 12) & 0xf0;
  if (family == 15)
    family += (signature >> 20) & 0xff;
  return smalloc_machine_by_cpu(vendor, (uint16_t)family, (uint16_t)model);
}

/* Returns the preset by Arm's main ID register. */
static inline const struct smalloc_machine *smalloc_machine_by_midr(uint64_t midr) {
  uint8_t vendor = SMALLOC_VENDOR_NONE;
  switch ((midr >> 24) & 0xff) {
  case 0x41:
    vendor = SMALLOC_VENDOR_ARM;
    break;
  case 0x46:
    vendor = SMALLOC_VENDOR_FUJITSU;
    break;
  case 0x50:
    vendor = SMALLOC_VENDOR_APM;
    break;
  case 0x51:
    vendor = SMALLOC_VENDOR_QUALCOMM;
    break;
  case 0x61:
    vendor = SMALLOC_VENDOR_APPLE;
    break;
  default:
    break;
  }
  return smalloc_machine_by_cpu(vendor, 0, (uint16_t)((midr >> 4) & 0xfff));
}

/* Returns the preset by POWER's AT_PLATFORM: "power9", "ppc970", "power5+". `platform` may be NULL;
 * the result is "generic" then. */
static inline const struct smalloc_machine *smalloc_machine_by_platform(const char *platform) {
  unsigned number = 0;
  for (; platform && *platform && (*platform < '0' || *platform > '9'); platform++) {
  }
  for (; platform && *platform >= '0' && *platform <= '9' && number < 10000; platform++)
    number = number * 10 + (unsigned)(*platform - '0');
  return smalloc_machine_by_cpu(SMALLOC_VENDOR_IBM, 0, (uint16_t)number);
}

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
static inline void smalloc_cpuid_(uint32_t leaf, uint32_t r[4]) {
  __asm__ volatile("cpuid" : "=a"(r[0]), "=b"(r[1]), "=c"(r[2]), "=d"(r[3]) : "a"(leaf), "c"(0));
}
#endif

/* Returns the preset of the processor that runs this code. */
static inline const struct smalloc_machine *smalloc_machine_native(void) {
#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
  uint32_t r[4];
  smalloc_cpuid_(0, r);
  const uint32_t vendor = r[1];
  smalloc_cpuid_(1, r);
  return smalloc_machine_by_cpuid(vendor, r[0]);
#elif defined(__aarch64__) && defined(__linux__)
  uint64_t midr; /* the kernel emulates this read for user space */
  __asm__("mrs %0, midr_el1" : "=r"(midr));
  return smalloc_machine_by_midr(midr);
#elif defined(__powerpc64__) && defined(__linux__)
  return smalloc_machine_by_platform((const char *)getauxval(AT_PLATFORM));
#else
  return smalloc_machine_by_name("generic");
#endif
}

#ifdef __cplusplus
}
#endif
#endif
