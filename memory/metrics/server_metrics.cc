#include "memory/metrics/server_metrics.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace namdb::memory {
namespace {

using metrics::amount;
using metrics::MetricPage;
using metrics::seconds;

std::string purpose_name(control::MemoryPurpose purpose) {
  switch (purpose) {
    case control::MEMORY_REGION_MAP:
      return "region_map";
    case control::MEMORY_TIMESTAMP_VECTOR:
      return "timestamp_vector";
    case control::MEMORY_ALIGNMENT:
      return "alignment";
    case control::MEMORY_JOURNALS:
      return "journals";
    case control::MEMORY_MAIN_BUCKETS:
      return "main_buckets";
    case control::MEMORY_INDIRECT_BUCKETS:
      return "indirect_buckets";
    case control::MEMORY_RECORDS:
      return "records";
    case control::MEMORY_OVERFLOW:
      return "overflow";
    case control::MEMORY_FREE_EXTENTS:
      return "free_extents";
    case control::MEMORY_INDEXES:
      return "indexes";
    default:
      return "other";
  }
}

void add_memory(MetricPage& page, const control::MemoryReply& memory) {
  std::map<std::string, std::array<std::uint64_t, 5>> sums;
  for (const control::MemoryPart& part : memory.parts()) {
    std::array<std::uint64_t, 5>& sum = sums[purpose_name(part.purpose())];
    const std::array<std::uint64_t, 5> bytes = {part.used_bytes(), part.reserved_bytes(),
                                                part.waiting_bytes(), part.free_bytes(),
                                                part.unusable_bytes()};
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += bytes[i];
  }
  constexpr std::array<const char*, 5> kStates = {"used", "reserved", "waiting", "free", "unusable"};
  for (const auto& [purpose, sum] : sums) {
    for (std::size_t i = 0; i < sum.size(); ++i) {
      page.gauge("namdb_memory_part_bytes",
                 "The region's memory by purpose and state; all samples add up to its length.",
                 amount(sum[i]), {{"purpose", purpose}, {"state", kStates[i]}});
    }
  }
}

void add_backlog(MetricPage& page, const control::Backlog& backlog) {
  page.gauge("namdb_memory_live_versions", "Old versions in the overflow whose successor is not published.",
             amount(backlog.live_versions()));
  page.gauge("namdb_memory_aging_versions", "Old versions that wait until no snapshot can need them.",
             amount(backlog.aging_versions()));
  page.gauge("namdb_memory_aging_seconds", "How long the oldest of these has waited.",
             seconds(backlog.aging_ns()));
  page.gauge("namdb_memory_tombstones", "Deleted records that are not reclaimed yet.",
             amount(backlog.tombstones()));
  page.gauge("namdb_memory_reuse_pieces", "Pieces of memory that wait until no worker can reach them.",
             amount(backlog.reuse_pieces()));
  page.gauge("namdb_memory_oldest_snapshot_seconds", "Age of the oldest snapshot of a running transaction.",
             seconds(backlog.oldest_snapshot_ns()));
}

void add_checkpoint(MetricPage& page, const control::CheckpointStatus& checkpoint) {
  page.gauge("namdb_memory_checkpoint_generation", "Number of the newest checkpoint; 0: none.",
             amount(checkpoint.generation()));
  page.gauge("namdb_memory_checkpoint_bytes", "Bytes of the newest checkpoint.", amount(checkpoint.bytes()));
  if (checkpoint.has_age_ns()) {
    page.gauge("namdb_memory_checkpoint_age_seconds",
               "Since the last checkpoint of this process ended; absent before the first.",
               seconds(checkpoint.age_ns()));
    page.gauge("namdb_memory_checkpoint_duration_seconds", "How long that checkpoint took.",
               seconds(checkpoint.duration_ns()));
  }
  page.counter("namdb_memory_checkpoints_total", "Checkpoints that this process has finished.",
               amount(checkpoint.finished()));
  page.gauge("namdb_memory_checkpoint_running", "1 while a checkpoint is being written.",
             checkpoint.running() ? 1 : 0);
  page.gauge("namdb_memory_checkpoint_failed", "1 if the last attempt was abandoned.",
             checkpoint.error().empty() ? 0 : 1);
  page.gauge("namdb_memory_checkpoint_stuck_records",
             "Records that keep the log back, since a commit was half-installed in them throughout.",
             amount(static_cast<std::uint64_t>(checkpoint.stuck_size())));
}

void add_disk(MetricPage& page, const control::DiskStatus& disk) {
  page.counter("namdb_memory_log_records_total", "Records appended to the log.", amount(disk.records()));
  page.counter("namdb_memory_log_appended_bytes_total", "Bytes of these records.",
               amount(disk.appended_bytes()));
  page.counter("namdb_memory_log_synced_writes_total", "Durable writes of the log; commits share them.",
               amount(disk.synced_writes()));
  page.counter("namdb_memory_log_written_bytes_total", "Bytes in these writes.",
               amount(disk.written_bytes()));
  page.gauge("namdb_memory_log_unsynced_bytes", "Bytes of the log that are not durable yet.",
             amount(disk.position() - std::min(disk.position(), disk.durable_position())));
  page.gauge("namdb_memory_log_used_bytes", "Disk space of the log's segments.", amount(disk.used_bytes()));
  page.gauge("namdb_memory_log_limit_bytes", "--log-bytes.", amount(disk.limit_bytes()));
  page.gauge("namdb_memory_log_full", "1 while commits are refused since the log is full.",
             disk.full() ? 1 : 0);
  add_checkpoint(page, disk.checkpoint());
}

void add_tables(MetricPage& page, const control::StatusReply& status) {
  page.gauge("namdb_memory_tables", "Tables with a part on this server.",
             amount(static_cast<std::uint64_t>(status.tables_size())));
  page.gauge("namdb_memory_indexes", "Secondary indexes with a part on this server.",
             amount(static_cast<std::uint64_t>(status.indexes_size())));
  std::vector<const control::TableUse*> tables;
  for (const control::TableUse& table : status.tables()) tables.push_back(&table);
  std::ranges::sort(tables, std::greater(), [](const control::TableUse* table) {
    return std::pair(table->bucket_bytes() + table->record_bytes(), table->id());
  });
  tables.resize(std::min(tables.size(), kMetricTables));
  for (const control::TableUse* table : tables) {
    const auto add = [&](const char* kind, std::uint64_t bytes) {
      page.gauge("namdb_memory_table_bytes",
                 "Memory of the largest tables on this server: buckets, records, and records to use again.",
                 amount(bytes), {{"table", table->name()}, {"kind", kind}});
    };
    add("buckets", table->bucket_bytes());
    add("records", table->record_bytes());
    add("free_records", table->free_record_bytes());
  }
  std::vector<const control::IndexUse*> indexes;
  for (const control::IndexUse& index : status.indexes()) indexes.push_back(&index);
  std::ranges::sort(indexes, std::greater(), [](const control::IndexUse* index) {
    return std::pair(index->page_bytes(), index->id());
  });
  indexes.resize(std::min(indexes.size(), kMetricTables));
  for (const control::IndexUse* index : indexes) {
    page.gauge("namdb_memory_index_bytes", "Memory of the largest secondary indexes on this server.",
               amount(index->page_bytes()), {{"index", index->name()}});
  }
  for (const control::IndexUse* index : indexes) {
    page.gauge("namdb_memory_index_entries", "Entries of these indexes.", amount(index->entries()),
               {{"index", index->name()}});
  }
}

void add_opening(MetricPage& page, const control::OpeningStatus& opening) {
  page.gauge("namdb_memory_opening_seconds", "How long the start took to read the data; 0 for new data.",
             seconds(opening.duration_ns()));
  page.gauge("namdb_memory_opening_damaged_chunks", "Chunks of the newest checkpoint that were damaged.",
             amount(opening.damaged_chunks()));
  page.gauge("namdb_memory_opening_losses", "Sentences in the log about data that was lost at the start.",
             amount(static_cast<std::uint64_t>(opening.lost_size())));
}

}  // namespace

void add_server(MetricPage& page, const control::StatusReply& status, const control::MemoryReply& memory,
                std::span<const fabric::Fact> facts) {
  page.info("namdb_memory_info", "Build and settings of the memory server.",
            {{"version", status.version()},
             {"server_id", std::to_string(status.server_id())},
             {"fabric", status.fabric()},
             {"protocol", status.protocol()},
             {"stages", status.stages()},
             {"preset", status.preset()},
             {"durability", status.durability()},
             {"timestamp_vector", status.timestamp_vector()},
             {"huge_pages", status.huge_pages() ? "yes" : "no"}});
  page.gauge("namdb_memory_uptime_seconds", "Since the server started.", seconds(status.uptime_ns()));
  page.gauge("namdb_memory_region_bytes", "The region's length.", amount(status.region_bytes()));
  page.gauge("namdb_memory_region_limit_bytes", "The length up to which it may grow.",
             amount(status.limit_bytes()));
  page.gauge("namdb_memory_free_bytes", "Memory of the region of which nothing is taken.",
             amount(status.free_bytes()));
  add_memory(page, memory);
  page.gauge("namdb_memory_overflow_bytes", "Old versions that were moved out of records' rings.",
             amount(status.overflow_bytes()));
  page.counter("namdb_memory_versions_moved_total", "Old versions moved out of rings.",
               amount(status.versions_moved()));
  page.counter("namdb_memory_versions_collected_total", "Old versions whose memory was freed.",
               amount(status.versions_collected()));
  page.counter("namdb_memory_records_reclaimed_total", "Deleted records whose memory was freed.",
               amount(status.records_reclaimed()));
  add_backlog(page, status.backlog());
  page.gauge("namdb_memory_catalog_version", "The catalog's version; server 0.",
             amount(status.catalog_version()));
  page.gauge("namdb_memory_peers", "Connected workers of compute servers, memory servers and tools.",
             amount(static_cast<std::uint64_t>(status.peers_size())));
  page.gauge("namdb_memory_slots_dead", "Execution slots of compute servers that died, not decided yet.",
             amount(status.slots_dead()));
  page.counter("namdb_memory_slots_decided_total", "Such slots that were decided.",
               amount(status.slots_decided()));
  page.counter("namdb_memory_journal_entries_refused_total",
               "Journal entries that cannot be what they say: their compute servers are at fault.",
               amount(status.entries_refused()));
  if (status.has_disk()) add_disk(page, status.disk());
  if (status.has_opening()) add_opening(page, status.opening());
  add_tables(page, status);
  for (const fabric::Fact& fact : facts) {
    if (!fact.text.empty()) continue;
    page.gauge("namdb_memory_fabric", "The server's end of the fabric, as in `namctl fabric`.",
               amount(fact.amount), {{"name", fact.name}});
  }
}

std::string status_line(const control::StatusReply& status) {
  std::size_t workers = 0;
  for (const control::PeerStatus& peer : status.peers()) workers += peer.compute_id().empty() ? 0 : 1;
  const double used = status.region_bytes() == 0
                          ? 0
                          : 100 - 100 * amount(status.free_bytes()) / amount(status.region_bytes());
  char line[200];
  std::snprintf(line, sizeof line, "Serves %zu workers, %d tables; %.0f %% of a region of %.1f GiB taken%s",
                workers, status.tables_size(), used, amount(status.region_bytes()) / (1U << 30),
                status.disk().full() ? "; the log is FULL" : "");
  return line;
}

}  // namespace namdb::memory
