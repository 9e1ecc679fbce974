#include "compute/commit/chain_locks.h"

#include <algorithm>
#include <span>

#include "common/layout/changed_runs.h"
#include "compute/cluster/bucket_search.h"
#include "compute/txn/errors.h"
#include "compute/txn/lock_resolver.h"

namespace namdb::protocol {

using layout::Bucket;
using layout::GlobalAddress;
using layout::HeaderWord;
using layout::JournalItems;

namespace {

// So many chains are searched one by one.
constexpr std::size_t kFew = 32;
// Chains are waited for so long. A commit holds one for a few round trips, the memory server for
// microseconds; but many may wait for one, with many rows each.
constexpr std::uint64_t kPatience_ns = 200 * kMillisecond_ns;
constexpr std::uint32_t kRoundsWithoutSleep = 16;
constexpr std::uint64_t kMaxPause_ns = 500 * kMicrosecond_ns;
constexpr std::size_t kPrefetched_bytes = 512;  // of a row's image
constexpr std::size_t kRowsAhead = 8;
constexpr std::size_t kWords_bytes = 16;

void prefetch_image(const Access& row) {
  const std::size_t length_bytes = std::min<std::size_t>(row.image.size(), kPrefetched_bytes);
  for (std::size_t i = 0; i < length_bytes; i += 64) __builtin_prefetch(row.image.data() + i);
}

}  // namespace

Status ChainLocks::without_space(Status status, const storage::Table& table) {
  if (status.code() != ErrorCode::undefined_table || !table.schema.chained()) return status;
  return Status(ErrorCode::catalog_changed, "an index was dropped while the transaction ran");
}

void ChainLocks::add(Access& access) {
  const Lookup& lookup = access.lookup;
  ChainLock& chain = chain_at(access.table, lookup.array(), lookup.chain().front());
  if (chain.inserts.empty()) {
    expect(chain, lookup.chain_lock());
    for (std::size_t i = 1; i < lookup.chain().size(); ++i) add_bucket(chain, lookup.chain()[i]);
  }
  chain.inserts.push_back(&access);
  ++inserts_;
}

void ChainLocks::expect(ChainLock& chain, HeaderWord found) {
  chain.expected = found.locked() ? HeaderWord(found.stamp()) : found;
}

ChainLocks::ChainLock& ChainLocks::chain_at(const storage::TableRef& table, const layout::BucketArray& array,
                                            GlobalAddress main) {
  if (const auto known = position_of(main)) return chains_[*known];
  if (chains_.size() == kFew) index_chains();
  if (chains_.size() >= kFew) by_main_[main.value] = chains_.size();
  ChainLock& chain = chains_.emplace_back();
  chain.table = table;
  chain.array = array;
  chain.main = main;
  add_bucket(chain, main);
  chain.words = chain.buckets.front().buffer.data() + layout::kBucket_bytes;
  return chain;
}

void ChainLocks::index_chains() {
  by_main_.clear();
  if (chains_.size() < kFew) return;
  for (std::size_t i = 0; i < chains_.size(); ++i) by_main_[chains_[i].main.value] = i;
}

std::optional<std::size_t> ChainLocks::position_of(GlobalAddress main) const {
  if (!by_main_.empty()) {
    const auto known = by_main_.find(main.value);
    return known == by_main_.end() ? std::nullopt : std::optional(known->second);
  }
  const auto known = std::ranges::find(chains_, main, &ChainLock::main);
  if (known == chains_.end()) return std::nullopt;
  return static_cast<std::size_t>(known - chains_.begin());
}

void ChainLocks::add_bucket(ChainLock& chain, GlobalAddress address) {
  const std::size_t words_bytes = chain.buckets.empty() ? kWords_bytes : 0;
  txn::RowBuffer buffer = buffers_.take(layout::kBucket_bytes + words_bytes);
  auto* const image = reinterpret_cast<Bucket*>(buffer.data());
  chain.buckets.push_back({.address = address, .buffer = std::move(buffer), .image = image});
}

reactor::Task<Status> ChainLocks::reserve_space() {
  for (std::size_t at = 0; at < chains_.size(); ++at) {
    if ((at + 1) % RowParts::kRowsInTurn == 0) co_await worker_.executor.yield();
    ChainLock& chain = chains_[at];
    const layout::ServerId server = chain.main.server();
    chain.records.reserve(chain.inserts.size());
    worker_.space.take_reserved(*chain.table, server, chain.inserts.size(), chain.records);
    while (chain.records.size() != chain.inserts.size()) {
      auto record = co_await worker_.space.take_record(*chain.table, server, counters_);
      if (!record.ok()) co_return without_space(record.status(), *chain.table);
      chain.records.push_back(*record);
    }
  }
  co_return Status();
}

void ChainLocks::give_back_space() {
  for (ChainLock& chain : chains_) {
    for (const txn::GrantedRecord& record : chain.records)
      worker_.space.give_back_record(*chain.table, record);
    for (const ChainBucket& bucket : chain.buckets) {
      if (bucket.fresh) worker_.space.give_back_bucket(*chain.table, bucket.address);
    }
  }
}

void ChainLocks::post(ChainLock& chain, layout::Stamp stamp) {
  chain.state = State::posted;
  layout::store_word(chain.words, ~chain.expected.value());  // stays if no answer comes
  batches_.compare_and_swap(chain.main, chain.expected.value(), HeaderWord(stamp, false, true).value(),
                            chain.words);
  for (const ChainBucket& bucket : chain.buckets) {
    batches_.read(bucket.address, reinterpret_cast<std::byte*>(bucket.image), layout::kBucket_bytes);
  }
}

// While the commit waits for a chain, it posts none behind it.
void ChainLocks::post_missing(layout::Stamp stamp) {
  const GlobalAddress busy = first_busy();
  for (ChainLock& chain : chains_) {
    if (chain.state == State::to_post && (busy.null() || chain.main.value <= busy.value)) post(chain, stamp);
  }
}

void ChainLocks::check() {
  for (ChainLock& chain : chains_) {
    if (chain.state == State::posted) {
      check(chain);
    } else {
      chain.busy = chain.by_commit = false;  // not posted
    }
  }
}

void ChainLocks::note_held() {
  for (ChainLock& chain : chains_) {
    if (chain.state == State::posted) chain.held = layout::load_word(chain.words) == chain.expected.value();
  }
}

void ChainLocks::check(ChainLock& chain) {
  const HeaderWord old(layout::load_word(chain.words));
  chain.held = old == chain.expected;
  chain.busy = chain.by_commit = false;
  // An old chain that was forwarded is of no use, even when it is held by this commit.
  const Bucket& main = *chain.buckets.front().image;
  if (main.certified(chain.main) && main.table == chain.table->id &&
      main.generation == chain.array.generation && main.forwarded()) {
    chain.state = State::forwarded;
    return;
  }
  if (chain.held) {
    chain.state = State::taken;
    return;
  }
  chain.state = State::to_post;
  chain.busy = old.locked();
  chain.by_commit = old.locked() && old.stamp().slot != layout::kCollectorSlot;
  if (chain.by_commit) worker_.locks.note(chain.main, old, 0);
  expect(chain, old);
}

GlobalAddress ChainLocks::first_busy() const {
  GlobalAddress first;
  for (const ChainLock& chain : chains_) {
    if (chain.state != State::to_post || !chain.by_commit) continue;
    if (first.null() || chain.main.value < first.value) first = chain.main;
  }
  return first;
}

void ChainLocks::give_back_behind(GlobalAddress busy) {
  for (ChainLock& chain : chains_) {
    if (chain.state != State::taken || chain.main.value < busy.value) continue;
    chain.held = false;
    chain.state = State::to_post;
    layout::store_word(chain.words + 8, chain.expected.value());
    batches_.write(chain.main, chain.words + 8, 8);
  }
}

Status ChainLocks::follow(ChainLock& chain) {
  const layout::ServerId server = chain.main.server();
  const std::uint64_t region_bytes = worker_.cluster.region_map(server).limit_bytes;
  struct Target {
    layout::BucketArray array;
    GlobalAddress main;
  };
  std::vector<Target> targets;
  chain.state = State::left;
  for (const Access* insert : chain.inserts) {
    Target& target = targets.emplace_back(Target{chain.array, chain.main});
    // Lookups that saw the table at different times lead from one chain that was left to another: a lock is
    // not asked for again with the release of it. Each array is larger than the one before.
    for (const ChainLock* left = &chain; left != nullptr; left = left_chain(target.main)) {
      target.array = target.array.doubled(left->buckets.front().image->forward_base());
      if (!storage::array_within(target.array, region_bytes))
        return Status(ErrorCode::corrupt_data, "a bucket's forward leads nowhere");
      const std::uint64_t index = target.array.index_of(insert->key_hash, chain.table->arrays.size());
      target.main = GlobalAddress(server, target.array.bucket_offset(index));
    }
  }
  for (std::size_t i = 0; i < targets.size(); ++i) {
    ChainLock& target = chain_at(chain.table, targets[i].array, targets[i].main);
    target.inserts.push_back(chain.inserts[i]);
    target.records.push_back(chain.records[i]);
  }
  chain.inserts.clear();
  chain.records.clear();
  return {};
}

const ChainLocks::ChainLock* ChainLocks::left_chain(GlobalAddress main) const {
  const auto known = position_of(main);
  return known && chains_[*known].state == State::left ? &chains_[*known] : nullptr;
}

reactor::Task<Status> ChainLocks::retry(layout::Stamp stamp) {
  const auto unfinished = [](const ChainLock& chain) {
    return chain.state == State::forwarded || chain.state == State::to_post;
  };
  const std::uint64_t deadline_ns = worker_.executor.now_ns() + kPatience_ns;
  std::uint32_t pauses = 0;
  while (std::ranges::any_of(chains_, unfinished)) {
    if (worker_.executor.now_ns() >= deadline_ns)
      co_return write_conflict(*std::ranges::find_if(chains_, unfinished)->table);
    if (std::ranges::any_of(chains_, &ChainLock::busy)) {
      ++pauses;
      if (pauses <= kRoundsWithoutSleep) {
        co_await worker_.executor.yield();
      } else {
        const std::uint64_t pause_ns =
            std::min<std::uint64_t>((pauses - kRoundsWithoutSleep) * 20'000, kMaxPause_ns);
        co_await worker_.executor.sleep_for(pause_ns);
      }
    }
    const GlobalAddress busy = first_busy();
    if (!busy.null()) give_back_behind(busy);
    for (std::size_t i = 0; i < chains_.size(); ++i) {
      if (chains_[i].state != State::forwarded) continue;
      const Status status = follow(chains_[i]);
      if (!status.ok()) co_return status;
    }
    for (ChainLock& chain : chains_) {
      if (chain.state == State::left) release(chain, stamp);
    }
    post_missing(stamp);
    ++counters_.rereads;
    const Status status = co_await batches_.run(counters_, Stage::lock);
    if (!status.ok()) {
      note_held();
      co_return lost_connection(status);
    }
    check();
  }
  const std::size_t left =
      chains_.erase_if([](const ChainLock& chain) { return chain.state == State::left; });
  if (left != 0) index_chains();
  co_return Status();
}

// Where chains have few rows, those of the next chains.
void ChainLocks::prefetch_behind(std::size_t at) const {
  constexpr std::size_t kStep = 4;  // so many chains take about as long as memory does
  if (at + 3 * kStep >= chains_.size()) return;
  __builtin_prefetch(&chains_[at + 3 * kStep].inserts);
  const auto first_rows = [this](std::size_t chain) {
    const std::span<Access* const> rows = chains_[chain].inserts;
    return rows.first(std::min(rows.size(), kRowsAhead));
  };
  for (const Access* insert : first_rows(at + 2 * kStep)) __builtin_prefetch(&insert->image);
  for (const Access* insert : first_rows(at + kStep)) prefetch_image(*insert);
}

// Where they have many, the next ones of the chain.
void ChainLocks::prefetch_behind(const ChainLock& chain, std::size_t row) {
  const Inserts& rows = chain.inserts;
  if (row + 2 * kRowsAhead < rows.size()) __builtin_prefetch(&rows[row + 2 * kRowsAhead]->image);
  if (row + kRowsAhead < rows.size()) prefetch_image(*rows[row + kRowsAhead]);
}

void ChainLocks::build_records(std::size_t at, layout::Stamp stamp, std::uint64_t timestamp) {
  prefetch_behind(at);
  const ChainLock& chain = chains_[at];
  const layout::RecordLayout& layout = chain.table->record;
  for (std::size_t i = 0; i < chain.inserts.size(); ++i) {
    prefetch_behind(chain, i);
    Access& access = *chain.inserts[i];
    layout::seal_body(
        access.image_body(), chain.records[i].address,
        {.stamp = stamp,
         .displaced = HeaderWord(timestamp),
         .table = chain.table->id,
         .incarnation = layout::incarnation_of(chain.records[i].number),
         // A ring is filled from its first slot on.
         .ring_slot = layout.timestamps ? layout::kNoRingSlot : std::max(layout.ring_slots, 1U) - 1});
    layout::frame_new_record({access.image.data(), layout.locked_bytes()}, layout);
  }
}

std::optional<HeaderWord> ChainLocks::taken_from(GlobalAddress main) const {
  const auto known = position_of(main);
  if (!known || !chains_[*known].held) return std::nullopt;
  return chains_[*known].expected;
}

void ChainLocks::add_journal_bound(JournalBytes& bytes) const {
  // An insert changes at most two buckets: a fresh one and the one that leads to it, or one with a free
  // entry. Pieces of a bucket are so far apart that together they take no more than the whole.
  for (const ChainLock& chain : chains_) {
    const std::uint64_t insert_bytes = JournalItems::kChain_bytes +
                                       JournalItems::chain_record_bytes(chain.table->record.locked_bytes()) +
                                       2 * JournalItems::chain_write_bytes(layout::kBucketBody_bytes);
    bytes.add(chain.main.server(), chain.inserts.size() * insert_bytes);
  }
}

template <typename Write>
void ChainLocks::bucket_writes(const ChainBucket& bucket, const Write& write) const {
  if (!bucket.changed) return;
  const std::span<const std::byte> image = std::as_bytes(std::span(bucket.image, 1));
  if (bucket.fresh || worker_.commit_writes == txn::CommitWrites::whole) {
    return write(bucket.address + layout::kBucketBody_offset, image.subspan(layout::kBucketBody_offset));
  }
  layout::ChangedRuns runs(image, std::as_bytes(std::span(&bucket.before, 1)), layout::kBucketBody_offset,
                           kWriteGap_bytes);
  for (layout::ChangedRun run; runs.next(run);) {
    write(bucket.address + run.begin, image.subspan(run.begin, run.end - run.begin));
  }
}

void ChainLocks::add_journal_least(JournalBytes& bytes) const {
  for (const ChainLock& chain : chains_) {
    bytes.add(chain.main.server(),
              chain.inserts.size() * JournalItems::chain_record_bytes(chain.table->record.locked_bytes()));
  }
}

void ChainLocks::add_journal_bytes(JournalBytes& bytes) const {
  add_journal_least(bytes);
  for (const ChainLock& chain : chains_) {
    std::uint64_t length = JournalItems::kChain_bytes;
    for (const ChainBucket& bucket : chain.buckets) {
      bucket_writes(bucket, [&length](GlobalAddress, std::span<const std::byte> written) {
        length += JournalItems::chain_write_bytes(written.size());
      });
    }
    bytes.add(chain.main.server(), length);
  }
}

void ChainLocks::log(std::size_t at, layout::ServerId host, JournalItems& items) const {
  const ChainLock& chain = chains_[at];
  if (chain.main.server() != host) return;
  prefetch_behind(at);
  std::size_t writes = chain.inserts.size();
  for (const ChainBucket& bucket : chain.buckets)
    bucket_writes(bucket, [&](GlobalAddress, std::span<const std::byte>) { ++writes; });
  items.chain(chain.main, static_cast<std::uint32_t>(chain.inserts.size()),
              static_cast<std::uint32_t>(writes));
  for (std::size_t i = 0; i < chain.inserts.size(); ++i) {
    prefetch_behind(chain, i);
    items.chain_record(chain.records[i].address, chain.records[i].number,
                       {chain.inserts[i]->image.data(), chain.table->record.locked_bytes()});
  }
  // New buckets lie at the end; they must stand before the bucket that leads to them.
  for (auto bucket = chain.buckets.rbegin(); bucket != chain.buckets.rend(); ++bucket) {
    bucket_writes(*bucket, [&](GlobalAddress address, std::span<const std::byte> bytes) {
      items.chain_write(address, bytes);
    });
  }
}

void ChainLocks::install(std::size_t at, layout::Stamp stamp) {
  prefetch_behind(at);
  ChainLock& chain = chains_[at];
  for (std::size_t i = 0; i < chain.inserts.size(); ++i) {
    prefetch_behind(chain, i);
    batches_.write(chain.records[i].address, chain.inserts[i]->image.data(),
                   chain.table->record.locked_bytes());
  }
  for (auto bucket = chain.buckets.rbegin(); bucket != chain.buckets.rend(); ++bucket) {
    bucket_writes(*bucket, [&](GlobalAddress address, std::span<const std::byte> bytes) {
      batches_.write(address, bytes.data(), bytes.size());
    });
  }
  release(chain, stamp);
}

void ChainLocks::release(layout::Stamp stamp) {
  for (ChainLock& chain : chains_) release(chain, stamp);
}

void ChainLocks::release(ChainLock& chain, layout::Stamp stamp) {
  if (!chain.held) return;
  chain.held = false;
  // Not the old value: with it a CAS would succeed whose commit read the chain long ago.
  layout::store_word(chain.words + 8, HeaderWord(stamp).value());
  batches_.write(chain.main, chain.words + 8, 8);
}

template <typename Use>
void ChainLocks::each_location(const Use& use) const {
  for (const ChainLock& chain : chains_) {
    for (std::size_t i = 0; i < chain.inserts.size(); ++i) {
      const Access& access = *chain.inserts[i];
      const layout::BodyHeader header = layout::decode_body_header(access.image_body().data());
      use(layout::BucketEntry::make(access.key_hash, chain.records[i].address.offset(), header.incarnation));
    }
  }
}

void ChainLocks::remember_locations() const {
  each_location([this](const layout::BucketEntry& entry) { worker_.locations.insert(entry); });
}

std::vector<layout::BucketEntry> ChainLocks::locations() const {
  std::vector<layout::BucketEntry> locations;
  each_location([&locations](const layout::BucketEntry& entry) { locations.push_back(entry); });
  return locations;
}

}  // namespace namdb::protocol
