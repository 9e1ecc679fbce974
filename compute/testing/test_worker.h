// The objects that transactions share on a worker, over memory servers that consist of bytes only: so one
// piece of a transaction can be run on bytes that a test has put there. One table, of key, value and padding;
// everything else in the catalog is missing. Locks that transactions meet are only noted.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/calls/journal_calls.h"
#include "common/layout/schema.h"
#include "common/protocols/protocol.h"
#include "common/reactor/testing/manual_executor.h"
#include "compute/cluster/catalog_cache.h"
#include "compute/cluster/cluster.h"
#include "compute/cluster/index_cache.h"
#include "compute/cluster/location_cache.h"
#include "compute/cluster/primary_leases.h"
#include "compute/cluster/stage_times.h"
#include "compute/protocol/registry.h"
#include "compute/testing/region_fabric.h"
#include "compute/txn/backoff.h"
#include "compute/txn/calls_ahead.h"
#include "compute/txn/commit_outcomes.h"
#include "compute/txn/hint_queue.h"
#include "compute/txn/lock_resolver.h"
#include "compute/txn/passive_installs.h"
#include "compute/txn/record_space.h"
#include "compute/txn/running_transactions.h"
#include "compute/txn/slot_keeper.h"
#include "compute/txn/snapshot_fetcher.h"
#include "compute/txn/transaction_registry.h"
#include "compute/txn/verdict_queue.h"
#include "compute/txn/worker_state.h"

namespace namdb::protocol::testing {

// Where things lie on each memory server, and what the table is.
inline constexpr std::uint64_t kRegion_bytes = 1U << 20;
inline constexpr std::uint64_t kArray_offset = 0x10000;
inline constexpr std::uint64_t kJournal_offset = 0xc0000;
inline constexpr std::uint64_t kJournal_bytes = 0x10000;
inline constexpr std::uint64_t kFree_offset = 0xd0000;  // memory that is handed out
inline constexpr std::uint32_t kTable = 7;
inline constexpr std::uint32_t kGeneration = 3;
inline constexpr std::uint64_t kBuckets = 4;   // main ones, on each server
inline constexpr std::uint32_t kOwnSlot = 20;  // that the worker leases

struct TestOptions {
  std::string protocol = "si";
  std::string stages = "one-sided";
  std::size_t servers = 1;
  std::uint32_t ring_slots = 4;
  std::uint32_t padding_bytes = 0;  // of every row
  std::uint64_t max_transaction_ns = 20 * kMillisecond_ns;
  bool leased = false;   // the memory servers have copies
  bool flushed = false;  // durability level `flushed`
};

class NotedLocks final : public txn::LockResolver {
 public:
  struct Note {
    layout::GlobalAddress address;
    layout::HeaderWord word;
    std::uint32_t body_bytes;
  };
  void note(layout::GlobalAddress address, layout::HeaderWord word, std::uint32_t body_bytes) override {
    notes.push_back({address, word, body_bytes});
  }
  bool has(layout::GlobalAddress address, layout::HeaderWord word) const {
    return std::ranges::any_of(
        notes, [&](const Note& note) { return note.address == address && note.word == word; });
  }
  std::vector<Note> notes;
};

// The outcome of each commit whose connection was lost, as a test says.
class ToldOutcomes final : public txn::CommitOutcomes {
 public:
  reactor::Task<txn::CommitOutcome> find(txn::CommitId commit, const txn::Transaction* /*asker*/) override {
    asked.push_back(commit.stamp);
    co_return outcome;
  }
  txn::CommitOutcome outcome = txn::CommitOutcome::unknown;
  std::vector<layout::Stamp> asked;
};

class TestWorker {
 public:
  explicit TestWorker(TestOptions test_options = {})
      : options(std::move(test_options)),
        fabric(executor, options.servers, kRegion_bytes, welcome()),
        locations(1U << 16),
        backoff(txn::RetryOptions()),
        cluster(executor, fabric, {.memory_servers = addresses(), .stage_times = &times}),
        leases(cluster),
        snapshots(cluster, txn::SnapshotSource::Mode::reads),
        slots(cluster),
        catalog(cluster),
        space(cluster),
        hints(cluster),
        slot_keeper(cluster, {}),
        fetcher(cluster, snapshots, registry, {}),
        verdicts(cluster),
        index_pages(1U << 16),
        passive_installs(cluster, registry, slot_keeper, hints, verdicts, locations),
        calls_ahead(executor),
        state{.executor = executor,
              .cluster = cluster,
              .leases = leases,
              .snapshots = snapshots,
              .slots = slots,
              .locations = locations,
              .catalog = catalog,
              .space = space,
              .hints = hints,
              .locks = locks,
              .outcomes = outcomes,
              .registry = registry,
              .slot_keeper = slot_keeper,
              .sharing = txn::SnapshotSharing::own,
              .fetcher = fetcher,
              .verdicts = verdicts,
              .commit_writes = txn::CommitWrites::changed,
              .index_reads = txn::IndexReads::calls,
              .scan_reads = txn::ScanReads::buckets,
              .read_locks = txn::ReadLocks::none,
              .index_pages = index_pages,
              .passive_installs = passive_installs,
              .calls_ahead = calls_ahead,
              .running = running,
              .epoch_ns = kMillisecond_ns,
              .backoff = backoff,
              .damaged_reads = damaged_reads} {
    answer_calls();
    REQUIRE(run(cluster.connect()).ok());
    leases.start();
    worker_protocol = make_protocol(options.protocol, state);
    REQUIRE(worker_protocol != nullptr);
    REQUIRE(run(catalog.refresh()).ok());
    table = catalog.find_id(kTable);
    REQUIRE(table != nullptr);
  }
  TestWorker(const TestWorker&) = delete;
  TestWorker& operator=(const TestWorker&) = delete;
  ~TestWorker() {
    run(passive_installs.close());
    run(worker_protocol->close());
    run(leases.close());
    run(calls_ahead.close());
    run(fetcher.close());
    run(hints.close());
    run(verdicts.close());
    run(slot_keeper.close());
    run(space.close());
  }

  // Runs the task to its end; time passes while it waits for it.
  template <typename T>
  T run(reactor::Task<T> task) {
    reactor::Gate gate;
    std::optional<T> result;
    executor.spawn(gate, keep(std::move(task), &result));
    executor.run_until([&] { return gate.count() == 0; });
    REQUIRE(result.has_value());
    return std::move(*result);
  }
  void run(reactor::Task<void> task) {
    reactor::Gate gate;
    executor.spawn(gate, std::move(task));
    executor.run_until([&gate] { return gate.count() == 0; });
  }

  // The word of a slot in the timestamp vector, at that position; the vector's length follows.
  void publish(std::uint64_t position, layout::Stamp stamp) {
    const std::uint64_t vector = RegionFabric::kVector_offset;
    fabric.set_word({0, vector + layout::kVectorWords_offset + 8 * position},
                    layout::HeaderWord(stamp).value());
    const layout::GlobalAddress length(0, vector + layout::kVectorLength_offset);
    fabric.set_word(length, std::max(fabric.word(length), position + 1));
  }
  // The memory server's answer about slots from now on, which takes a moment.
  void list_slots(std::vector<std::pair<std::uint32_t, control::SlotState>> listed, std::uint32_t next_slot) {
    control::ListSlotsReply reply;
    for (const auto& [slot, slot_state] : listed) {
      control::Slot& entry = *reply.add_slots();
      entry.set_slot(slot);
      entry.set_state(slot_state);
    }
    reply.set_next_slot(next_slot);
    fabric.handle(control::LIST_SLOTS,
                  [this, text = reply.SerializeAsString()](std::string_view, std::string& bytes) {
                    executor.advance(kMicrosecond_ns);
                    bytes = text;
                    return Status();
                  });
  }
  void answer(control::Method method, const google::protobuf::MessageLite& message) {
    fabric.handle(static_cast<std::uint16_t>(method),
                  [bytes = message.SerializeAsString()](std::string_view, std::string& reply) {
                    reply = bytes;
                    return Status();
                  });
  }

  TestOptions options;
  reactor::testing::ManualExecutor executor;
  RegionFabric fabric;
  storage::LocationCache locations;
  txn::Backoff backoff;
  NotedLocks locks;
  ToldOutcomes outcomes;
  std::uint64_t damaged_reads = 0;
  fabric::OperationCounters counters;
  txn::StageTimes times;
  txn::Cluster cluster;
  txn::PrimaryLeases leases;
  txn::SnapshotSource snapshots;
  txn::SlotDirectory slots;
  txn::CatalogCache catalog;
  txn::RecordSpace space;
  txn::HintQueue hints;
  txn::TransactionRegistry registry;
  txn::SlotKeeper slot_keeper;
  txn::SnapshotFetcher fetcher;
  txn::VerdictQueue verdicts;
  storage::IndexCache index_pages;
  txn::PassiveInstalls passive_installs;
  txn::CallsAhead calls_ahead;
  txn::RunningTransactions running;
  txn::WorkerState state;
  std::unique_ptr<WorkerProtocol> worker_protocol;  // the one of the options
  storage::TableRef table;

 private:
  template <typename T>
  static reactor::Task<void> keep(reactor::Task<T> task, std::optional<T>* result) {
    result->emplace(co_await task);
  }

  std::vector<std::string> addresses() const {
    std::vector<std::string> all;
    for (std::size_t i = 0; i < options.servers; ++i) all.push_back(std::to_string(i));
    return all;
  }

  control::Welcome welcome() const {
    control::Welcome message;
    message.set_max_transaction_ns(options.max_transaction_ns);
    message.set_protocol(options.protocol);
    message.set_stages(options.stages);
    message.set_timestamp_vector("whole");
    message.set_memory_only(!options.flushed);
    message.set_leased(options.leased);
    return message;
  }

  void answer_calls() {
    std::vector<layout::Column> columns(2);
    columns[0] = {.name = "k", .type = layout::ColumnType::bigint};
    columns[1] = {.name = "v", .type = layout::ColumnType::bigint};
    if (options.padding_bytes != 0)
      columns.push_back(
          {.name = "p", .type = layout::ColumnType::varchar, .length_bytes = options.padding_bytes});
    const auto schema = layout::Schema::create(std::move(columns), {0});
    REQUIRE(schema.ok());
    const ProtocolTraits& traits = *find_protocol(options.protocol);
    control::GetCatalogReply reply;
    reply.set_version(1);
    control::TableDescriptor& descriptor = *reply.add_tables();
    descriptor = txn::descriptor_of("t", *schema);
    descriptor.set_id(kTable);
    descriptor.set_ring_slots(options.ring_slots);
    descriptor.set_single_version(traits.single_version);
    descriptor.set_timestamps(traits.timestamps);
    descriptor.set_generation(kGeneration);
    descriptor.set_buckets_per_server(kBuckets);
    for (std::size_t i = 0; i < options.servers; ++i) descriptor.add_bucket_base(kArray_offset);
    answer(control::GET_CATALOG, reply);

    control::LeaseSlotReply lease;
    lease.set_slot(kOwnSlot);
    lease.set_vector_position(0);
    lease.set_first_counter(1000);
    lease.set_vector_length(1);
    lease.set_max_journal_room_bytes(kJournal_bytes);
    answer(control::LEASE_SLOT, lease);
    fabric.handle(calls::kOpenJournalMethod, [](std::string_view, std::string& bytes) {
      bytes = calls::encode(calls::OpenJournalReply{kJournal_offset, kJournal_bytes, 0});
      return Status();
    });
    list_slots({}, 0);
    fabric.handle(control::ALLOCATE_RECORDS, [this](std::string_view request, std::string& bytes) {
      return allocate(request, table->record.record_bytes(), ++granted_, bytes);
    });
    fabric.handle(control::ALLOCATE_BUCKETS, [this](std::string_view request, std::string& bytes) {
      return allocate(request, layout::kBucket_bytes, 0, bytes);
    });
  }

  // Both requests have the same fields.
  Status allocate(std::string_view request, std::uint64_t unit_bytes, std::uint64_t grant,
                  std::string& bytes) {
    control::AllocateRecordsRequest wanted;
    REQUIRE(wanted.ParseFromArray(request.data(), static_cast<int>(request.size())));
    control::AllocateReply reply;
    reply.set_grant(grant);
    control::Range& range = *reply.add_ranges();
    range.set_offset(free_offset_);
    range.set_length_bytes(wanted.count() * unit_bytes);
    free_offset_ += range.length_bytes();
    REQUIRE(free_offset_ <= kRegion_bytes);
    bytes = reply.SerializeAsString();
    return {};
  }

  std::uint64_t free_offset_ = kFree_offset;
  std::uint64_t granted_ = 0x1'0000'0000'0500;
};

}  // namespace namdb::protocol::testing
