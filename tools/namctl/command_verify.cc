#include "tools/namctl/command_verify.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "common/reactor/reactor.h"
#include "memory/log/file_disk.h"
#include "memory/log/folder_identity.h"
#include "memory/log/manifest.h"
#include "memory/log/verify.h"
#include "tools/namctl/output.h"

namespace namdb::namctl {
namespace {

void print(const Output& output, const memory::VerifyReport& report) {
  if (report.has_log) {
    output.line(text(
        "log of database %016llx, server %u: positions %llu to %llu, %llu records in %llu blocks, %.1f MiB",
        static_cast<unsigned long long>(report.identity.owner.database_id),
        unsigned{report.identity.owner.server_id}, static_cast<unsigned long long>(report.log_begin),
        static_cast<unsigned long long>(report.log_end), static_cast<unsigned long long>(report.records),
        static_cast<unsigned long long>(report.blocks), mebibytes(report.record_bytes)));
  }
  if (report.torn) output.line("the log ends with a block that was never finished, or is damaged");
  for (const memory::VerifiedCheckpoint& checkpoint : report.checkpoints) {
    output.line(text("checkpoint %s: %llu chunks, %.1f MiB, redo from position %llu",
                     memory::generation_text(checkpoint.generation).c_str(),
                     static_cast<unsigned long long>(checkpoint.chunks), mebibytes(checkpoint.bytes),
                     static_cast<unsigned long long>(checkpoint.redo_from)));
  }
  for (const memory::VerifyFinding& finding : report.findings) {
    output.line(finding.text());
    if (!finding.lost.empty()) output.line("  lost: " + finding.lost);
    if (!finding.remedy.empty()) output.line("  to go on: " + finding.remedy);
  }
  if (report.findings.empty()) output.line("nothing is wrong");
}

nlohmann::json to_json(const memory::VerifyReport& report) {
  nlohmann::json checkpoints = nlohmann::json::array();
  for (const memory::VerifiedCheckpoint& checkpoint : report.checkpoints) {
    checkpoints.push_back({{"generation", checkpoint.generation},
                           {"redo_from", checkpoint.redo_from},
                           {"chunks", checkpoint.chunks},
                           {"bytes", checkpoint.bytes}});
  }
  nlohmann::json findings = nlohmann::json::array();
  for (const memory::VerifyFinding& finding : report.findings)
    findings.push_back({{"where", finding.where},
                        {"what", finding.what},
                        {"lost", finding.lost},
                        {"remedy", finding.remedy}});
  nlohmann::json log;
  if (report.has_log) {
    log = {{"database_id", report.identity.owner.database_id},
           {"server_id", report.identity.owner.server_id},
           {"begin", report.log_begin},
           {"end", report.log_end},
           {"records", report.records},
           {"record_bytes", report.record_bytes},
           {"blocks", report.blocks},
           {"torn", report.torn}};
  }
  return {{"log", log}, {"checkpoints", checkpoints}, {"findings", findings}};
}

std::optional<std::string> identity_in(const std::string& folder) {
  std::ifstream file(std::filesystem::path(folder) / memory::kIdentityName, std::ios::binary);
  if (!file) return std::nullopt;
  return std::string((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
}

}  // namespace

int run_verify(const std::string& folder, bool json) {
  const Output output(json);
  const Result<std::unique_ptr<reactor::Reactor>> reactor = reactor::Reactor::create();
  if (!reactor.ok()) return report_error(output, reactor.status());
  memory::FileDisk disk(*reactor.value(), memory::FileDisk::Access::read_only);
  Result<memory::VerifyReport> report = reactor.value()->run_until(memory::verify_folder(disk, folder));
  if (!report.ok()) return report_error(output, report.status());
  memory::verify_database(folder, identity_in(folder), report.value());
  print(output, report.value());
  output.document(to_json(report.value()));
  return report.value().findings.empty() ? kExitOk : kExitOther;
}

}  // namespace namdb::namctl
