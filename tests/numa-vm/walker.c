/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * walker.c: the program in the guest. One thread on node 0 touches all memory first, which puts it
 * on node 0. Threads on other nodes use it. At the end the program asks the kernel for the node of
 * each page and prints "pages NODE:COUNT ... near N huge KIBIBYTES at ADDRESS wrong N" (near: on
 * the node of the thread that uses them). It checks the contents. It does not depend on smalloc.
 *  *
 *   walker far KIND MIB SECONDS       a thread on the last node uses all of it
 *   walker halves KIND MIB SECONDS    node 0 uses the first half of each 2 MiB, node 1 the second
 *   walker parts KIND MIB SECONDS     each node uses its contiguous share
 *   walker both KIND MIB SECONDS      nodes 0 and 1 use everything alike
 *   walker unmap base MIB SECONDS     pieces are unmapped and mapped again while a thread uses them
 *   walker storm base MIB SECONDS     as far, and thousands of short threads
 *   walker fork base MIB SECONDS      as far, and a child that uses the memory too; its status must
 * be 0
 *   walker exec ...                   executes itself with the rest
 *   walker exit|_exit|abort KIND MIB SECONDS   as far, but ends so, whatever runs
 *   walker stop KIND MIB SECONDS      as far, but stopped by SIGSTOP for two seconds after the
 * first interval
 *   walker idle base MIB SECONDS      touches and sleeps
 *   walker hold                       keeps an event of its own open until it is killed
 * KIND: base, thp, hugetlb, locked, shared (with a child), malloc
 *  *
 * A fifth argument NODE:PAGES ends the program once that number of pages lies on the node. A sixth,
 * WORD:COUNT, ends it once the file `log` has that number of lines that begin with WORD. "-" stands
 * for none, and "near:PAGES" for pages on the node that uses them. SECONDS is then a limit, so that
 * a busy machine makes a test longer and not wrong. */
#define _GNU_SOURCE
#include "phase.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { kPage = 4096, kLine = 64, kMostNodes = 64 };
static const size_t kUnit = (size_t)2 << 20;

static char *memory;
static size_t bytes;
static double seconds;
static atomic_int done;
static int nodes = 1;
static int monitored;

static void fail(const char *what) {
  fprintf(stderr, "walker: error: %s: %s\n", what, strerror(errno));
  _exit(9);
}
static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
static void sleep_for(double s) {
  struct timespec t = {(time_t)s, (long)((s - (double)(time_t)s) * 1e9)};
  while (nanosleep(&t, &t) != 0 && errno == EINTR)
    ;
}
static int read_cpu(int node) { /* the first processor of a node; -1: it has none */
  char path[100];
  int cpu = -1;
  snprintf(path, sizeof path, "/sys/devices/system/node/node%d/cpulist", node);
  FILE *f = fopen(path, "r");
  if (!f)
    return -1;
  if (fscanf(f, "%d", &cpu) != 1)
    cpu = -1;
  fclose(f);
  return cpu;
}
static void go_to(int node) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(read_cpu(node), &set);
  if (sched_setaffinity(0, sizeof set, &set) != 0)
    fail("sched_setaffinity");
}

/* A word of each line holds its place; walks add to its other words. */
static void touch_all(void) {
  for (size_t i = 0; i < bytes; i += kLine)
    *(volatile uint64_t *)(memory + i) = i;
}
struct Share {
  int node;
  size_t from, piece, step; /* piece bytes of every step, beginning at from */
  size_t end;
};
static uint64_t walk_once(const struct Share *s) {
  uint64_t wrong = 0;
  for (size_t at = s->from; at < s->end && !done; at += s->step)
    for (size_t i = at; i < at + s->piece; i += kLine) {
      wrong += *(volatile uint64_t *)(memory + i) != i;
      ++*(volatile uint64_t *)(memory + i + 8);
    }
  return wrong;
}
static void *walk(void *argument) {
  const struct Share *s = argument;
  uint64_t wrong = 0;
  go_to(s->node);
  while (!done)
    wrong += walk_once(s);
  if (wrong) {
    fprintf(stderr, "walker: error: %lu lines have wrong contents\n", (unsigned long)wrong);
    _exit(8);
  }
  return NULL;
}
static void allocate(const char *kind) {
  const int shared = strcmp(kind, "shared") == 0, huge = strcmp(kind, "hugetlb") == 0;
  if (strcmp(kind, "malloc") == 0) {
    memory = malloc(bytes);
    if (!memory)
      fail("malloc");
    memory = (char *)(((uintptr_t)memory + kPage - 1) & ~(uintptr_t)(kPage - 1));
    bytes -= kUnit;
    return;
  }
  char *p =
      mmap(NULL, bytes + kUnit, PROT_READ | PROT_WRITE,
           (shared ? MAP_SHARED : MAP_PRIVATE) | MAP_ANONYMOUS | (huge ? MAP_HUGETLB : 0), -1, 0);
  if (p == MAP_FAILED)
    fail("mmap");
  memory = (char *)(((uintptr_t)p + kUnit - 1) & ~(uintptr_t)(kUnit - 1));
  if (!huge && !shared &&
      madvise(memory, bytes, strcmp(kind, "thp") == 0 ? MADV_HUGEPAGE : MADV_NOHUGEPAGE) != 0)
    fail("madvise");
  if (strcmp(kind, "locked") == 0 && mlock(memory, bytes) != 0)
    fail("mlock");
}

static struct Share share[kMostNodes];
static int threads;
/* Returns the node whose thread uses the page (of several, the last); -1: none. */
static int user_of(size_t at) {
  int user = -1;
  for (int i = 0; i < threads; i++)
    if (at >= share[i].from && (share[i].end <= share[i].from + share[i].piece
                                    ? at < share[i].from + share[i].piece
                                    : (at - share[i].from) % share[i].step < share[i].piece))
      user = share[i].node;
  return user;
}

static size_t near_pages;                     /* of the last locate() */
static size_t locate(size_t on[kMostNodes]) { /* returns the number of pages without a node */
  size_t n = bytes / kPage, nowhere = 0;
  near_pages = 0;
  memset(on, 0, sizeof(size_t) * kMostNodes);
  for (size_t first = 0; first < n; first += 512) {
    void *pages[512];
    int status[512];
    size_t count = n - first < 512 ? n - first : 512;
    for (size_t i = 0; i < count; i++)
      pages[i] = memory + (first + i) * kPage;
    if (syscall(SYS_move_pages, 0, count, pages, NULL, status, 0) != 0)
      fail("move_pages");
    for (size_t i = 0; i < count; i++)
      if (status[i] >= 0) {
        on[status[i]]++;
        near_pages += status[i] == user_of((first + i) * kPage);
      } else {
        nowhere++;
      }
  }
  return nowhere;
}
static int wanted_node = -1;
static size_t wanted_pages, wanted_near, wanted_lines;
static char wanted_word[32];
static size_t lines_of_log(const char *word) {
  FILE *f = fopen("log", "r");
  char line[4096];
  size_t n = 0;
  while (f && fgets(line, sizeof line, f))
    n += strncmp(line, word, strlen(word)) == 0;
  if (f)
    fclose(f);
  return n;
}
static int reached(void) {
  size_t on[kMostNodes];
  if (wanted_node < 0 && !wanted_lines && !wanted_near)
    return 0;
  if (wanted_lines && lines_of_log(wanted_word) < wanted_lines)
    return 0;
  if (wanted_node < 0 && !wanted_near)
    return 1;
  locate(on);
  return wanted_node >= 0 ? on[wanted_node] >= wanted_pages : near_pages >= wanted_near;
}

/* Wakes the program by a child that is forked before the memory exists. */
static int sleeper = -1;
static void have_sleeper(void) {
  int pipes[2];
  const pid_t parent = getpid();
  if (pipe(pipes) != 0)
    fail("pipe");
  const pid_t p = fork();
  if (p < 0)
    fail("fork");
  if (p == 0) {
    char c;
    close(pipes[1]);
    if (read(pipes[0], &c, 1) == 1)
      while (getppid() == parent) { /* again, if it was not stopped yet */
        sleep_for(2.5);
        kill(parent, SIGCONT);
      }
    _exit(0);
  }
  close(pipes[0]);
  sleeper = pipes[1];
}
static void be_stopped(void) {
  while (lines_of_log("interval=") == 0)
    sleep_for(0.1);
  if (write(sleeper, "", 1) != 1)
    fail("write");
  raise(SIGSTOP);
}

static void report(void) {
  size_t on[kMostNodes], nowhere = locate(on);
  const size_t near = near_pages;
  printf("pages");
  for (int i = 0; i < nodes; i++)
    printf(" %d:%zu", i, on[i]);
  if (nowhere)
    printf(" nowhere:%zu", nowhere);
  /* of the mapping that holds the memory */
  FILE *f = fopen("/proc/self/smaps", "r");
  char line[512];
  unsigned long from, to, huge = 0, sum = 0;
  int inside = 0;
  while (f && fgets(line, sizeof line, f)) {
    if (sscanf(line, "%lx-%lx ", &from, &to) == 2 && strchr(line, '-'))
      inside = from < (unsigned long)memory + bytes && to > (unsigned long)memory;
    else if (inside && sscanf(line, "AnonHugePages: %lu", &huge) == 1)
      sum += huge;
  }
  if (f)
    fclose(f);
  uint64_t wrong = 0;
  for (size_t i = 0; i < bytes; i += kLine)
    wrong += *(volatile uint64_t *)(memory + i) != i;
  printf(" near %zu huge %lu at %p wrong %lu\n", near, sum, (void *)memory, (unsigned long)wrong);
  fflush(stdout);
}

/* The first event of a thread, and the end of the last one, make the kernel patch the code of its
 * scheduler. In QEMU 7.2 another processor sometimes (once in some dozens of times) executes the
 * half of the patch that is written already, and the guest panics. So there is always one event. */
static void hold(void) {
  struct perf_event_attr a = {
      .type = PERF_TYPE_SOFTWARE, .size = sizeof a, .config = PERF_COUNT_SW_DUMMY};
  if (syscall(SYS_perf_event_open, &a, 0, -1, -1, 0) < 0)
    fail("perf_event_open");
  printf("held\n");
  fflush(stdout);
  for (;;)
    pause();
}

static void *nothing(void *p) { return p; }

int main(int argc, char **argv) {
  if (argc > 2 && strcmp(argv[1], "exec") == 0) {
    execv("/proc/self/exe", argv + 1);
    fail("execv");
  }
  if (argc == 2 && strcmp(argv[1], "hold") == 0)
    hold();
  if (argc < 5) {
    fprintf(stderr, "usage: walker WHAT KIND MIB SECONDS\n");
    return 2;
  }
  const char *what = argv[1], *kind = argv[2];
  bytes = strtoull(argv[3], NULL, 10) << 20;
  seconds = atof(argv[4]);
  if (argc > 5 && strcmp(argv[5], "-") != 0 && sscanf(argv[5], "near:%zu", &wanted_near) != 1 &&
      (sscanf(argv[5], "%d:%zu", &wanted_node, &wanted_pages) != 2 || wanted_node >= kMostNodes))
    return 2;
  if (argc > 6 && sscanf(argv[6], "%31[^:]:%zu", wanted_word, &wanted_lines) != 2)
    return 2;
  monitored = getenv("WALKER_PHASES") != NULL;
  while (nodes < kMostNodes && read_cpu(nodes) >= 0)
    nodes++;
  go_to(0);
  if (strcmp(what, "stop") == 0)
    have_sleeper();
  allocate(kind);
  touch_all();
  report();
  pid_t child = 0;
  int hold[2];
  if (strcmp(kind, "shared") == 0) { /* another process maps the pages, too */
    if (pipe(hold) != 0 || (child = fork()) < 0)
      fail("fork");
    if (child == 0) {
      char c;
      uint64_t sum = 0;
      for (size_t i = 0; i < bytes; i += kPage)
        sum += *(volatile uint64_t *)(memory + i);
      close(hold[1]);
      _exit(read(hold[0], &c, 1) == 0 && sum ? 0 : 1);
    }
    close(hold[0]);
  }

  pthread_t thread[kMostNodes];
  if (strcmp(what, "halves") == 0) {
    for (; threads < 2; threads++)
      share[threads] =
          (struct Share){threads, (size_t)threads * (kUnit / 2), kUnit / 2, kUnit, bytes};
  } else if (strcmp(what, "parts") == 0) {
    for (; threads < nodes; threads++)
      share[threads] =
          (struct Share){threads, bytes / (size_t)nodes * (size_t)threads, bytes / (size_t)nodes,
                         bytes, bytes / (size_t)nodes * (size_t)threads + 1};
  } else if (strcmp(what, "both") == 0) {
    for (; threads < 2; threads++)
      share[threads] = (struct Share){threads, 0, kPage, kPage, bytes};
  } else if (strcmp(what, "idle") != 0) {
    share[threads++] = (struct Share){nodes - 1, 0, kPage, kPage, bytes};
  }
  if (monitored)
    MONITOR_PHASE(1);
  for (int i = 0; i < threads; i++)
    if (pthread_create(&thread[i], NULL, walk, &share[i]) != 0)
      fail("pthread_create");
  const double begun = now();
  if (monitored) {
    sleep_for(1);
    MONITOR_PHASE(0);
  }
  if (strcmp(what, "unmap") == 0) {
    /* A separate part, so that the walker's contents can still be checked. */
    while (now() - begun < seconds && !reached()) {
      char *p = mmap(NULL, 8 * kUnit, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (p == MAP_FAILED)
        fail("mmap");
      go_to(1);
      for (int round = 0; round < 3; round++)
        memset(p, round, 8 * kUnit);
      munmap(p, 8 * kUnit);
    }
  } else if (strcmp(what, "storm") == 0) {
    for (int i = 0; now() - begun < seconds && i < 2000; i++) {
      pthread_t t;
      if (pthread_create(&t, NULL, nothing, NULL) == 0)
        pthread_join(t, NULL);
    }
  } else if (strcmp(what, "fork") == 0) {
    sleep_for(1);
    pid_t p = fork();
    if (p == 0) {
      uint64_t wrong = 0;
      for (size_t i = 0; i < bytes; i += kLine) {
        wrong += *(volatile uint64_t *)(memory + i) != i;
        ++*(volatile uint64_t *)(memory + i + 16);
      }
      exit(wrong != 0);
    }
    int status = 1;
    if (waitpid(p, &status, 0) != p || status != 0) {
      fprintf(stderr, "walker: error: the child ended with status %x\n", (unsigned)status);
      return 7;
    }
  }
  if (strcmp(what, "stop") == 0)
    be_stopped();
  const int ends =
      strcmp(what, "exit") == 0 || strcmp(what, "_exit") == 0 || strcmp(what, "abort") == 0;
  while (now() - begun < seconds && !reached())
    sleep_for(ends ? 0.01 : wanted_node < 0 && !wanted_lines ? 0.02 : 0.2);
  if (strcmp(what, "exit") == 0)
    exit(5);
  if (strcmp(what, "_exit") == 0)
    _exit(6);
  if (strcmp(what, "abort") == 0)
    abort();
  if (monitored) {
    MONITOR_PHASE(2);
    sleep_for(1);
    MONITOR_PHASE(0);
  }
  done = 1;
  for (int i = 0; i < threads; i++)
    pthread_join(thread[i], NULL);
  if (child) {
    int status;
    close(hold[1]);
    if (waitpid(child, &status, 0) != child || status != 0) {
      fprintf(stderr, "walker: error: the child ended with status %x\n", (unsigned)status);
      return 7;
    }
  }
  report();
  return 0;
}
