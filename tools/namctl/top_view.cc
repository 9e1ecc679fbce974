#include "tools/namctl/top_view.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "proto/control.pb.h"
#include "tools/namctl/cluster_json.h"
#include "tools/namctl/disk_view.h"
#include "tools/namctl/output.h"

namespace namdb::namctl {
namespace {

constexpr const char kAbortsPrefix[] = "aborts_";

// "-" where there is no rate.
std::string rate_text(const Rates& rates, const std::string& name) {
  const auto found = rates.find(name);
  return found == rates.end() ? "-" : text("%.0f/s", found->second);
}

// The share of the ring slots that was seen and no writer can take; empty when none was seen.
std::optional<double> ring_fill(const control::Backlog& backlog) {
  if (backlog.sampled_ring_slots() == 0) return std::nullopt;
  return static_cast<double>(backlog.unmoved_ring_slots()) /
         static_cast<double>(backlog.sampled_ring_slots());
}

void add_disk(std::vector<std::string>& lines, const control::DiskStatus& disk, const Rates& rates) {
  const auto rate = [&rates](const char* name) -> std::optional<double> {
    const auto found = rates.find(name);
    return found == rates.end() ? std::nullopt : std::optional(found->second);
  };
  const std::optional<double> writes = rate("log_synced_writes");
  const std::optional<double> records = rate("log_records");
  const std::optional<double> bytes = rate("log_written_bytes");
  lines.push_back(text("        log %s, %s, %s records each; %.1f of %.1f MiB used%s",
                       rate_text(rates, "log_synced_writes").c_str(),
                       bytes ? text("%.1f MiB/s", *bytes / (1 << 20)).c_str() : "-",
                       writes && *writes != 0 && records ? text("%.1f", *records / *writes).c_str() : "-",
                       mebibytes(disk.used_bytes()), mebibytes(disk.limit_bytes()),
                       disk.full() ? ", FULL: commits are refused" : ""));
  lines.push_back("        " + checkpoint_text(disk.checkpoint()));
}

void add_memory(std::vector<std::string>& lines, const MemoryView& server, const Rates& rates) {
  if (!server.status.ok()) {
    lines.push_back(text("memory  %s DOWN: %s", server.address.c_str(), server.status.message().c_str()));
    return;
  }
  const control::StatusReply& reply = server.reply;
  const control::Backlog& backlog = reply.backlog();
  const std::optional<double> fill = ring_fill(backlog);
  lines.push_back(
      text("memory  %s  free %.1f of %.1f MiB%s, overflow %.1f MiB, rings %s full, oldest snapshot %.1f s",
           server.address.c_str(), mebibytes(reply.free_bytes()), mebibytes(reply.region_bytes()),
           limit_text(reply).c_str(), mebibytes(reply.overflow_bytes()),
           fill ? text("%.1f %%", 100 * *fill).c_str() : "-", in_seconds(backlog.oldest_snapshot_ns())));
  lines.push_back(
      text("        mover %s; collector: versions %s, %llu wait (%.1f s), records %s, %llu wait, "
           "%llu pieces wait for reuse",
           rate_text(rates, "versions_moved").c_str(), rate_text(rates, "versions_collected").c_str(),
           static_cast<unsigned long long>(backlog.live_versions() + backlog.aging_versions()),
           in_seconds(backlog.aging_ns()), rate_text(rates, "records_reclaimed").c_str(),
           static_cast<unsigned long long>(backlog.tombstones()),
           static_cast<unsigned long long>(backlog.reuse_pieces())));
  if (reply.has_disk()) add_disk(lines, reply.disk(), rates);
}

void add_compute(std::vector<std::string>& lines, const ComputeView& server, const Rates& rates) {
  if (!server.error.empty()) {
    lines.push_back(text("compute %s DOWN: %s", server.address.c_str(), server.error.c_str()));
    return;
  }
  const std::uint64_t commits = std::max<std::uint64_t>(server.total("commits"), 1);
  lines.push_back(text("compute %s  commits %s, retries %s, %.2f round trips a commit",
                       server.address.c_str(), rate_text(rates, "commits").c_str(),
                       rate_text(rates, "retries").c_str(),
                       static_cast<double>(server.total("round_trips")) / static_cast<double>(commits)));
  std::string aborts;
  for (const auto& [name, rate] : rates) {
    if (!name.starts_with(kAbortsPrefix) || rate == 0) continue;
    aborts += (aborts.empty() ? "" : ", ") + name.substr(sizeof kAbortsPrefix - 1) + text(" %.0f/s", rate);
  }
  if (!aborts.empty()) lines.push_back("        aborted attempts: " + aborts);
}

}  // namespace

void TopView::advance(Sample& sample, Sample now) {
  const double elapsed_s = std::chrono::duration<double>(now.when - sample.when).count();
  const bool comparable = !sample.counters.empty() && sample.incarnation == now.incarnation && elapsed_s > 0;
  for (const auto& [name, value] : now.counters) {
    if (!comparable) break;
    const auto before = sample.counters.find(name);
    const std::uint64_t begin = before == sample.counters.end() ? 0 : before->second;
    if (value < begin) {  // a server that was started again
      now.rates.clear();
      break;
    }
    now.rates[name] = static_cast<double>(value - begin) / elapsed_s;
  }
  sample = std::move(now);
}

void TopView::look(ClusterView view, Clock::time_point when) {
  view_ = std::move(view);
  memory_.resize(view_.memory.size());
  compute_.resize(view_.compute.size());
  for (std::size_t i = 0; i < memory_.size(); ++i) {
    Sample now{.incarnation = 0, .when = when, .counters = {}, .rates = {}};
    if (view_.memory[i].status.ok()) {
      const control::StatusReply& reply = view_.memory[i].reply;
      now.incarnation = reply.epoch();
      now.counters = {{"versions_moved", reply.versions_moved()},
                      {"versions_collected", reply.versions_collected()},
                      {"records_reclaimed", reply.records_reclaimed()}};
      if (reply.has_disk()) {
        const control::DiskStatus& disk = reply.disk();
        now.counters["log_synced_writes"] = disk.synced_writes();
        now.counters["log_records"] = disk.records();
        now.counters["log_appended_bytes"] = disk.appended_bytes();
        now.counters["log_written_bytes"] = disk.written_bytes();
      }
    }
    advance(memory_[i], std::move(now));
  }
  for (std::size_t i = 0; i < compute_.size(); ++i) {
    Sample now{.incarnation = 0, .when = when, .counters = {}, .rates = {}};
    const ComputeView& server = view_.compute[i];
    if (server.error.empty()) {
      for (const char* name : {"commits", "retries", "round_trips"}) now.counters[name] = server.total(name);
      for (const auto& [type, metrics] : server.statistics) {
        for (const auto& [name, value] : metrics) {
          if (name.starts_with(kAbortsPrefix)) now.counters[name] += value;
        }
      }
    }
    advance(compute_[i], std::move(now));
  }
}

std::vector<std::string> TopView::lines() const {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < memory_.size(); ++i) add_memory(lines, view_.memory[i], memory_[i].rates);
  for (std::size_t i = 0; i < compute_.size(); ++i) add_compute(lines, view_.compute[i], compute_[i].rates);
  return lines;
}

nlohmann::json TopView::json() const {
  nlohmann::json document = to_json(view_);
  for (std::size_t i = 0; i < memory_.size(); ++i) {
    nlohmann::json& server = document["memory_servers"][i];
    server["per_second"] = memory_[i].rates;
    const std::optional<double> fill = ring_fill(view_.memory[i].reply.backlog());
    server["ring_fill"] = fill ? nlohmann::json(*fill) : nlohmann::json();
  }
  for (std::size_t i = 0; i < compute_.size(); ++i) {
    document["compute_servers"][i]["per_second"] = compute_[i].rates;
  }
  return document;
}

}  // namespace namdb::namctl
