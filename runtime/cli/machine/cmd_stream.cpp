// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cmd_stream.cpp implements `smalloc stream`. It prints the rates of STREAM's four kernels; their
// gain on superpages checks the prediction of `smalloc study --predict`.
#include "runtime/cli/output.h"
#include "runtime/cli/sites/site_report.h"
#include "runtime/cli/verbs.h"
#include "runtime/errors/diagnostics.h"
#include "runtime/measure/memory_room.h"
#include "runtime/measure/stream.h"

#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace smalloc::cli {
namespace {

using Json = nlohmann::ordered_json;

struct StreamOptions {
  OutputOptions output;
  unsigned mib = 1024, repeats = 10;
};

int stream(const StreamOptions &options) {
  const auto thresholds = parse_thresholds(options.output);
  const calibrate::StreamPlan plan{uint64_t{options.mib} << 20, options.repeats};
  const uint64_t available = calibrate::available_bytes();
  if (available && available < plan.bytes + plan.bytes / 8)
    throw Failure{"cannot run STREAM", readable_bytes(plan.bytes),
                  fmt::format("only {} of memory are free", readable_bytes(available)),
                  "smalloc stream --mib 256", kFailed};
  const auto rates = calibrate::run_stream(plan);
  if (!rates)
    throw Failure{"cannot run STREAM", readable_bytes(plan.bytes), "there is no memory for it",
                  "smalloc stream --mib 256", kFailed};
  if (!rates->correct)
    throw Failure{"STREAM failed",
                  readable_bytes(plan.bytes),
                  "its arrays do not hold what the arithmetic gives",
                  {},
                  kFailed};
  Json kernels = Json::array();
  for (size_t i = 0; i < rates->bytes_per_second.size(); i++)
    kernels.push_back(Json{{"name", calibrate::kStreamKernels[i]},
                           {"bytes_per_second", rates->bytes_per_second[i]}});
  const Json document{{"schema", "smalloc.stream/1"},
                      {"array_bytes", plan.bytes / 3},
                      {"repeats", plan.repeats},
                      {"kernels", kernels}};
  return finish(options.output, thresholds, document, [&](Colour colour) {
    Table table({"KERNEL", "BEST RATE"});
    for (const Json &kernel : document["kernels"])
      table.add_row({{kernel["name"]},
                     {fmt::format("{:.2f} GB/s", kernel["bytes_per_second"].get<double>() / 1e9)}});
    return table.print(colour);
  });
}

std::function<int()> declare_stream(CLI::App &app) {
  auto options = std::make_shared<StreamOptions>();
  app.add_option("--mib", options->mib, "MiB of the three arrays together (default 1024)")
      ->type_name("N")
      ->check(CLI::Range(1, 1 << 24).description(""));
  app.add_option("-r,--repeats", options->repeats, "Passes over them; the best counts (default 10)")
      ->type_name("N")
      ->check(CLI::Range(1, 100000).description(""));
  add_output_options(app, options->output);
  return [options] { return stream(*options); };
}

} // namespace

const Verb kStreamVerb = {
    "stream",
    "the STREAM benchmark on memory from malloc",
    "Runs copy, scale, add and triad (J. McCalpin, STREAM) on three arrays from malloc, checks "
    "their "
    "contents and prints the best rates. smalloc study --stream runs it under several page sizes.",
    {{"smalloc stream", "1 GiB in three arrays, ten passes"},
     {"smalloc study --stream --predict --verify",
      "what its TLB misses are predicted to cost, and what superpages gain"}},
    declare_stream};

} // namespace smalloc::cli
