// A region with two tables, whose rows a test writes as commits do: the entry goes to a log, then the body to
// the region, in pieces. And an empty region, into which a checkpoint and that log are brought.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/layout/record.h"
#include "common/layout/words.h"
#include "common/reactor/testing/manual_executor.h"
#include "memory/checkpoint/restorer.h"
#include "memory/checkpoint/sweeper.h"
#include "memory/checkpoint/testing/memory_store.h"
#include "memory/testing/test_cluster.h"

namespace namdb::memory::testing {

// One commit of one record.
struct LoggedEntry {
  std::uint32_t table = 0;
  std::uint64_t offset = 0;
  std::uint64_t grant = 0;  // of a birth; 0: an update
  layout::HeaderWord displaced;
  std::vector<std::byte> body;
  std::optional<RecordBlock> block;  // only this: a block was taken
  bool finished = false;
};

// Every entry is durable at once. Positions count entries.
class EntryLog final : public SweepLog, public GrantLog {
 public:
  std::uint64_t redo_start() override {
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (!entries[i].finished) return i;
    }
    return entries.size();
  }
  void mark_unfinished(ChangedExtents& changed) override {
    for (const LoggedEntry& entry : entries) {
      if (!entry.finished) changed.mark(entry.offset);
    }
  }
  reactor::Task<Status> flush() override { co_return Status(); }
  reactor::Task<Status> reclaim(std::uint64_t oldest) override {
    REQUIRE(oldest >= begin);
    begin = oldest;
    co_return Status();
  }
  void log_mark(std::uint64_t mark) override { numbers->marked(mark); }
  void log_block(const RecordBlock& block) override {
    LoggedEntry entry;
    entry.block = block;
    entry.finished = true;
    entries.push_back(std::move(entry));
  }

  std::vector<LoggedEntry> entries;
  std::uint64_t begin = 0;
  GrantNumbers* numbers = nullptr;
};

struct RegionScene {
  static constexpr std::uint64_t kExtent_bytes = 16384;

  explicit RegionScene(reactor::testing::ManualExecutor& run_on) : executor(run_on) {
    options.extent_bytes = kExtent_bytes;
    options.vector_capacity = 4;
    words.assign((1U << 20) / 8, 0);
    region = std::move(*Region::create(std::as_writable_bytes(std::span(words)), options, 1));
    tables = std::make_unique<Tables>(executor, *region, options);
  }
  static control::TableDescriptor descriptor(std::uint32_t id) {
    control::TableDescriptor table = accounts("t" + std::to_string(id), 4, id == 1 ? 4 : 1);
    table.set_id(id);
    return table;
  }
  template <typename T>
  T run(reactor::Task<T> task) {
    reactor::Gate gate;
    std::optional<T> result;
    executor.spawn(gate, keep(std::move(task), &result));
    executor.run_until([&gate] { return gate.count() == 0; });
    REQUIRE(result);
    return std::move(*result);
  }
  void run(reactor::Task<void> task) {
    reactor::Gate gate;
    executor.spawn(gate, std::move(task));
    executor.run_until([&gate] { return gate.count() == 0; });
  }
  void prepare_tables() {
    for (const std::uint32_t id : {1U, 2U}) REQUIRE(run(tables->prepare(descriptor(id))).ok());
  }
  void restore_tables() {
    for (const std::uint32_t id : {1U, 2U}) REQUIRE(tables->restore(descriptor(id)).ok());
  }
  SlabAllocator& records(std::uint32_t table) { return tables->all().at(table)->records; }
  const layout::RecordLayout& shape(std::uint32_t table) const {
    return tables->all().at(table)->shape.record;
  }
  // Sealed, with the stamp's counter in the row.
  std::vector<std::byte> make_body(std::uint32_t table, std::uint64_t offset,
                                   layout::BodyHeader header) const {
    std::vector<std::byte> body(shape(table).body_bytes());
    layout::store_word(layout::body_payload(std::span(body)).data() + 8, header.stamp.counter);
    header.table = table;
    layout::seal_body(body, region->address(offset), header);
    return body;
  }
  std::vector<std::byte> body_at(std::uint32_t table, std::uint64_t offset) const {
    std::vector<std::byte> body(shape(table).body_bytes());
    region->read(offset + 8, body);
    return body;
  }
  // Of each place the body, if a row stands there.
  std::map<std::uint64_t, std::vector<std::byte>> rows() {
    std::map<std::uint64_t, std::vector<std::byte>> all;
    for (const std::uint32_t id : {1U, 2U}) {
      for (std::uint64_t at = records(id).next_used(0); at != 0; at = records(id).next_used(at)) {
        std::vector<std::byte> body = body_at(id, at);
        if (!layout::certify_body(body, region->address(at))) continue;
        if (!layout::decode_body_header(body.data()).deleted) all[at] = std::move(body);
      }
    }
    return all;
  }

  reactor::testing::ManualExecutor& executor;
  Options options;
  std::vector<std::uint64_t> words;
  std::unique_ptr<Region> region;
  std::unique_ptr<Tables> tables;

 private:
  template <typename T>
  static reactor::Task<void> keep(reactor::Task<T> task, std::optional<T>* result) {
    result->emplace(co_await task);
  }
};

// True if the birth was news, and its body stands there now.
inline bool apply_birth(RegionScene& scene, Restorer& restorer, std::uint32_t table, std::uint64_t offset,
                        std::uint64_t grant, std::span<const std::byte> body) {
  const auto life = restorer.life(table, offset);
  if (!life || grant <= *life) return false;
  restorer.born(table, offset, grant);
  scene.region->write(offset + 8, body);
  return true;
}

// Redo by births and links, as a restart does it; `from` is in the log still.
inline void redo(RegionScene& scene, Restorer& restorer, const EntryLog& log, std::uint64_t from) {
  REQUIRE(from >= log.begin);
  std::vector<const LoggedEntry*> waiting;
  for (std::size_t i = from; i < log.entries.size(); ++i) {
    const LoggedEntry& entry = log.entries[i];
    if (entry.block) {
      REQUIRE(restorer.block(*entry.block).ok());
    } else {
      waiting.push_back(&entry);
    }
  }
  // Backwards and forwards in turn: the order counts for nothing.
  for (bool again = true; again; std::ranges::reverse(waiting)) {
    again = false;
    for (std::size_t i = waiting.size(); i-- > 0;) {
      const LoggedEntry& entry = *waiting[i];
      if (entry.grant != 0) {
        again = apply_birth(scene, restorer, entry.table, entry.offset, entry.grant, entry.body) || again;
        continue;
      }
      if (!scene.records(entry.table).used(entry.offset)) continue;
      const std::vector<std::byte> body = scene.body_at(entry.table, entry.offset);
      if (layout::decode_body_header(body.data()).header_word() != entry.displaced) continue;
      scene.region->write(entry.offset + 8, entry.body);
      scene.region->changed().mark(entry.offset);
      again = true;
    }
  }
}

}  // namespace namdb::memory::testing
