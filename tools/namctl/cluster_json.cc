#include "tools/namctl/cluster_json.h"

#include <nlohmann/json.hpp>

#include "proto/control.pb.h"
#include "tools/namctl/disk_view.h"
#include "tools/namctl/index_view.h"

namespace namdb::namctl {
namespace {

nlohmann::json table_json(const control::TableUse& table) {
  nlohmann::json partition = nlohmann::json::array();
  for (const std::string& column : table.partition_columns()) partition.push_back(column);
  return {{"name", table.name()},
          {"partition_columns", partition},
          {"id", table.id()},
          {"bucket_bytes", table.bucket_bytes()},
          {"bucket_count", table.bucket_count()},
          {"doublings", table.doublings()},
          {"record_bytes", table.record_bytes()},
          {"free_record_bytes", table.free_record_bytes()}};
}

nlohmann::json backlog_json(const control::Backlog& backlog) {
  return {{"sampled_records", backlog.sampled_records()},
          {"sampled_ring_slots", backlog.sampled_ring_slots()},
          {"unmoved_ring_slots", backlog.unmoved_ring_slots()},
          {"live_versions", backlog.live_versions()},
          {"aging_versions", backlog.aging_versions()},
          {"aging_ns", backlog.aging_ns()},
          {"tombstones", backlog.tombstones()},
          {"reuse_pieces", backlog.reuse_pieces()},
          {"oldest_snapshot_ns", backlog.oldest_snapshot_ns()}};
}

}  // namespace

nlohmann::json to_json(const ClusterView& view) {
  nlohmann::json memory = nlohmann::json::array();
  for (const MemoryView& server : view.memory) {
    nlohmann::json entry = {{"address", server.address}, {"up", server.status.ok()}};
    if (!server.status.ok()) {
      entry["error"] = server.status.to_string();
    } else {
      const control::StatusReply& reply = server.reply;
      entry["server_id"] = reply.server_id();
      entry["copies"] = server.copies;
      entry["epoch"] = reply.epoch();
      entry["fabric"] = reply.fabric();
      entry["protocol"] = reply.protocol();
      entry["stages"] = reply.stages();
      if (!reply.preset().empty()) entry["preset"] = reply.preset();
      entry["timestamp_vector"] = reply.timestamp_vector();
      entry["read_locks"] = reply.shared_read_locks() ? "shared" : "none";
      entry["version"] = reply.version();
      entry["uptime_ns"] = reply.uptime_ns();
      entry["region_bytes"] = reply.region_bytes();
      entry["region_limit_bytes"] = reply.limit_bytes();
      entry["free_bytes"] = reply.free_bytes();
      entry["overflow_bytes"] = reply.overflow_bytes();
      entry["huge_pages"] = reply.huge_pages();
      entry["max_transaction_ns"] = reply.max_transaction_ns();
      entry["versions_moved"] = reply.versions_moved();
      entry["versions_collected"] = reply.versions_collected();
      entry["records_reclaimed"] = reply.records_reclaimed();
      if (reply.server_id() == 0) {
        entry["slots_dead"] = reply.slots_dead();
        entry["slots_decided"] = reply.slots_decided();
      }
      entry["entries_refused"] = reply.entries_refused();
      entry["backlog"] = backlog_json(reply.backlog());
      entry["durability"] = reply.durability();
      if (reply.has_disk()) {
        entry["log"] = log_json(reply.disk());
        entry["checkpoint"] = checkpoint_json(reply.disk().checkpoint());
      }
      if (reply.has_opening()) entry["opening"] = opening_json(reply.opening());
      entry["catalog_version"] = reply.catalog_version();
      entry["peers"] = reply.peers_size();
      nlohmann::json tables = nlohmann::json::array();
      for (const control::TableUse& table : reply.tables()) tables.push_back(table_json(table));
      entry["tables"] = tables;
      if (reply.other_tables() + reply.other_indexes() != 0) {
        entry["other_tables"] = reply.other_tables();
        entry["other_table_bytes"] = reply.other_table_bytes();
        entry["other_indexes"] = reply.other_indexes();
        entry["other_index_bytes"] = reply.other_index_bytes();
      }
    }
    memory.push_back(entry);
  }
  nlohmann::json compute = nlohmann::json::array();
  for (const ComputeView& server : view.compute) {
    nlohmann::json entry = {{"address", server.address}, {"up", server.error.empty()}};
    if (server.error.empty()) {
      entry["version"] = server.version;
      entry["statistics"] = server.statistics;
      entry["damaged_reads"] = server.damaged_reads();
    } else {
      entry["error"] = server.error;
    }
    compute.push_back(entry);
  }
  nlohmann::json others = nlohmann::json::array();
  for (const HostView& host : view.others) {
    others.push_back({{"address", host.address},
                      {"server_id", host.reply.server_id},
                      {"state", name_of(host.reply.state)},
                      {"copied_bytes", host.reply.copied_bytes},
                      {"total_bytes", host.reply.total_bytes}});
  }
  return {{"all_up", view.all_answer()},
          {"memory_servers", memory},
          {"other_hosts", others},
          {"compute_servers", compute},
          {"indexes", to_json(view_indexes(view))}};
}

}  // namespace namdb::namctl
