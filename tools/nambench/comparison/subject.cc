#include "tools/nambench/comparison/subject.h"

#include <memory>
#include <utility>
#include <vector>

#include "compute/cluster/optimisations.h"
#include "tools/nambench/engine/engine_flags.h"
#include "tools/nambench/engine/engine_run.h"
#include "tools/support/report/progress.h"
#include "tools/support/servers/server_thread.h"
#include "workloads/workload.h"

namespace namdb::nambench {
namespace {

constexpr const char* kMoreMemory = "if memory ran out: a larger --region-mib";

// The first fault of a run that makes its figures worthless, as a sentence; empty if there is none.
std::string complaint(const support::RunReport& report) {
  for (const support::CheckResult& check : report.checks) {
    if (!check.ok) return "check " + check.name + " failed: " + check.detail;
  }
  if (report.failed() == 0) return {};
  std::string text = std::to_string(report.failed()) + " transactions failed:";
  for (const auto& [reason, count] : report.reasons)
    text += "\n  " + std::to_string(count) + " times " + reason;
  return text;
}

}  // namespace

Result<Measurement> run_subject(const Subject& subject, const RunSpan& span, const RunLimits& limits) {
  support::Progress silent(true);
  const auto workload = make_workload(workload_options(subject.workload, limits.sizes, span.seed));
  if (!workload.ok()) return workload.status();

  EngineFlags engine;
  engine.engine = engine.in_process = true;
  engine.fabric = subject.fabric;
  engine.protocol = subject.protocol;
  engine.stages = subject.stages.text();
  engine.region_mib = limits.region_mib != 0 ? limits.region_mib
                                             : limits.sizes.region_mib(subject.workload.name,
                                                                       subject.protocol, span.all_seconds());
  engine.location_cache_mib = 8;
  engine.host.stage_times = subject.stage_times;
  // Loading without outstanding requests would take long. Where the location cache is left out nothing is
  // lost if another worker loads.
  const auto optimisations = txn::Optimisations::without(subject.without);
  if (!optimisations)
    return Status(ErrorCode::invalid_parameter_value, "no optimisations: " + subject.without);
  if (optimisations->location_cache) engine.host.without = subject.without;
  std::vector<std::unique_ptr<support::ServerThread>> servers;
  auto host = engine.open(servers);
  if (!host.ok()) return host.status();

  const std::string what = subject.protocol + ", " + subject.stages.text() + ", " + subject.workload.title() +
                           ", " + subject.fabric + ": ";
  const Result<support::LoadReport> loaded = engine_load(**workload, **host, {}, silent);
  if (!loaded.ok()) return Status(loaded.status().code(), what + loaded.status().message(), kMoreMemory);
  if (!optimisations->location_cache) {
    host = Status(ErrorCode::internal, "the worker that loaded has left");
    engine.host.without = subject.without;
    host = EngineHost::open(engine.host);
    if (!host.ok()) return host.status();
  }
  EngineRunOptions options;
  options.coroutines = subject.coroutines;
  options.length = {.warmup_seconds = span.warmup_seconds, .seconds = span.seconds};
  options.computation_ns = static_cast<std::uint64_t>(subject.computation_us * 1e3);
  options.check = span.check;
  const Result<support::RunReport> report = engine_run(**workload, **host, options, silent);
  if (!report.ok()) return Status(report.status().code(), what + report.status().message(), kMoreMemory);
  if (const std::string wrong = complaint(*report); !wrong.empty()) {
    return Status(ErrorCode::internal, what + wrong, kMoreMemory);
  }
  return measurement_of(*report);
}

}  // namespace namdb::nambench
