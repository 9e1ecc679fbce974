#include "tools/namctl/command_doctor.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "tools/namctl/cluster_file.h"
#include "tools/namctl/compute_connection.h"
#include "tools/namctl/doctor_findings.h"
#include "tools/namctl/machine_facts.h"
#include "tools/namctl/output.h"

namespace namdb::namctl {
namespace {

double now_s() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// How far its clock is ahead of this machine's.
std::optional<double> clock_offset_s(const std::string& address) {
  ComputeConnection connection(address);
  if (!connection.error().empty()) return std::nullopt;
  const double before_s = now_s();
  const auto rows = connection.query("SELECT extract(epoch FROM clock_timestamp())");
  const double after_s = now_s();
  if (!rows.ok() || rows->empty() || !rows->front().front()) return std::nullopt;
  return std::strtod(rows->front().front()->c_str(), nullptr) - (before_s + after_s) / 2;
}

nlohmann::json to_json(const std::vector<Finding>& findings) {
  nlohmann::json all = nlohmann::json::array();
  for (const Finding& finding : findings) {
    all.push_back(
        {{"severity", finding.severity == Severity::failure ? "failure" : severity_name(finding.severity)},
         {"subject", finding.subject},
         {"text", finding.text},
         {"cure", finding.cure}});
  }
  return all;
}

void print(const Output& output, const std::vector<Finding>& findings) {
  std::size_t width = 0;
  for (const Finding& finding : findings) width = std::max(width, finding.subject.size());
  for (const Finding& finding : findings) {
    std::string line(severity_name(finding.severity));
    line.resize(9, ' ');
    line += finding.subject;
    line.resize(9 + width + 2, ' ');
    output.line(line + finding.text);
    if (!finding.cure.empty()) output.line(std::string(9 + width + 2, ' ') + "-> " + finding.cure);
  }
}

}  // namespace

int run_doctor(const ClusterFlags& flags, const std::string& version, bool json) {
  const Output output(json);
  const bool by_address = !flags.memory.empty() || !flags.compute.empty();
  const std::filesystem::path data = std::filesystem::absolute(flags.data).lexically_normal();
  std::optional<ClusterAddress> cluster;
  if (by_address || has_cluster_file(data)) {
    Result<ClusterAddress> address = locate(flags);
    if (!address.ok()) return report_error(output, address.status());
    cluster = *std::move(address);
  }
  std::filesystem::path key = flags.key;
  // A cluster of dev up has one where it needs one.
  if (key.empty() && cluster && std::filesystem::exists(cluster->access.key)) key = cluster->access.key;
  std::vector<Finding> findings = judge_machine(read_machine(data, key));
  if (cluster) {
    Result<std::unique_ptr<ControlPlane>> control = ControlPlane::create(cluster->access);
    if (control.ok()) {
      const ClusterView view = view_cluster(**control, *cluster);
      std::vector<std::optional<double>> offsets_s;
      for (const ComputeView& server : view.compute) offsets_s.push_back(clock_offset_s(server.address));
      std::ranges::move(judge_cluster(view, version, offsets_s), std::back_inserter(findings));
    } else {
      findings.push_back({Severity::failure, "cluster", control.status().message(), control.status().hint()});
    }
  } else {
    findings.push_back({Severity::note, "cluster", "there is none at " + data.string(),
                        "namctl dev up, or --memory-server and --compute-server for one elsewhere"});
  }
  print(output, findings);
  const auto count = [&findings](Severity severity) {
    return std::ranges::count(findings, severity, &Finding::severity);
  };
  output.line(text("%zd failures, %zd warnings, %zd notes", count(Severity::failure),
                   count(Severity::warning), count(Severity::note)));
  output.document({{"findings", to_json(findings)}});
  return count(Severity::failure) == 0 ? kExitOk : kExitOther;
}

}  // namespace namdb::namctl
