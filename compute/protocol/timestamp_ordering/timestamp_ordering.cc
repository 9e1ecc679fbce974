#include "compute/protocol/timestamp_ordering/timestamp_ordering.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "common/layout/record_trailer.h"
#include "common/reactor/stable_vector.h"
#include "compute/cluster/catalog_cache.h"
#include "compute/commit/chain_locks.h"
#include "compute/txn/errors.h"
#include "compute/txn/lock_resolver.h"

namespace namdb::protocol {

using layout::GlobalAddress;
using layout::HeaderWord;

namespace {

constexpr std::size_t kRowsAtOnce = 1024;
// The forgotten timestamp's position among the floors, as a bit.
constexpr std::uint32_t kForgotten = 1;
// So many words are not worth a read each.
constexpr int kManyFloors = 8;

GlobalAddress floor_word(std::size_t server, std::size_t position) {
  return {static_cast<layout::ServerId>(server), layout::timestamp_floor_offset(position)};
}

}  // namespace

// A word that is raised to the timestamp, and the header word that is READ behind that, if any.
struct TimestampOrdering::Raise {
  GlobalAddress word;
  std::uint64_t known;
  const SeenRow* row;  // null: a floor
  fabric::LocalBuffer words;
  bool done = false;
};

GenerationEnd TimestampOrdering::end(std::uint64_t /*generation*/, const Status& outcome, bool /*wrote*/) {
  SessionState& session = transaction().session();
  if (outcome.ok()) session.timestamp = std::max(session.timestamp, timestamp_);
  return GenerationEnd::by_caller;
}

void TimestampOrdering::add_row(const Lookup& lookup, bool leased, SeenRows& rows) {
  if (lookup.current_is_visible()) {
    const layout::BodyHeader& version = lookup.current();
    after(version.timestamp());
    const bool present = lookup.state() == Lookup::State::present;
    rows.push_back({lookup.table().id, lookup.record(), static_cast<std::uint16_t>(version.incarnation),
                    lookup.body_bytes(), version.header_word(), present ? version.stamp : layout::Stamp{},
                    leased ? lookup.lease() : 0, leased ? std::max(lookup.lease(), version.timestamp()) : 0});
  } else if (lookup.state() == Lookup::State::absent) {
    needs_forgotten_ = true;  // its first version is too new: there may have been another record before
  }
  // Otherwise an older version was read. It holds, since all that is to come is newer than the current one.
}

void TimestampOrdering::saw_record(const Lookup& lookup) {
  note_table(lookup.table().id);
  if (lookup.has_record()) {
    add_row(lookup, false, scanned_);
  } else {
    read_set_.add(lookup);
  }
}

void TimestampOrdering::saw_bucket(const storage::Table& table, GlobalAddress address,
                                   const layout::Bucket& bucket, bool main) {
  note_table(table.id);
  read_set_.add(address, bucket, main);
}

void TimestampOrdering::saw_range(SeenRange range) {
  note_table(range.table);
  read_set_.add_range(std::move(range));
}

void TimestampOrdering::saw_latest(const Lookup& lookup) {
  if (lookup.has_record()) after(lookup.current().timestamp());
}

void TimestampOrdering::read_behind_lock(const Access& access, txn::BatchSet& batches) {
  const GlobalAddress record = access.lookup.record();
  displaced_.push_back(
      {access.lookup.current().timestamp(), fabric::LocalBuffer(transaction().worker().cluster.pool(), 8)});
  batches.read(record + layout::lease_offset(access.table->record), displaced_.back().lease.data(), 8);
}

// The floors of all servers: on a server without writes that costs no further round trip. A server that is
// lacking has no rows that this transaction may still use, and each READ and each raise concerns all
// servers: so the others' floors are enough for it.
void TimestampOrdering::read_behind_locks(txn::BatchSet& batches) {
  if (!displaced_.empty()) add_floor_reads(batches, Stage::lock, written_positions());
}

std::uint32_t TimestampOrdering::written_positions() const {
  std::uint32_t positions = 0;
  for (const Access& access : transaction().accesses()) {
    if (access.write != WriteKind::none) positions |= 1U << layout::floor_of(access.table->id);
  }
  return positions;
}

void TimestampOrdering::add_floor_reads(txn::BatchSet& batches, Stage stage, std::uint32_t positions) {
  txn::Cluster& cluster = transaction().worker().cluster;
  if (!floors_)
    floors_ = fabric::LocalBuffer(cluster.pool(), layout::kTimestampFloors_bytes * cluster.server_count());
  std::memset(floors_.data(), 0, layout::kTimestampFloors_bytes * cluster.server_count());
  // One READ costs less than several, but a call's replies are as long as they are.
  const bool few = cluster.stages().two_sided(stage) && std::popcount(positions) < kManyFloors;
  for (std::size_t server = 0; server < cluster.server_count(); ++server) {
    if (cluster.lacks(static_cast<layout::ServerId>(server))) continue;
    std::byte* const floors = floors_.data() + layout::kTimestampFloors_bytes * server;
    if (!few) {
      batches.read(floor_word(server, 0), floors, layout::kTimestampFloors_bytes);
      continue;
    }
    for (std::size_t position = 0; position <= layout::kTimestampFloors; ++position) {
      if ((positions >> position & 1) != 0)
        batches.read(floor_word(server, position), floors + 8 * position, 8);
    }
  }
}

std::uint64_t TimestampOrdering::floor(std::size_t server, std::size_t position) const {
  return layout::load_word(floors_.data() + layout::kTimestampFloors_bytes * server + 8 * position);
}

reactor::Task<Status> TimestampOrdering::read_floors() {
  txn::BatchSet batches(transaction().worker().cluster);
  add_floor_reads(batches, Stage::renew, kForgotten | written_ | unleased_);
  const Status status = co_await batches.run(transaction().mutable_counters(), Stage::renew);
  // One of those that are not needed may have been lost meanwhile.
  if (!status.ok() && transaction().worker().cluster.failed()) co_return lost_connection(status);
  co_return Status();
}

void TimestampOrdering::add_reads(bool commits, SeenRows* rows) {
  if (commits) written_ = written_positions();
  for (const Access& access : transaction().accesses()) {
    if (!access.fetched() || (commits && access.write != WriteKind::none)) continue;
    if (access.lookup.has_record()) {
      add_row(access.lookup, true, *rows);
    } else {
      saw_record(access.lookup);
    }
  }
}

reactor::Task<Status> TimestampOrdering::validate(const Locked& locked) {
  SeenRows rows;
  add_reads(true, &rows);
  for (const Displaced& displaced : displaced_)
    after(std::max(layout::load_word(displaced.lease.data()), displaced.timestamp) + 1);
  // Chains may have been locked, and entries added, behind the floors that were READ with the locks; and
  // absent rows may have been deleted since.
  const bool makes_rows = !locked.chains.empty() || locked.changes_indexes;
  if (makes_rows || may_have_missed() || !floors_) {
    Status status = co_await read_floors();
    if (!status.ok()) co_return status;
  }
  go_after(written_ | (makes_rows || may_have_missed() ? kForgotten : 0));
  Status status = place();
  if (!status.ok()) co_return status;
  SeenRows doubtful;
  status = co_await raise(&rows, locked.leaves_entries, &doubtful);
  if (!status.ok()) co_return status;
  co_return co_await check_all(&doubtful, &locked.chains);
}

reactor::Task<Status> TimestampOrdering::check_reads(SeenRows* rows) {
  scanned_.insert(scanned_.end(), rows->begin(), rows->end());
  rows->clear();
  if (may_have_missed()) {
    if (Status status = co_await go_after_forgotten(); !status.ok()) co_return status;
  }
  if (Status status = place(); !status.ok()) co_return status;
  co_return co_await check_all(rows, nullptr);
}

reactor::Task<Status> TimestampOrdering::confirm_reads(bool commits) {
  const ReadSet::Mark mark = read_set_.mark();
  const std::size_t scanned = scanned_.size();
  const std::uint32_t unleased = unleased_;
  const bool needs_forgotten = needs_forgotten_;
  SeenRows rows;
  add_reads(false, &rows);
  Status status;
  if (commits) {
    status = co_await commit_reads(&rows);
  } else {
    status = co_await check_reads(&rows);
  }
  read_set_.forget(mark);
  scanned_.resize(scanned);
  unleased_ = unleased;
  needs_forgotten_ = needs_forgotten;
  co_return status;
}

reactor::Task<Status> TimestampOrdering::go_after_forgotten() {
  Status status = co_await read_floors();
  if (!status.ok()) co_return status;
  go_after(kForgotten);
  co_return Status();
}

void TimestampOrdering::go_after(std::uint32_t positions) {
  for (std::size_t server = 0; server < transaction().worker().cluster.server_count(); ++server) {
    for (std::size_t position = 0; position <= layout::kTimestampFloors; ++position) {
      if ((positions >> position & 1) != 0) after(floor(server, position) + 1);
    }
  }
}

reactor::Task<Status> TimestampOrdering::commit_reads(const SeenRows* rows) {
  if (may_have_missed()) {
    Status status = co_await go_after_forgotten();
    if (!status.ok()) co_return status;
  }
  Status status = place();
  if (!status.ok()) co_return status;
  SeenRows doubtful;
  status = co_await raise(rows, false, &doubtful);
  if (!status.ok()) co_return status;
  co_return co_await check_all(&doubtful, nullptr);
}

reactor::Task<Status> TimestampOrdering::check_all(SeenRows* doubtful, const HeldChains* chains) {
  Status status = co_await check(&scanned_, doubtful);
  if (!status.ok()) co_return status;
  status = co_await read_set_.validate(&transaction(), owner_.own_lock(), chains);
  if (!status.ok() || doubtful->empty()) co_return status;
  co_return co_await check_again(doubtful);
}

reactor::Task<Status> TimestampOrdering::raise(const SeenRows* rows, bool forgets, SeenRows* doubtful) {
  txn::Cluster& cluster = transaction().worker().cluster;
  reactor::StableVector<Raise> raises;
  for (const SeenRow& row : *rows) {
    if (row.held_until >= timestamp_) continue;
    const storage::TableRef table = transaction().worker().catalog.find_id(row.table);
    if (table == nullptr) co_return changed_reads();
    raises.push_back({row.record + layout::lease_offset(table->record), row.lease, &row,
                      fabric::LocalBuffer(cluster.pool(), 16)});
  }
  const std::uint32_t positions = unleased_ | (forgets ? kForgotten : 0);
  for (std::size_t server = 0; positions != 0 && server < cluster.server_count(); ++server) {
    if (cluster.lacks(static_cast<layout::ServerId>(server))) continue;
    for (std::size_t position = 0; position <= layout::kTimestampFloors; ++position) {
      if ((positions >> position & 1) == 0 || floor(server, position) >= timestamp_) continue;
      raises.push_back({floor_word(server, position), floor(server, position), nullptr,
                        fabric::LocalBuffer(cluster.pool(), 16)});
    }
  }
  txn::BatchSet batches(cluster);
  while (!raises.empty()) {
    for (Raise& each : raises) {
      batches.compare_and_swap(each.word, each.known, timestamp_, each.words.data());
      if (each.row != nullptr) batches.read(each.row->record, each.words.data() + 8, 8);
    }
    const Status status = co_await batches.run(transaction().mutable_counters(), Stage::renew);
    if (!status.ok() && cluster.failed()) co_return lost_connection(status);
    for (Raise& each : raises) {
      if (cluster.lacks(each.word.server())) {
        if (each.row != nullptr) co_return lost_connection(status);
        each.done = true;  // the floors of the others are enough
        continue;
      }
      const std::uint64_t found = layout::load_word(each.words.data());
      each.done = found == each.known || found >= timestamp_;
      each.known = found;  // another transaction has raised it, not far enough
      if (each.row == nullptr || same(*each.row, HeaderWord(layout::load_word(each.words.data() + 8))))
        continue;
      // The version is displaced, or about to be: raising the lease further would not prevent that.
      doubtful->push_back(*each.row);
      each.done = true;
    }
    raises.erase_if([](const Raise& each) { return each.done; });
  }
  co_return Status();
}

reactor::Task<Status> TimestampOrdering::check(const SeenRows* rows, SeenRows* doubtful) {
  txn::Cluster& cluster = transaction().worker().cluster;
  txn::BatchSet batches(cluster);
  for (std::size_t first = 0; first < rows->size(); first += kRowsAtOnce) {
    const std::size_t count = std::min(kRowsAtOnce, rows->size() - first);
    const fabric::LocalBuffer words(cluster.pool(), 8 * count);
    for (std::size_t i = 0; i < count; ++i) batches.read((*rows)[first + i].record, words.data() + 8 * i, 8);
    const Status status = co_await batches.run(transaction().mutable_counters(), Stage::validate);
    if (!status.ok()) co_return lost_connection(status);
    for (std::size_t i = 0; i < count; ++i) {
      const SeenRow& row = (*rows)[first + i];
      if (!same(row, HeaderWord(layout::load_word(words.data() + 8 * i)))) doubtful->push_back(row);
    }
  }
  co_return Status();
}

bool TimestampOrdering::same(const SeenRow& row, HeaderWord now) {
  if (now == row.header) return true;
  if (!now.locked()) return false;
  // Locked by this transaction, from the version that it has read.
  if (now == owner_.own_lock()) {
    return std::ranges::any_of(transaction().accesses(), [&row](const Access& access) {
      return access.lookup.record() == row.record && access.lookup.current().header_word() == row.header;
    });
  }
  transaction().worker().locks.note(row.record, now, row.body_bytes);
  return false;
}

reactor::Task<Status> TimestampOrdering::check_again(const SeenRows* /*rows*/) {
  co_return changed_reads();
}

}  // namespace namdb::protocol
