#include "tools/nambench/micro/hash_bench.h"

#include <memory>
#include <utility>

#include "common/base/random.h"
#include "common/layout/bucket.h"
#include "common/layout/key.h"
#include "compute/api/engine.h"
#include "tools/nambench/engine/engine_host.h"
#include "tools/support/servers/server_thread.h"
#include "workloads/generators/zipf.h"
#include "workloads/table_spec.h"

namespace namdb::nambench {
namespace {

constexpr std::uint64_t kRowsPerInsert = 32;
constexpr const char* kTable = "hash_bench";

// The engine sizes its buckets for this occupancy at the size hint.
constexpr double kHintOccupancy = 0.75;

struct Published {
  int occupancy_percent;
  double uniform, uniform_cached, zipf, zipf_cached;
};
// DrTM (TOCS 2017), Table VI; "≈ 0" is 0.0005 here, to tell it from what was not published.
constexpr Published kPublished[] = {
    {50, 1.008, 0.204, 1.004, 0.0005}, {75, 1.052, 0.475, 1.039, 0.0005}, {90, 1.100, 0.587, 1.091, 0.0005}};

layout::Schema table_schema() {
  const workloads::TableSpec spec{
      kTable, {workloads::bigint_column("id"), workloads::bigint_column("value")}, {0}, 1};
  return spec.schema();
}

std::int64_t value_of(std::uint64_t key) {
  return static_cast<std::int64_t>(key * 7 + 1);
}

class Table {
 public:
  Table(EngineHost& host, std::uint64_t keys) : host_(host), engine_(host.engine()), keys_(keys) {}

  Status create(double occupancy) {
    host_.run(do_create(occupancy));
    return std::move(status_);
  }
  Status drop() {
    host_.run(do_drop());
    return std::move(status_);
  }
  // READs of buckets for all lookups together.
  Result<std::uint64_t> measure(const workloads::Zipf& distribution, std::uint64_t lookups,
                                std::uint64_t seed) {
    host_.run(do_measure(distribution, lookups, Random(seed)));
    if (!status_.ok()) return std::move(status_);
    return bucket_reads_;
  }
  double occupancy() const {
    return static_cast<double>(keys_) / static_cast<double>(table_->bucket_count() * layout::kBucketEntries);
  }
  std::uint64_t hash() const { return hash_; }

 private:
  reactor::Task<void> do_create(double occupancy) {
    txn::TableDefinition definition;
    definition.name = kTable;
    definition.schema = table_schema();
    definition.size_hint_rows =
        static_cast<std::uint64_t>(static_cast<double>(keys_) * kHintOccupancy / occupancy);
    definition.ring_slots = 1;
    status_ = co_await engine_.create_table(std::move(definition));
    if (status_.ok()) status_ = co_await find_table();
    const std::unique_ptr<txn::Session> session = engine_.open_session();
    for (std::uint64_t key = 0; status_.ok() && key < keys_; key += kRowsPerInsert) {
      status_ = co_await insert(*session, key, std::min(key + kRowsPerInsert, keys_));
      co_await engine_.executor().yield();
    }
  }

  reactor::Task<Status> find_table() {
    Result<storage::TableRef> table = co_await engine_.table(kTable);
    if (!table.ok()) co_return table.status();
    table_ = std::move(table).value();
    co_return Status();
  }

  reactor::Task<Status> insert(txn::Session& session, std::uint64_t begin, std::uint64_t end) {
    for (std::uint32_t attempt = 1;; ++attempt) {
      const std::unique_ptr<txn::Transaction> transaction = engine_.begin(session);
      layout::Row row(table_->schema);
      for (std::uint64_t key = begin; key < end; ++key) {
        NAMDB_CHECK(row.writer().set_integer(0, static_cast<std::int64_t>(key)).ok());
        NAMDB_CHECK(row.writer().set_integer(1, value_of(key)).ok());
        transaction->insert(table_, row.bytes());
      }
      Status status = co_await transaction->fetch();
      if (status.ok()) status = co_await transaction->commit();
      if (status.ok() || !status.info().retry || attempt >= engine_.retry_options().max_attempts)
        co_return status;
      co_await engine_.backoff(attempt);
    }
  }

  reactor::Task<void> do_drop() { status_ = co_await engine_.drop_table(kTable); }

  reactor::Task<void> do_measure(const workloads::Zipf& distribution, std::uint64_t lookups, Random random) {
    bucket_reads_ = 0;
    hash_ = 0;
    status_ = co_await find_table();
    const std::unique_ptr<txn::Session> session = engine_.open_session();
    for (std::uint64_t i = 0; status_.ok() && i < lookups; ++i) {
      const std::uint64_t key_number = distribution.next(random);
      layout::Key key(table_->schema);
      key.integer(static_cast<std::int64_t>(key_number));
      const std::unique_ptr<txn::Transaction> transaction = engine_.begin(*session);
      const txn::RowId row = transaction->get(table_, key.bytes());
      status_ = co_await transaction->fetch();
      if (!status_.ok()) co_return;
      if (!transaction->found(row) || transaction->row(row).integer(1) != value_of(key_number)) {
        status_ = Status(ErrorCode::corrupt_data, "key " + std::to_string(key_number) + " was not found");
        co_return;
      }
      hash_ += static_cast<std::uint64_t>(transaction->row(row).integer(1));
      // Two READs are the snapshot's, which no commit disturbs, and one is the record's.
      bucket_reads_ += transaction->counters().reads - transaction->counters().rereads - 3;
      co_await engine_.executor().yield();
    }
  }

  EngineHost& host_;
  txn::Engine& engine_;
  std::uint64_t keys_;
  storage::TableRef table_;
  std::uint64_t bucket_reads_ = 0;
  std::uint64_t hash_ = 0;
  Status status_;
};

Result<std::unique_ptr<EngineHost>> open_host(const support::ServerThread& server, std::size_t cache_bytes) {
  EngineHostOptions options;
  options.memory_servers = {server.address()};
  options.location_cache_bytes = cache_bytes;
  return EngineHost::open(options);
}

// One occupancy: a fresh table, then each distribution with and without a cache, each from a fresh worker.
Status bench_occupancy(const support::ServerThread& server, const HashBenchOptions& options, int percent,
                       std::vector<HashReport>& reports, support::Progress& progress) {
  auto loader = open_host(server, 1U << 20);
  if (!loader.ok()) return loader.status();
  Table loaded(*loader.value(), options.keys);
  if (Status status = loaded.create(percent / 100.0); !status.ok()) return status;
  const std::uint64_t lookups = options.lookups > 0 ? options.lookups : options.keys;
  for (const bool zipf : {false, true}) {
    HashReport report;
    report.distribution = zipf ? "zipf" : "uniform";
    report.occupancy = loaded.occupancy();
    const workloads::Zipf distribution(options.keys, zipf ? options.zipf_theta : 0);
    std::vector<double> sizes = {0};
    sizes.insert(sizes.end(), options.cache_bytes_per_key.begin(), options.cache_bytes_per_key.end());
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const double cache_bytes = sizes[i] * static_cast<double>(options.keys);
      auto host = open_host(server, static_cast<std::size_t>(cache_bytes));
      if (!host.ok()) return host.status();
      Table table(*host.value(), options.keys);
      const Result<std::uint64_t> reads = table.measure(distribution, lookups, options.seed);
      if (!reads.ok()) return reads.status();
      const double average = static_cast<double>(reads.value()) / static_cast<double>(lookups);
      if (i == 0) {
        report.reads = average;
      } else {
        report.cached.push_back({sizes[i], average});
      }
      report.hash = table.hash();
    }
    for (const Published& published : kPublished) {
      if (published.occupancy_percent != percent) continue;
      report.published = zipf ? published.zipf : published.uniform;
      report.published_cached = zipf ? published.zipf_cached : published.uniform_cached;
    }
    reports.push_back(report);
    progress.note("occupancy " + std::to_string(percent) + " %, " + report.distribution + ": done");
  }
  return loaded.drop();
}

}  // namespace

Result<std::vector<HashReport>> hash_bench(const HashBenchOptions& options, support::Progress& progress) {
  // Some 250 bytes a key: record, bucket, and what waits to be freed.
  const std::uint64_t region_bytes = (64U << 20) + options.keys * 1024;
  auto server = support::ServerThread::start({.transport = "shm",
                                              .region_bytes = (region_bytes + 4095) / 4096 * 4096,
                                              .memory_server = memory::Options()});
  if (!server.ok()) return server.status();
  std::vector<HashReport> reports;
  for (const int percent : options.occupancies_percent) {
    Status status = bench_occupancy(*server.value(), options, percent, reports, progress);
    if (!status.ok()) return status;
  }
  return reports;
}

}  // namespace namdb::nambench
