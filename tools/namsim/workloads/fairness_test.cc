// SmallBank where nine calls in ten concern few customers: a call that conflicts is tried again, and no
// transaction type needs many attempts, under any protocol. Where transactions are put in order before they
// run no call conflicts.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>

#include "common/protocols/protocol.h"
#include "compute/procedure/registry.h"
#include "compute/procedure/resolve_tables.h"
#include "tools/namsim/cluster/cluster.h"
#include "tools/namsim/testing/seeds.h"
#include "tools/namsim/workloads/tables.h"
#include "workloads/procedures.h"
#include "workloads/smallbank_workload.h"

namespace namdb::sim {
namespace {

using reactor::Task;

constexpr std::size_t kComputes = 3;
constexpr std::size_t kClients = 6;   // of a compute server
constexpr std::uint64_t kCalls = 60;  // of a client
// A compute server would go on to txn::RetryOptions::max_attempts before it tells its client of the conflict.
constexpr std::uint32_t kMostAttempts = 24;

class FairnessRun {
 public:
  FairnessRun(std::uint64_t seed, std::string_view protocol)
      : world_(seed), cluster_(world_, options_of(protocol)), workload_(make_workload(seed)) {
    workloads::register_smallbank(procedures_);
    for (std::size_t i = 0; i < kComputes; ++i) cluster_.add_compute();
    const Status loaded = world_.run(cluster_.node(0), load(this));
    INFO(loaded.to_string());
    REQUIRE(loaded.ok());
    // Clocks that are behind would not see the rows.
    world_.run_for(10 * kMillisecond_ns);
  }

  // The greatest number of attempts of each transaction type.
  const std::map<std::string, std::uint32_t>& go() {
    for (std::size_t client = 0; client < kComputes * kClients; ++client)
      cluster_.node(client % kComputes).spawn(gates_[client % kComputes], run_client(this, client));
    world_.run_until([this] { return ended_ == kComputes * kClients; });
    REQUIRE(ended_ == kComputes * kClients);
    return attempts_;
  }
  std::uint64_t retries() const { return retries_; }

 private:
  static ClusterOptions options_of(std::string_view protocol) {
    ClusterOptions options;
    options.memory_servers = 2;
    options.memory.extent_bytes = 64U << 10;
    options.memory.journal_bytes = 128U << 10;
    options.memory.protocol = protocol;
    return options;
  }
  static std::unique_ptr<workloads::Workload> make_workload(std::uint64_t seed) {
    workloads::SmallBankOptions options;
    options.accounts = 200;
    options.skew = {.hot_keys = 8, .hot_probability = 0.9};
    options.seed = seed;
    return std::move(*workloads::make_smallbank(options));
  }
  static Task<Status> load(FairnessRun* self) {
    txn::Engine& engine = self->cluster_.worker(0);
    for (std::size_t table = 0; table < self->workload_->tables().size(); ++table) {
      const workloads::TableLoad& spec = self->workload_->tables()[table];
      Status status = co_await create_table(engine, spec.spec.name, spec.schema, spec.size_hint_rows, 0);
      if (!status.ok()) co_return status;
      std::vector<layout::Row> rows;
      for (std::uint64_t unit = 0; unit < spec.units; ++unit) self->workload_->make_rows(table, unit, rows);
      status = co_await put_rows(engine, spec.spec.name, &rows);
      if (!status.ok()) co_return status;
    }
    co_return Status();
  }
  static Task<void> run_client(FairnessRun* self, std::size_t client) {
    txn::Engine& engine = self->cluster_.worker(client % kComputes);
    const auto session = engine.open_session();
    const auto calls = self->workload_->open_client(client, kComputes * kClients);
    workloads::Call call;
    for (std::uint64_t i = 0; i < kCalls; ++i) {
      calls->next(call);
      const workloads::TransactionType& type = self->workload_->transactions()[call.type];
      std::uint32_t& most = self->attempts_[type.name];
      Status status;
      for (std::uint32_t attempt = 1; attempt <= 10 * kMostAttempts; ++attempt) {
        most = std::max(most, attempt);
        status = co_await self->attempt(&engine, session.get(), &call);
        if (status.ok() || !status.info().retry) break;
        ++self->retries_;
        co_await engine.backoff(attempt);
      }
      NAMDB_CHECK(status.ok() || status.code() == ErrorCode::procedure_abort);
    }
    ++self->ended_;
  }
  Task<Status> attempt(txn::Engine* engine, txn::Session* session, const workloads::Call* call) {
    const auto definition = procedures_.find(workload_->transactions()[call->type].procedure);
    auto tables = co_await procedure::resolve_tables(*engine, *definition);
    if (!tables.ok()) co_return tables.status();
    const auto transaction = engine->begin(*session);
    std::vector<procedure::Value> results(definition->results.size());
    procedure::Context context(*transaction, *tables, call->arguments, results, 0);
    Status status = co_await definition->run(context);
    status = co_await txn::confirm_error(transaction.get(), std::move(status));
    if (!status.ok()) co_return status;
    co_return co_await transaction->commit();
  }

  fabric::sim::SimWorld world_;
  Cluster cluster_;
  procedure::ProcedureRegistry procedures_;
  std::unique_ptr<workloads::Workload> workload_;
  std::array<reactor::Gate, kComputes> gates_;
  std::map<std::string, std::uint32_t> attempts_;
  std::uint64_t retries_ = 0;
  std::size_t ended_ = 0;
};

}  // namespace

TEST_CASE("no transaction type starves when nine calls in ten are about few rows, under any protocol",
          "[protocols]") {
  const auto [first, count] = Seeds(5);
  for (const protocol::ProtocolTraits& protocol : protocol::protocol_traits()) {
    for (std::uint64_t seed = first; seed < first + count; ++seed) {
      FairnessRun run(seed, protocol.name);
      const auto& attempts = run.go();
      CAPTURE(protocol.name, seed);
      CHECK(attempts.size() == 6);
      for (const auto& [type, most] : attempts) {
        CAPTURE(type);
        CHECK(most <= kMostAttempts);
      }
      // It is crowded; where transactions are put in order none meets another.
      if (protocol.ordered) {
        CHECK(run.retries() == 0);
      } else {
        CHECK(run.retries() > kComputes * kClients * kCalls / 20);
      }
    }
  }
}

}  // namespace namdb::sim
