// Commits of many writers in one region: births, updates, deletes, places that are given back unused, and
// reclaim. Installs are in two pieces, with turns of others between them.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "common/base/random.h"
#include "common/layout/stamp.h"
#include "memory/checkpoint/testing/checkpoint_scene.h"

namespace namdb::memory::testing {

class InstallWorkload {
 public:
  InstallWorkload(RegionScene& scene, EntryLog& log, std::uint64_t seed)
      : scene_(scene), log_(log), random_(seed) {}

  // Until stop(). Rows come and go in waves, so that blocks go, too.
  reactor::Task<void> write() {
    while (!stopped_) {
      const bool growing = (log_.entries.size() / 200) % 2 == 0;
      const double births = growing ? 0.4 : 0.05;
      const double roll = random_.unit();
      if (roll < births) {
        co_await insert();
        continue;
      }
      if (roll < 0.95) {
        const bool remove = roll >= 0.6 && (roll < 0.7 || !growing);
        co_await change(remove);
      }
      co_await scene_.executor.yield();
      co_await reclaim();
    }
  }
  void stop() { stopped_ = true; }

  // By place, what the log says: bodies of live rows.
  static std::map<std::uint64_t, std::vector<std::byte>> committed(const EntryLog& log) {
    std::map<std::uint64_t, std::vector<std::byte>> rows;
    for (const LoggedEntry& entry : log.entries) {
      if (entry.block) continue;
      rows[entry.offset] = entry.body;
    }
    std::erase_if(rows,
                  [](const auto& row) { return layout::decode_body_header(row.second.data()).deleted; });
    return rows;
  }

 private:
  reactor::Task<void> turns(std::uint64_t most) {
    for (std::uint64_t i = random_.below(most + 1); i > 0 && !stopped_; --i) co_await scene_.executor.yield();
  }

  reactor::Task<void> insert() {
    const std::uint32_t table = random_.chance(0.5) ? 1 : 2;
    control::AllocateReply reply;
    const Status status = scene_.tables->allocate_records(table, 1, reply);
    if (!status.ok()) co_return;
    const std::uint64_t offset = reply.ranges(0).offset();
    busy_.insert(offset);
    co_await turns(6);
    if (random_.chance(0.1)) {  // it aborts
      scene_.tables->free_record(table, offset);
      busy_.erase(offset);
      co_return;
    }
    const layout::Stamp stamp{16, ++counter_};
    const std::vector<std::byte> body = scene_.make_body(
        table, offset, {.stamp = stamp, .incarnation = layout::incarnation_of(reply.grant())});
    LoggedEntry entry;
    entry.table = table;
    entry.offset = offset;
    entry.grant = reply.grant();
    entry.body = body;
    rows_[offset] = table;
    co_await commit(std::move(entry), layout::HeaderWord(stamp));
  }

  // An update or a delete of some row.
  reactor::Task<void> change(bool remove) {
    if (rows_.empty()) co_return;
    auto row = rows_.lower_bound(random_.below(1U << 20));
    if (row == rows_.end()) row = rows_.begin();
    const auto [offset, table] = *row;
    if (!busy_.insert(offset).second) co_return;
    const layout::BodyHeader before = layout::decode_body_header(scene_.body_at(table, offset).data());
    const layout::Stamp stamp{16, ++counter_};
    LoggedEntry entry;
    entry.table = table;
    entry.offset = offset;
    entry.displaced = before.header_word();
    entry.body = scene_.make_body(table, offset,
                                  {.stamp = stamp,
                                   .deleted = remove,
                                   .displaced = before.header_word(),
                                   .incarnation = before.incarnation});
    if (remove) rows_.erase(offset);
    co_await commit(std::move(entry), layout::HeaderWord(stamp, remove));
    if (remove) tombstones_.push_back({offset, table});
  }

  // Entry first, then the body: its half, and the rest behind some turns.
  reactor::Task<void> commit(LoggedEntry entry, layout::HeaderWord header) {
    const std::vector<std::byte> body = entry.body;
    const std::uint64_t offset = entry.offset;
    const std::size_t number = log_.entries.size();
    scene_.region->changed().mark(offset);
    log_.entries.push_back(std::move(entry));
    co_await turns(8);
    const std::size_t half = body.size() / 16 * 8;
    scene_.region->write(offset + 8, std::span(body).first(half));
    co_await turns(random_.chance(0.02) ? 400 : 4);
    scene_.region->write(offset + 8 + half, std::span(body).subspan(half));
    scene_.region->store(offset, header.value());
    busy_.erase(offset);
    co_await turns(10);
    log_.entries[number].finished = true;
  }

  // The oldest tombstone, which no transaction reaches any more.
  reactor::Task<void> reclaim() {
    if (tombstones_.empty() || !random_.chance(0.5)) co_return;
    const auto [offset, table] = tombstones_.front();
    tombstones_.erase(tombstones_.begin());
    scene_.region->store(offset, layout::HeaderWord({layout::kCollectorSlot, 1}, false, true).value());
    co_await turns(6);
    scene_.tables->free_record(table, offset);
  }

  RegionScene& scene_;
  EntryLog& log_;
  Random random_;
  std::uint32_t counter_ = 0;
  std::map<std::uint64_t, std::uint32_t> rows_;  // table by place
  std::set<std::uint64_t> busy_;                 // locked, or not there yet
  std::vector<std::pair<std::uint64_t, std::uint32_t>> tombstones_;
  bool stopped_ = false;
};

}  // namespace namdb::memory::testing
