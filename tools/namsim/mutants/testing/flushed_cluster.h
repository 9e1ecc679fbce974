// A cluster of two memory servers at level `flushed`, one of whose answers to FLUSH is held up, falls short,
// says that the log is full, or breaks the connection, and steps of transactions on it.
#pragma once

#include <catch2/catch.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/calls/journal_calls.h"
#include "common/protocols/protocol.h"
#include "proto/control.pb.h"
#include "tools/namsim/cluster/cluster.h"
#include "tools/namsim/mutants/mutant.h"
#include "tools/namsim/workloads/tables.h"

namespace namdb::sim {

inline constexpr std::int64_t kRows = 16;  // on both memory servers

// Answers of one memory server to FLUSH, changed as long as a test wants it.
class ChangedFlushes final : public Mutant {
 public:
  enum class Change {
    nothing,
    held,
    refused,
    short_of,
    full,
    broken  // the next answer: its channel fails, and the commit is on disk or not
  };

  reactor::Task<Status> on_call(fabric::Service* inner, std::size_t server, fabric::PeerId peer,
                                std::uint16_t method, std::string_view request, std::string* reply) override {
    if (method == control::COMMIT_OUTCOME && undecided) {
      control::CommitOutcomeReply answer;
      answer.set_outcome(control::OUTCOME_UNDECIDED);
      *reply = answer.SerializeAsString();
      co_return Status();
    }
    if (method != calls::kFlushMethod) co_return co_await inner->on_call(peer, method, request, *reply);
    ++flushes;
    while (server == at && change == Change::held)
      co_await cluster().memory(server).node->sleep_for(100 * kMicrosecond_ns);
    if (server == at && change == Change::broken) {
      change = Change::nothing;
      co_return Status(ErrorCode::protocol_violation, "a broken stream");
    }
    if (server == at && change == Change::refused) co_return Status(ErrorCode::disk_full, "a full log");
    Status status = co_await inner->on_call(peer, method, request, *reply);
    if (!status.ok() || server != at) co_return status;
    auto flushed = calls::decode_flush_reply(*reply);
    REQUIRE(flushed.has_value());
    if (change == Change::short_of) flushed->durable_position = flushed->freed_position;
    if (change == Change::full) flushed->log_full = true;
    *reply = calls::encode(*flushed);
    co_return status;
  }

  std::size_t at = 1;
  Change change = Change::nothing;
  bool undecided = false;  // so all outcomes seem to be
  std::uint64_t flushes = 0;
};

// The rows from `first` on, up to `end`.
inline reactor::Task<Status> write_rows(txn::Engine* engine, txn::Session* session, std::int64_t first,
                                        std::int64_t end, std::int64_t value, bool early) {
  auto table = co_await engine->table("t");
  if (!table.ok()) co_return table.status();
  const auto transaction = engine->begin(*session);
  transaction->answer_when_logged(early);
  std::vector<txn::RowId> found;
  for (std::int64_t id = first; id < end; ++id)
    found.push_back(transaction->get(*table, key_of((*table)->schema, id).bytes()));
  Status status = co_await transaction->fetch();
  for (const txn::RowId row : found) {
    if (status.ok()) status = transaction->update(row).set_integer(1, value);
  }
  if (status.ok()) status = co_await transaction->commit();
  co_return status;
}

inline reactor::Task<Status> write_all(txn::Engine* engine, std::int64_t value) {
  const auto session = engine->open_session();
  co_return co_await write_rows(engine, session.get(), 0, kRows, value, /*early=*/false);
}

// The sum of all rows, as that session sees them.
inline reactor::Task<Status> read_rows(txn::Engine* engine, txn::Session* session, std::int64_t* sum) {
  *sum = 0;
  auto table = co_await engine->table("t");
  if (!table.ok()) co_return table.status();
  const auto transaction = engine->begin(*session);
  std::vector<txn::RowId> found;
  for (std::int64_t id = 0; id < kRows; ++id)
    found.push_back(transaction->get(*table, key_of((*table)->schema, id).bytes()));
  Status status = co_await transaction->fetch();
  for (const txn::RowId row : found) {
    if (status.ok()) *sum += transaction->row(row).integer(1);
  }
  co_return status;
}

// The same by a scan of the table.
inline reactor::Task<Status> scan_rows(txn::Engine* engine, txn::Session* session, std::int64_t* sum) {
  *sum = 0;
  auto table = co_await engine->table("t");
  if (!table.ok()) co_return table.status();
  const auto transaction = engine->begin(*session);
  const auto scan = transaction->scan(*table);
  std::vector<layout::Row> rows;
  do {
    Status status = co_await scan->next(rows);
    if (!status.ok()) co_return status;
    for (const layout::Row& row : rows) *sum += row.view().integer(1);
  } while (!rows.empty());
  co_return Status();
}

// The same of a session of its own.
inline reactor::Task<Status> read_all(txn::Engine* engine, std::int64_t* sum) {
  const auto session = engine->open_session();
  co_return co_await read_rows(engine, session.get(), sum);
}

inline reactor::Task<Status> insert_row(txn::Engine* engine, txn::Session* session, std::int64_t id,
                                        std::int64_t value, bool early) {
  auto table = co_await engine->table("t");
  if (!table.ok()) co_return table.status();
  const auto transaction = engine->begin(*session);
  transaction->answer_when_logged(early);
  layout::Row row((*table)->schema);
  Status status = row.writer().set_integer(0, id);
  if (status.ok()) status = row.writer().set_integer(1, value);
  transaction->insert(*table, row.bytes());
  if (status.ok()) status = co_await transaction->fetch();
  if (status.ok()) status = co_await transaction->commit();
  co_return status;
}

inline reactor::Task<Status> read_row(txn::Engine* engine, txn::Session* session, std::int64_t id,
                                      std::int64_t* value) {
  auto table = co_await engine->table("t");
  if (!table.ok()) co_return table.status();
  const auto transaction = engine->begin(*session);
  const txn::RowId row = transaction->get(*table, key_of((*table)->schema, id).bytes());
  Status status = co_await transaction->fetch();
  if (status.ok()) *value = transaction->found(row) ? transaction->row(row).integer(1) : -1;
  co_return status;
}

struct FlushedCluster {
  explicit FlushedCluster(memory::Durability durability = memory::Durability::flushed,
                          std::uint64_t journal_bytes = 64U << 10,
                          std::string_view protocol = protocol::kDefaultProtocol, bool on_disk = false)
      : cluster(world, options(durability, journal_bytes, &changed, protocol, on_disk)) {
    cluster.add_compute();
    cluster.add_compute();
    REQUIRE(run(create_table(cluster.worker(0), "t", bigints({"id", "value"}), 64, 4)).ok());
    const layout::Schema schema = bigints({"id", "value"});
    std::vector<layout::Row> rows;
    for (std::int64_t id = 0; id < kRows; ++id) {
      layout::Row& row = rows.emplace_back(schema);
      REQUIRE(row.writer().set_integer(0, id).ok());
      REQUIRE(row.writer().set_integer(1, 0).ok());
    }
    REQUIRE(run(put_rows(cluster.worker(0), "t", &rows)).ok());
    REQUIRE(run(write_all(&cluster.worker(0), 1)).ok());
    for (std::size_t server = 0; server < 2; ++server)
      REQUIRE(cluster.memory(server).server->journals().all().size() == 1);
  }
  static ClusterOptions options(memory::Durability durability, std::uint64_t journal_bytes,
                                ChangedFlushes* changed, std::string_view protocol, bool on_disk) {
    ClusterOptions options;
    options.memory_servers = 2;
    options.memory.durability = durability;
    options.memory.protocol = protocol;
    options.memory.journal_bytes = journal_bytes;
    options.interposer = changed;
    options.durable = on_disk;
    return options;
  }
  Status run(reactor::Task<Status> task, std::size_t compute = 0) {
    return world.run(cluster.node(compute), std::move(task));
  }
  // As another compute server sees them.
  std::int64_t sum() {
    std::int64_t sum = 0;
    const Status status = insist([&] { return read_all(&cluster.worker(1), &sum); }, 1);
    INFO(status.to_string());
    REQUIRE(status.ok());
    return sum;
  }
  // A commit that writes all rows runs beside.
  void begin_write(std::int64_t value) { cluster.node(0).spawn(gate, keep(this, value)); }
  // A task of worker 0 that runs beside.
  struct Beside {
    Status status;
    bool done = false;
  };
  std::shared_ptr<Beside> begin(reactor::Task<Status> task) {
    auto beside = std::make_shared<Beside>();
    cluster.node(0).spawn(gate, await(std::move(task), beside));
    return beside;
  }
  static reactor::Task<void> await(reactor::Task<Status> task, std::shared_ptr<Beside> beside) {
    beside->status = co_await std::move(task);
    beside->done = true;
  }
  // So long that it would be done if it waited only for the network.
  bool done_soon(const Beside& beside) {
    return world.run_until([&] { return beside.done; }, 20 * kMillisecond_ns);
  }
  static reactor::Task<void> keep(FlushedCluster* self, std::int64_t value) {
    self->written = co_await write_all(&self->cluster.worker(0), value);
    self->done = true;
  }
  // A commit of worker 0 that is answered, and whose part on the server with the changed answers is not
  // flushed.
  void commit_early(txn::Session* session, std::int64_t first, std::int64_t end, std::int64_t value) {
    connection = cluster.worker(0).catalog_version() >> 48;
    changed.change = ChangedFlushes::Change::held;
    const auto early = begin(write_rows(&cluster.worker(0), session, first, end, value, /*early=*/true));
    REQUIRE(done_soon(*early));
    REQUIRE(early->status.ok());
  }
  // Worker 0 has another connection than at commit_early(), and worker 1 has one.
  void await_reconnection() {
    const auto connected = [this] {
      return cluster.worker(0).catalog_version() >> 48 > connection && cluster.worker(1).ready();
    };
    REQUIRE(world.run_until(connected, 20 * kSecond_ns));
  }
  // Again where it is to be run again, or while a memory server is away.
  template <typename MakeTask>
  Status insist(const MakeTask& make, std::size_t compute = 0) {
    Status status;
    for (int i = 0; i < 500; ++i) {
      status = run(make(), compute);
      const bool again =
          !status.ok() && (status.info().retry || status.code() == ErrorCode::cannot_connect_now);
      if (!again) return status;
      world.run_for(10 * kMillisecond_ns);
    }
    return status;
  }
  struct Read {
    Status status;
    std::int64_t sum = 0;
  };
  Read read(txn::Session* session) {
    Read read;
    read.status = insist([&] { return scan_rows(&cluster.worker(0), session, &read.sum); });
    return read;
  }
  // Locks of the dead are undone by transactions that meet them.
  void touch_all() {
    REQUIRE(insist([&] { return write_all(&cluster.worker(0), 9); }).ok());
  }
  // A row on the first server: a commit of it alone waits for no changed answer.
  std::int64_t row_of_first_server() {
    txn::Engine& engine = cluster.worker(0);
    std::int64_t row = kRows / 2;
    for (; row < kRows; ++row) {
      changed.change = ChangedFlushes::Change::held;
      const auto probing = engine.open_session();
      const auto probe = begin(write_rows(&engine, probing.get(), row, row + 1, 1, /*early=*/false));
      const bool here = done_soon(*probe);
      changed.change = ChangedFlushes::Change::nothing;
      REQUIRE(done_soon(*probe));
      if (here) break;
    }
    REQUIRE(row < kRows);
    return row;
  }
  void stop() {
    for (std::size_t compute = 0; compute < 2; ++compute)
      REQUIRE(cluster.stop_compute(compute, 10 * kSecond_ns));
    CHECK(cluster.check_at_rest(10 * kSecond_ns) == "");
  }

  fabric::sim::SimWorld world{11};
  ChangedFlushes changed;
  Cluster cluster;
  reactor::Gate gate;
  Status written;
  bool done = false;
  std::uint64_t connection = 0;
};

}  // namespace namdb::sim
