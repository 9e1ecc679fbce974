#include "tools/namsim/scenario/leak_run.h"

#include <vector>

#include "common/layout/key.h"
#include "proto/control.pb.h"
#include "tools/namsim/scenario/seeded_run.h"
#include "tools/namsim/workloads/tables.h"

namespace namdb::sim {
namespace {

using reactor::Task;

constexpr std::uint64_t kLeakLimit_ns = 600 * kSecond_ns;
// Rows that stay while tables come and go.
constexpr const char kRows[] = "rows";
constexpr const char kRowsByValue[] = "rows_by_value";
constexpr std::uint64_t kPassingTables = 3;
constexpr std::uint64_t kPassingIndexes = 2;
constexpr std::uint64_t kValues = 5;

ClusterOptions leaking_cluster(Random& draw) {
  ClusterOptions options;
  options.memory_servers = static_cast<std::uint32_t>(draw.between(1, 3));
  options.memory = memory::swarm_options(draw, 0.3);
  options.memory.extent_bytes = 64U << 10;
  options.memory.journal_bytes = 128U << 10;
  options.memory.max_transaction_ns = 500 * kMillisecond_ns;
  options.memory.slack_ns = 50 * kMillisecond_ns;
  options.memory.heartbeat_timeout_ns = 0;
  options.memory.collect_interval_ns = draw.between(50, 5000) * kMicrosecond_ns;
  options.memory.reuse_interval_ns = options.memory.collect_interval_ns;
  options.worker.snapshot_mode =
      draw.chance(0.5) ? txn::SnapshotSource::Mode::call : txn::SnapshotSource::Mode::reads;
  options.worker.heartbeat_ns = draw.between(100, 5000) * kMicrosecond_ns;
  // A generator of its own: the seed's other draws stay as they were.
  if (Random parts(draw.state_hash()); parts.chance(0.3))
    options.memory.timestamp_vector = layout::VectorSpread::partitioned;
  return options;
}

// Errors that are possible while others create, drop and write, and while servers die.
bool expected(const Status& status) {
  if (status.ok()) return true;
  switch (status.code()) {
    case ErrorCode::undefined_table:
    case ErrorCode::undefined_object:
    case ErrorCode::duplicate_table:
    case ErrorCode::duplicate_key:
    case ErrorCode::transaction_timeout:
      return true;
    default:
      return status.info().retry;
  }
}

class LeakRun final : SeededRun {
 public:
  LeakRun(std::uint64_t seed, Interposer* interposer, LeakVerdict& verdict)
      : SeededRun(seed, seed * 32'452'843,
                  {fabric::sim::SimOptions::swarm, leaking_cluster, interposer, kLeakLimit_ns},
                  verdict.anomaly),
        verdict_(verdict),
        keys_(draw_.between(4, 120)),
        think_ns_(draw_.between(0, 400) * kMicrosecond_ns) {}

  void go(std::uint64_t rounds) {
    const std::size_t computes = draw_.between(1, 3);
    for (std::size_t i = 0; i < computes; ++i) cluster_.add_compute();
    check(await(0, create_table(cluster_.worker(0), kRows, bigints({"id", "value"}), 8, 0)), "create");
    check(await(0, create_index(&cluster_.worker(0), kRowsByValue, kRows)), "create index");
    for (std::uint32_t i = 0; i < cluster_.options().memory_servers; ++i) {
      empty_index_bytes_.push_back(index_bytes(i));
    }
    for (std::uint64_t round = 0; round < rounds && sound(); ++round) one_round();
    if (sound()) end();
    verdict_.virtual_ns = world_.now_ns();
  }

 private:
  // --- what clients do ---

  static Task<Status> create_index(compute::Worker* worker, std::string name, std::string table,
                                   bool hash = false) {
    txn::IndexDefinition definition{std::move(name), std::move(table), {{1, false}}, false, hash};
    co_return co_await worker->create_index(std::move(definition));
  }

  Status set_value(layout::RowWriter writer) {
    return writer.set_integer(1, static_cast<std::int64_t>(world_.random().below(kValues)));
  }

  Task<Status> change_row(compute::Worker* worker, txn::Session* session, std::string name,
                          std::int64_t number, bool only_erase) {
    auto table = co_await worker->table(std::move(name));
    if (!table.ok()) co_return table.status();
    const auto transaction = worker->begin(*session);
    const layout::Key key = key_of((*table)->schema, number);
    const txn::RowId row = transaction->get(*table, key.bytes());
    Status status = co_await transaction->fetch();
    if (!status.ok()) co_return status;
    if (transaction->found(row)) {
      if (only_erase || world_.random().chance(0.5)) {
        transaction->erase(row);
      } else {
        status = set_value(transaction->update(row));
      }
    } else if (!only_erase) {
      layout::Row image((*table)->schema);
      status = image.writer().set_integer(0, number);
      if (status.ok()) status = set_value(image.writer());
      if (status.ok()) transaction->insert(*table, image.bytes());
      if (status.ok()) status = co_await transaction->fetch();
    }
    if (status.ok()) status = co_await transaction->commit();
    co_return status;
  }

  Task<Status> one(compute::Worker* worker, txn::Session* session) {
    const std::string passing = "passing" + std::to_string(world_.random().below(kPassingTables));
    const std::uint64_t what = world_.random().below(100);
    const layout::Schema columns = bigints({"id", "value"});
    if (what < 6) co_return co_await create_table(*worker, passing, columns, 4, 0);
    if (what < 10) co_return co_await worker->drop_table(passing);
    const std::string index = "index" + std::to_string(world_.random().below(kPassingIndexes));
    std::string table = kRows;
    if (what < 13) {
      if (world_.random().chance(0.5)) table = passing;
      const bool hash = world_.random().chance(0.5);
      co_return co_await create_index(worker, index, std::move(table), hash);
    }
    if (what < 16) co_return co_await worker->drop_index(index, false);
    const auto number = static_cast<std::int64_t>(world_.random().below(keys_));
    if (what < 36) table = passing;
    co_return co_await change_row(worker, session, std::move(table), number, false);
  }

  Task<void> client(compute::Worker* worker, std::uint64_t transactions) {
    const auto session = worker->open_session();
    for (std::uint64_t i = 0; i < transactions && sound(); ++i) {
      const Status status = co_await one(worker, session.get());
      if (status.ok()) ++verdict_.committed;
      if (!expected(status)) fail(status.to_string());
      if (!status.ok()) co_await worker->backoff(1);
      const std::uint64_t pause_ns = world_.random().below(think_ns_ + 1);
      co_await worker->executor().sleep_for(pause_ns);
    }
  }

  void start_clients(std::size_t compute) {
    for (std::uint64_t i = draw_.between(1, 3); i > 0; --i) {
      start_client(compute, client(&cluster_.worker(compute), draw_.between(10, 60)));
    }
  }

  // --- rounds ---

  void one_round() {
    for (std::size_t i = 0; i < cluster_.computes(); ++i) {
      if (cluster_.alive(i)) start_clients(i);
    }
    const std::uint64_t kills = draw_.below(4);
    for (std::uint64_t kill = 0; kill < kills && running_ > 0; ++kill) kill_one();
    await_clients();
    const std::size_t last = survivor();
    if (sound()) check(await(last, delete_all(&cluster_.worker(last))), "delete all");
    if (sound()) come_to_rest(true);
  }

  void kill_one() {
    const std::uint64_t before = verdict_.committed + draw_.between(1, 40);
    world_.run_until([&] { return verdict_.committed >= before || running_ == 0; }, kLeakLimit_ns);
    world_.run_for(draw_.below(100'000));
    if (running_ == 0) return;
    std::size_t victim = draw_.below(cluster_.computes());
    while (!cluster_.alive(victim)) victim = (victim + 1) % cluster_.computes();
    const std::size_t successor = replace(victim);
    ++verdict_.kills;
    start_clients(successor);
  }

  Task<Status> delete_all(compute::Worker* worker) {
    for (std::uint64_t i = 0; i < kPassingTables; ++i) {
      const Status status = co_await worker->drop_table("passing" + std::to_string(i));
      if (!status.ok() && status.code() != ErrorCode::undefined_table) co_return status;
    }
    for (std::uint64_t i = 0; i < kPassingIndexes; ++i) {
      const Status status = co_await worker->drop_index("index" + std::to_string(i), false);
      if (!status.ok() && status.code() != ErrorCode::undefined_object) co_return status;
    }
    const auto session = worker->open_session();
    for (std::uint64_t key = 0; key < keys_; ++key) {
      Status status;
      do {
        status = co_await change_row(worker, session.get(), kRows, static_cast<std::int64_t>(key), true);
        if (!status.ok()) co_await worker->backoff(4);
      } while (!status.ok() && status.info().retry);
      if (!status.ok()) co_return status;
    }
    co_return Status();
  }

  std::uint64_t index_bytes(std::uint32_t server) {
    std::uint64_t bytes = 0;
    const control::MemoryReply reply = cluster_.memory(server).server->memory();
    for (const control::MemoryPart& part : reply.parts()) {
      if (part.purpose() == control::MEMORY_INDEXES) bytes += part.used_bytes();
    }
    return bytes;
  }

  // Waits until nothing is in use but the buckets of `rows`, if that is there, with the one page of its
  // index, and journals of live slots.
  void come_to_rest(bool rows) {
    const auto rested = [&] {
      for (std::uint32_t i = 0; i < cluster_.options().memory_servers; ++i) {
        if (!too_much(i, rows).empty()) return false;
      }
      return true;
    };
    if (world_.run_until(rested, kLeakLimit_ns)) return;
    for (std::uint32_t i = 0; i < cluster_.options().memory_servers; ++i) {
      const std::string what = too_much(i, rows);
      if (!what.empty()) fail("memory server " + std::to_string(i) + " does not come to rest: " + what);
    }
  }

  // The first part of that server that holds something; empty when there is none.
  std::string too_much(std::uint32_t server, bool rows) {
    const control::MemoryReply reply = cluster_.memory(server).server->memory();
    for (const control::MemoryPart& part : reply.parts()) {
      const std::uint64_t unused = part.reserved_bytes() + part.waiting_bytes();
      std::uint64_t held = unused;
      switch (part.purpose()) {
        case control::MEMORY_REGION_MAP:
        case control::MEMORY_TIMESTAMP_VECTOR:
        case control::MEMORY_ALIGNMENT:
        case control::MEMORY_FREE_EXTENTS:
        case control::MEMORY_JOURNALS:
          break;
        case control::MEMORY_MAIN_BUCKETS:
        case control::MEMORY_INDIRECT_BUCKETS:
          if (!rows || part.name() != kRows) held = part.bytes();
          break;
        case control::MEMORY_RECORDS:
          held = rows && part.name() == kRows ? unused + part.used_bytes() : part.bytes();
          break;
        case control::MEMORY_INDEXES:
          held = rows && part.name() == kRowsByValue ? unused : part.bytes();
          break;
        default:
          held = part.bytes();
      }
      if (held != 0) return part.ShortDebugString();
    }
    if (!rows && !cluster_.memory(server).server->reservations().empty()) {
      return "reservations of tables that are gone";
    }
    if (rows && index_bytes(server) != empty_index_bytes_[server]) {
      return "the index uses " + std::to_string(index_bytes(server)) + " bytes";
    }
    return "";
  }

  void end() {
    const std::size_t last = survivor();
    check(await(last, cluster_.worker(last).drop_table(kRows)), "drop");
    if (sound()) come_to_rest(false);
    stop_computes();
    const auto closed = [&] {
      for (std::size_t server = 0; server < cluster_.options().memory_servers; ++server) {
        if (cluster_.memory(server).server->use().journal_bytes != 0) return false;
      }
      return true;
    };
    if (sound() && !world_.run_until(closed, kLeakLimit_ns)) fail("the journals of closed slots stay");
    stop_and_check_regions();
  }

  LeakVerdict& verdict_;
  std::uint64_t keys_;
  std::uint64_t think_ns_;
  std::vector<std::uint64_t> empty_index_bytes_;  // by memory server
};

}  // namespace

LeakVerdict run_leak(std::uint64_t seed, std::uint64_t rounds, Interposer* interposer) {
  LeakVerdict verdict;
  LeakRun run(seed, interposer, verdict);
  run.go(rounds);
  return verdict;
}

}  // namespace namdb::sim
