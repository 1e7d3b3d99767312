// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// system_nodes.cpp parses the kernel's lists of nodes and processors, with defaults for values that
// the kernel does not report.
#include "smalloc/numa/system_nodes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

namespace smalloc::numa {
namespace {

constexpr uint8_t kRemoteDistance = 20; ///< Linux's default if the firmware reports none

/// Returns the number of a line such as "Node 0 MemFree:  123 kB" in bytes; 0 if the line is
/// absent.
uint64_t kilobytes(const char *text, const char *name) {
  const char *at = strstr(text, name);
  return at ? strtoull(at + strlen(name), nullptr, 10) * 1024 : 0;
}

/// Reads the file `name` of a node's folder into `text`. Returns its length, or -1.
template <size_t kCapacity>
long read_node_file(FileReader read, const char *sysfs, uint32_t node, const char *name,
                    char (&text)[kCapacity]) {
  char path[400];
  const int n = snprintf(path, sizeof path, "%s/devices/system/node/node%u/%s", sysfs, node, name);
  return n > 0 && static_cast<size_t>(n) < sizeof path ? read(path, text, kCapacity) : -1;
}

} // namespace

bool for_each_in_list(const char *list, void (*each)(unsigned, void *), void *data) {
  while (*list && *list != '\n') {
    char *end;
    const unsigned long first = strtoul(list, &end, 10);
    if (end == list)
      return false;
    unsigned long last = first;
    if (*end == '-') {
      list = end + 1;
      last = strtoul(list, &end, 10);
      if (end == list)
        return false;
    }
    constexpr unsigned long kMost = 1u << 16;
    for (unsigned long n = first; n <= last && n < kMost; n++)
      each(static_cast<unsigned>(n), data);
    list = *end == ',' ? end + 1 : end;
    if (*end && *end != ',' && *end != '\n')
      return false;
  }
  return true;
}

bool read_nodes(FileReader read, const char *sysfs, Topology &t) {
  char path[400], text[8192];
  t = Topology();
  memset(t.node_of_cpu, kNoNode, sizeof t.node_of_cpu);
  const int n = snprintf(path, sizeof path, "%s/devices/system/node/online", sysfs);
  if (n <= 0 || static_cast<size_t>(n) >= sizeof path || read(path, text, sizeof text) <= 0)
    return false;
  const auto add = [](unsigned os_id, void *data) {
    auto &to = *static_cast<Topology *>(data);
    if (to.nodes < kMaxNodes)
      to.node[to.nodes++].os_id = os_id;
  };
  if (!for_each_in_list(text, add, &t) || t.nodes == 0)
    return false;
  for (unsigned i = 0; i < t.nodes; i++) {
    Node &node = t.node[i];
    if (read_node_file(read, sysfs, node.os_id, "cpulist", text) > 0) {
      struct Place {
        Topology *t;
        unsigned node;
      } place = {&t, i};
      for_each_in_list(
          text,
          [](unsigned cpu, void *data) {
            auto &to = *static_cast<Place *>(data);
            if (cpu >= kMaxCpus)
              return;
            to.t->node_of_cpu[cpu] = static_cast<uint8_t>(to.node);
            to.t->node[to.node].cpus++;
          },
          &place);
    }
    if (read_node_file(read, sysfs, node.os_id, "meminfo", text) > 0) {
      node.memory_bytes = kilobytes(text, "MemTotal:");
      node.free_bytes = kilobytes(text, "MemFree:");
    }
    for (unsigned j = 0; j < t.nodes; j++)
      t.distance[i][j] = i == j ? kLocalDistance : kRemoteDistance;
    if (read_node_file(read, sysfs, node.os_id, "distance", text) > 0) {
      const char *at = text;
      for (unsigned j = 0; j < t.nodes; j++) {
        char *end;
        const unsigned long d = strtoul(at, &end, 10);
        if (end == at)
          break;
        if (d >= kLocalDistance && d < 255) // 255: not reachable
          t.distance[i][j] = static_cast<uint8_t>(d);
        at = end;
      }
    }
  }
  return true;
}

uint64_t read_free_bytes(FileReader read, const char *sysfs, uint32_t os_node) {
  char text[4096];
  return read_node_file(read, sysfs, os_node, "meminfo", text) > 0 ? kilobytes(text, "MemFree:")
                                                                   : 0;
}

} // namespace smalloc::numa
