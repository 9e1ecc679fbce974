#include "memory/reclaim/tombstones.h"

#include <algorithm>
#include <vector>

#include "common/layout/placement.h"
#include "common/layout/record.h"
#include "common/layout/record_trailer.h"
#include "common/layout/timestamp_floors.h"

namespace namdb::memory {
namespace {

// Hints about memory that never holds a certified record are dropped after so many looks.
constexpr std::uint32_t kMaxLooks = 64;

}  // namespace

Tombstones::Look Tombstones::look(const Tombstone& tombstone, layout::Stamp& stamp) {
  const TablePointer table = tables_.find(tombstone.table);
  if (!table || !table->records.used(tombstone.record)) return Look::other;
  const layout::RecordLayout& shape = table->shape.record;
  std::vector<std::byte> body(shape.body_bytes());
  region_.read(tombstone.record + 8, body);
  if (!layout::certify_body(body, region_.address(tombstone.record))) return Look::unstable;
  const layout::BodyHeader header = layout::decode_body_header(body.data());
  const layout::HeaderWord word(region_.load(tombstone.record));
  if (!header.deleted || word.stamp().slot == layout::kCollectorSlot) return Look::other;
  stamp = header.stamp;
  if (word.locked() || !visibility_.published(stamp)) return Look::later;
  // Its old versions in the overflow region lead back to it until they are freed.
  if (shape.moves_versions() && region_.load(tombstone.record + layout::overflow_head_offset(shape)) != 0)
    return Look::later;
  return Look::tombstone;
}

reactor::Task<void> Tombstones::tick(fabric::Channel& loopback, const Peers& peers) {
  std::uint32_t in_step = 0;
  Aging seen{};
  for (std::size_t i = noted_.size(); i > 0; --i) {
    Tombstone tombstone = noted_.front();
    noted_.pop_front();
    switch (look(tombstone, tombstone.stamp)) {
      case Look::tombstone:
        seen.tombstones.push_back(tombstone);
        break;
      case Look::later:
        if (layout::HeaderWord(region_.load(tombstone.record)).locked())
          held_.insert({tombstone.table, tombstone.record, false});
        noted_.push_back(tombstone);
        break;
      case Look::unstable:
        if (++tombstone.attempts < kMaxLooks) noted_.push_back(tombstone);
        break;
      case Look::other:
        break;
    }
    if (++in_step < options_.step_units) continue;
    in_step = 0;
    co_await executor_.yield();
  }
  if (!seen.tombstones.empty()) {
    seen.seen_ns = executor_.now_ns();
    seen.epoch = epoch_.raise();
    aging_.push_back(std::move(seen));
  }

  const std::uint64_t age_ns = options_.max_transaction_ns + options_.slack_ns;
  while (!aging_.empty()) {
    Aging& oldest = aging_.front();
    const bool acknowledged =
        options_.collect_by_acknowledgement && oldest.epoch <= peers.acknowledged().versions;
    if (!acknowledged && executor_.now_ns() - oldest.seen_ns < age_ns) break;
    while (!oldest.tombstones.empty()) {
      const Tombstone tombstone = oldest.tombstones.front();
      oldest.tombstones.pop_front();
      const bool done = co_await reclaim(tombstone, loopback);
      if (!done) noted_.push_back(tombstone);
    }
    aging_.pop_front();
  }
  std::erase_if(held_, [this](const Held& held) { return !still(held); });
}

bool Tombstones::still(const Held& held) const {
  const TablePointer table = tables_.find(held.table);
  if (!table) return false;  // dropped since
  if (!(held.chain ? table->is_bucket(held.offset) : table->records.used(held.offset))) return false;
  const layout::HeaderWord word(region_.load(held.offset));
  return word.locked() && word.stamp().slot != layout::kCollectorSlot;
}

void Tombstones::describe(control::HeartbeatReply& reply, int limit) const {
  for (const Held& held : held_) {
    if (reply.held_locks_size() >= limit) return;
    if (!still(held)) continue;
    control::HeldLock& named = *reply.add_held_locks();
    named.set_offset(held.offset);
    named.set_word(region_.load(held.offset));
    if (!held.chain) named.set_body_bytes(tables_.find(held.table)->shape.record.body_bytes());
  }
}

std::uint64_t Tombstones::pending() const {
  std::uint64_t count = noted_.size();
  for (const Aging& aging : aging_) count += aging.tombstones.size();
  return count;
}

std::uint64_t Tombstones::find_entry(const Table& table, std::uint64_t main_bucket, std::uint64_t record,
                                     layout::Bucket& bucket) const {
  // The chain's lock is held: a bucket that does not certify, or a chain without end, is corrupt.
  std::uint64_t offset = main_bucket;
  for (std::uint64_t steps = 0; steps <= table.indirect.used_count() && table.is_bucket(offset); ++steps) {
    region_.read(offset, std::as_writable_bytes(std::span(&bucket, 1)));
    if (!bucket.certified(region_.address(offset))) return 0;
    for (const layout::BucketEntry& entry : bucket.entries) {
      if (!entry.free() && entry.offset() == record) return offset;
    }
    offset = bucket.next_offset;
  }
  return 0;
}

reactor::Task<bool> Tombstones::reclaim(Tombstone tombstone, fabric::Channel& loopback) {
  layout::Stamp stamp;
  const Look first = look(tombstone, stamp);
  if (first == Look::other) co_return true;
  if (first != Look::tombstone || stamp != tombstone.stamp) co_return false;
  const TablePointer table = tables_.find(tombstone.table);
  const layout::RecordLayout& shape = table->shape.record;
  std::vector<std::byte> body(shape.body_bytes());
  region_.read(tombstone.record + 8, body);
  const layout::Schema& schema = table->shape.schema;
  const auto row = layout::body_payload(std::span<const std::byte>(body));
  const std::uint64_t key_hash = layout::row_hash(
      table->shape.id, schema, row.subspan(schema.key_offset(), schema.key_bytes()), options_.server_count);
  if (layout::bucket_index(key_hash, options_.server_count) != options_.server_id) co_return true;
  const std::uint64_t chain = tables_.find_chain(*table, key_hash);
  if (chain == 0) co_return false;
  const std::uint64_t chain_word = region_.load(chain);
  if (layout::HeaderWord(chain_word).locked()) {
    held_.insert({tombstone.table, chain, true});
    co_return false;
  }

  const auto holder = locks_.next();
  if (!holder) co_return true;
  const std::uint64_t locked = layout::HeaderWord(*holder, false, true).value();
  const std::uint64_t unlocked = layout::HeaderWord(*holder).value();
  const bool chain_locked = co_await swap_word(loopback, chain, chain_word, locked);
  if (!chain_locked) co_return false;
  const std::uint64_t deleted = layout::HeaderWord(stamp, true).value();
  const bool record_locked = co_await swap_word(loopback, tombstone.record, deleted, locked);
  bool unlinked = false;
  if (record_locked) {
    // No peer changes body and chain from here on.
    region_.read(tombstone.record + 8, body);
    layout::BodyHeader header = layout::decode_body_header(body.data());
    layout::Bucket bucket;
    const std::uint64_t offset = find_entry(*table, chain, tombstone.record, bucket);
    if (layout::certify_body(body, region_.address(tombstone.record)) && header.stamp == stamp &&
        header.deleted && offset != 0) {
      if (shape.timestamps) {
        // No record will tell when the row was deleted, and transactions count on that: others commit later.
        const std::uint64_t lease = region_.load(tombstone.record + layout::lease_offset(shape));
        co_await raise_forgotten(loopback, std::max(header.timestamp(), lease));
      }
      header.incarnation = (header.incarnation + 1) & layout::kIncarnation_mask;
      layout::seal_body(body, region_.address(tombstone.record), header);
      region_.write(tombstone.record + 8, body);
      for (layout::BucketEntry& entry : bucket.entries) {
        if (!entry.free() && entry.offset() == tombstone.record) entry = {};
      }
      bucket.seal(region_.address(offset));
      region_.write(offset + layout::kBucketBody_offset,
                    std::as_bytes(std::span(&bucket, 1)).subspan(layout::kBucketBody_offset));
      unlinked = true;
    } else {
      const bool restored = co_await swap_word(loopback, tombstone.record, locked, deleted);
      static_cast<void>(restored);  // fails only with the channel
    }
  }
  const bool released = co_await swap_word(loopback, chain, locked, unlocked);
  static_cast<void>(released);
  if (!unlinked) co_return record_locked;  // a record without an entry stays as it is
  reclaimer_.defer({tombstone.table, tombstone.record});
  ++reclaimed_;
  co_return true;
}

reactor::Task<void> Tombstones::raise_forgotten(fabric::Channel& loopback, std::uint64_t timestamp) {
  bool raised = false;
  while (!raised && !loopback.failed()) {
    const std::uint64_t known = region_.load(layout::kForgottenTimestamp_offset);
    if (known >= timestamp) co_return;
    raised = co_await swap_word(loopback, layout::kForgottenTimestamp_offset, known, timestamp);
  }
}

reactor::Task<void> Tombstones::scan() {
  std::vector<std::uint32_t> ids;
  for (const auto& [id, table] : tables_.all()) ids.push_back(id);
  for (const std::uint32_t id : ids) {
    std::uint64_t record = 0;
    while (true) {
      const TablePointer table = tables_.find(id);
      if (!table) break;
      for (std::uint32_t i = 0; i < options_.step_units; ++i) {
        record = table->records.next_used(record);
        if (record == 0) break;
        const layout::HeaderWord word(region_.load(record));
        // A locked record may be a tombstone, too, with the lock of a dead commit.
        const bool held = word.locked() && word.stamp().slot != layout::kCollectorSlot;
        if ((word.deleted() && !word.locked()) || held) note(id, record);
      }
      if (record == 0) break;
      co_await executor_.yield();
    }
  }
}

}  // namespace namdb::memory
