// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// topology_source.cpp parses a JSON description of a machine, and refuses one that makes no sense.
#include "runtime/numa/topology_source.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace smalloc::numa {
namespace {

using Json = nlohmann::ordered_json;

[[noreturn]] void refuse(const std::string &key, const char *why) {
  throw TopologyError(fmt::format("key '{}' {}", key, why));
}

double number(const Json &object, const char *name, const std::string &path, double fallback) {
  if (!object.contains(name) || object[name].is_null())
    return fallback;
  const Json &value = object[name];
  const std::string key = path.empty() ? name : path + "." + name;
  if (!value.is_number())
    refuse(key, "is not a number");
  const double n = value.get<double>();
  if (!(n >= 0) || n > 1e18)
    refuse(key, "is negative or too large");
  return n;
}

struct Limits {
  double least, most;
};

// Reads a square matrix, row = processors of, column = memory of.
template <class Store>
void matrix(const Json &root, const char *name, unsigned nodes, Limits limits, const Store &store) {
  if (!root.contains(name))
    return;
  const Json &rows = root[name];
  if (!rows.is_array() || rows.size() != nodes)
    refuse(name, "does not have a row for each node");
  for (unsigned i = 0; i < nodes; i++) {
    if (!rows[i].is_array() || rows[i].size() != nodes)
      refuse(fmt::format("{}[{}]", name, i), "does not have a number for each node");
    for (unsigned j = 0; j < nodes; j++) {
      if (!rows[i][j].is_number() || rows[i][j].get<double>() < limits.least ||
          rows[i][j].get<double>() > limits.most)
        refuse(fmt::format("{}[{}][{}]", name, i, j),
               fmt::format("is not a number from {} to {}", limits.least, limits.most).c_str());
      store(i, j, rows[i][j].get<double>());
    }
  }
}

void parse_node(const Json &node, unsigned n, Topology &t) {
  const std::string path = fmt::format("nodes[{}]", n);
  if (!node.is_object())
    refuse(path, "is not an object");
  t.node[n].os_id = static_cast<uint32_t>(number(node, "id", path, n));
  t.node[n].memory_bytes = static_cast<uint64_t>(number(node, "memory_bytes", path, 0));
  t.node[n].free_bytes = static_cast<uint64_t>(
      number(node, "free_bytes", path, static_cast<double>(t.node[n].memory_bytes)));
  t.node[n].bandwidth_bytes_s = number(node, "bandwidth_bytes_per_second", path, 0);
  if (!node.contains("cpus"))
    return;
  if (!node["cpus"].is_array())
    refuse(path + ".cpus", "is not a list of numbers");
  for (const Json &cpu : node["cpus"]) {
    if (!cpu.is_number_unsigned() || cpu.get<uint64_t>() >= kMaxCpus)
      refuse(path + ".cpus", fmt::format("holds what is no number below {}", kMaxCpus).c_str());
    uint8_t &owner = t.node_of_cpu[cpu.get<size_t>()];
    if (owner != kNoNode)
      refuse(path + ".cpus", "names a processor that another node has");
    owner = static_cast<uint8_t>(n);
    t.node[n].cpus++;
  }
}

} // namespace

void default_distances(Topology &t) {
  for (unsigned i = 0; i < t.nodes; i++)
    for (unsigned j = 0; j < t.nodes; j++)
      t.distance[i][j] = i == j ? kLocalDistance : 2 * kLocalDistance;
}

Topology parse_topology(std::string_view text) {
  Json root;
  try {
    root = Json::parse(text);
  } catch (const Json::exception &) {
    throw TopologyError("it is not JSON");
  }
  if (!root.is_object() || root.value("schema", Json()) != "smalloc.topology/1")
    throw TopologyError("key 'schema' is not \"smalloc.topology/1\"");
  if (!root.contains("nodes") || !root["nodes"].is_array() || root["nodes"].empty() ||
      root["nodes"].size() > kMaxNodes)
    refuse("nodes", fmt::format("is not a list of 1 to {} nodes", kMaxNodes).c_str());
  Topology t;
  t.nodes = static_cast<unsigned>(root["nodes"].size());
  std::fill_n(t.node_of_cpu, kMaxCpus, kNoNode);
  for (unsigned n = 0; n < t.nodes; n++)
    parse_node(root["nodes"][n], n, t);
  bool any_memory = false;
  for (unsigned n = 0; n < t.nodes; n++)
    any_memory |= t.has_memory(n);
  if (!any_memory)
    throw TopologyError("no node has memory ('memory_bytes')");
  default_distances(t);
  matrix(root, "distance", t.nodes, {kLocalDistance, 254},
         [&](unsigned i, unsigned j, double v) { t.distance[i][j] = static_cast<uint8_t>(v); });
  matrix(root, "latency_ns", t.nodes, {1, 1e6},
         [&](unsigned i, unsigned j, double v) { t.latency_ns[i][j] = static_cast<float>(v); });
  return t;
}

Json topology_document(const Topology &t) {
  Json nodes = Json::array(), distance = Json::array(), latency = Json::array();
  for (unsigned n = 0; n < t.nodes; n++) {
    Json cpus = Json::array(), distances = Json::array(), latencies = Json::array();
    for (unsigned cpu = 0; cpu < kMaxCpus; cpu++)
      if (t.node_of_cpu[cpu] == n)
        cpus.push_back(cpu);
    const Node &node = t.node[n];
    nodes.push_back(Json{{"id", node.os_id},
                         {"cpus", cpus},
                         {"memory_bytes", node.memory_bytes},
                         {"free_bytes", node.free_bytes},
                         {"bandwidth_bytes_per_second",
                          node.bandwidth_bytes_s > 0 ? Json(node.bandwidth_bytes_s) : Json()}});
    for (unsigned m = 0; m < t.nodes; m++) {
      distances.push_back(t.distance[n][m]);
      latencies.push_back(std::round(t.latency(n, m) * 10) / 10);
    }
    distance.push_back(distances);
    latency.push_back(latencies);
  }
  return Json{{"schema", "smalloc.topology/1"},
              {"nodes", nodes},
              {"distance", distance},
              {"latency_ns", latency},
              {"totals", Json{{"nodes", t.nodes}}}};
}

} // namespace smalloc::numa
