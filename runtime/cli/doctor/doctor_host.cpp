// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// doctor_host.cpp checks the host: page sizes, and a hypervisor, a container or Windows around the
// kernel. These determine whether a cure can be typed here at all.
#include "runtime/cli/doctor/doctor.h"
#include "runtime/cli/sites/site_report.h"
#include "smalloc/machine.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include <fmt/format.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace smalloc::cli {
namespace {

using Json = nlohmann::ordered_json;

// Page sizes that libsmalloc is built for (smalloc/base/units.h).
constexpr uint64_t kBasePage = 4096, kSuperpage = 2u << 20;

bool contains(const std::string &text, const char *part) {
  return text.find(part) != std::string::npos;
}

void check_page_sizes(const SystemView &system, Checks &checks) {
  const uint64_t base = base_page_bytes(system), super = superpage_bytes(system);
  const bool fits = base == kBasePage;
  checks.push_back({"base-page", fits ? Verdict::kOk : Verdict::kFail, base,
                    fmt::format("base pages: {}{}", readable_bytes(base),
                                fits ? "" : "; libsmalloc is built for 4 KiB: do not load it here"),
                    ""});
  if (super)
    checks.push_back({"superpage", super == kSuperpage ? Verdict::kOk : Verdict::kFail, super,
                      fmt::format("transparent superpages: {}{}", readable_bytes(super),
                                  super == kSuperpage ? "" : "; libsmalloc is built for 2 MiB"),
                      ""});
}

// Returns the hypervisor's name; "" if there is none.
std::string hypervisor_of(const SystemView &system) {
  const std::string cpu = system.read("/proc/cpuinfo").value_or("");
  std::istringstream lines(cpu);
  bool guest = false;
  for (std::string line; std::getline(lines, line);) {
    // The flags are words; KVM, Xen, Hyper-V and VMware set the word "hypervisor".
    if (line.starts_with("flags"))
      guest |= contains(line + " ", " hypervisor ");
    // POWER: "platform : pSeries" is a partition, "PowerNV" is not.
    if (line.starts_with("platform") && contains(line, "pSeries"))
      return contains(cpu, "qemu") ? "KVM" : "PowerVM";
  }
  if (const auto xen = system.read("/sys/hypervisor/type"))
    return *xen;
#if defined(__x86_64__)
  if (guest && system.real()) {
    unsigned leaf = 0, letters[3] = {0, 0, 0};
    __cpuid(0x40000000, leaf, letters[0], letters[1], letters[2]);
    char name[13] = {};
    std::memcpy(name, letters, 12);
    if (std::all_of(name, name + std::strlen(name), [](char c) { return c >= ' ' && c <= '~'; }) &&
        name[0])
      return std::string(name, std::min<size_t>(std::strlen(name), 12));
  }
#endif
  const std::string vendor = system.read("/sys/class/dmi/id/sys_vendor").value_or("");
  for (const char *known :
       {"QEMU", "Amazon EC2", "Microsoft Corporation", "VMware", "Xen", "Google", "innotek"})
    if (contains(vendor, known) && (guest || !contains(cpu, "flags\t")))
      return vendor;
  return guest ? "unknown" : "";
}

void check_hypervisor(const SystemView &system, Checks &checks) {
  const std::string name = hypervisor_of(system);
  checks.push_back({"hypervisor", Verdict::kOk, name.empty() ? Json(false) : Json(name),
                    name.empty()
                        ? std::string("no hypervisor")
                        : fmt::format("under a hypervisor ({}): if it backs memory with small "
                                      "pages, superpages shorten walks only",
                                      name),
                    ""});
}

void check_container(const SystemView &system, Checks &checks) {
  std::string kind;
  const std::string first = system.read("/proc/1/environ").value_or("");
  if (system.exists("/.dockerenv"))
    kind = "Docker";
  else if (system.exists("/run/.containerenv"))
    kind = "Podman";
  else if (contains(first, "container=lxc"))
    kind = "LXC";
  else if (contains(system.read("/proc/1/cgroup").value_or(""), "kubepods"))
    kind = "Kubernetes";
  if (!kind.empty())
    checks.push_back({"container", Verdict::kWarn, kind,
                      fmt::format("inside a container ({}): the kernel's settings are the host's, "
                                  "cures are to be typed there",
                                  kind),
                      ""});
  const std::string version = system.read("/proc/version").value_or("");
  if (contains(version, "microsoft") || contains(version, "Microsoft")) {
    const bool first_wsl = !contains(version, "WSL2") && !contains(version, "microsoft-standard");
    checks.push_back({"wsl", first_wsl ? Verdict::kFail : Verdict::kWarn, first_wsl ? 1 : 2,
                      first_wsl ? "WSL 1: there is no Linux kernel, hence no superpages"
                                : "WSL 2: the kernel's settings last until Windows stops it",
                      first_wsl ? "wsl --set-version DISTRIBUTION 2 # in Windows"
                                : "# in /etc/wsl.conf: [boot] command = the cures that you need"});
  }
}

} // namespace

const struct smalloc_machine *machine_of(const SystemView &system) {
  if (system.real())
    return smalloc_machine_native();
  std::istringstream lines(system.read("/proc/cpuinfo").value_or(""));
  unsigned long family = 0, model = 0, implementer = 0, part = 0;
  std::string vendor, power;
  for (std::string line; std::getline(lines, line);) {
    const size_t colon = line.find(':');
    if (colon == std::string::npos)
      continue;
    const std::string key =
        line.substr(0, std::min(line.find_last_not_of(" \t", colon - 1) + 1, colon));
    const std::string value = line.substr(std::min(colon + 2, line.size()));
    const auto number = [&] { return std::strtoul(value.c_str(), nullptr, 0); };
    if (key == "vendor_id")
      vendor = value;
    else if (key == "cpu family")
      family = number();
    else if (key == "model")
      model = number();
    else if (key == "CPU implementer")
      implementer = number();
    else if (key == "CPU part")
      part = number();
    else if (key == "cpu" && value.starts_with("POWER"))
      power = value.substr(0, value.find(' '));
    else
      continue;
    if (part && implementer)
      break; // only the first processor's
  }
  if (!power.empty())
    return smalloc_machine_by_platform(power.c_str());
  if (implementer)
    return smalloc_machine_by_midr(uint64_t{implementer} << 24 | uint64_t{part & 0xfff} << 4);
  const uint8_t known = vendor == "AuthenticAMD" || vendor == "HygonGenuine" ? SMALLOC_VENDOR_AMD
                        : vendor == "GenuineIntel"                           ? SMALLOC_VENDOR_INTEL
                                                                             : SMALLOC_VENDOR_NONE;
  return smalloc_machine_by_cpu(known, static_cast<uint16_t>(family), static_cast<uint16_t>(model));
}

void check_host(const SystemView &system, Checks &checks) {
  check_page_sizes(system, checks);
  check_hypervisor(system, checks);
  check_container(system, checks);
}

} // namespace smalloc::cli
