#include "memory/reclaim/table_growth.h"

#include <algorithm>
#include <array>
#include <utility>

namespace namdb::memory {
namespace {

using layout::Bucket;
using layout::BucketEntry;
using layout::kBucketEntries;

// Chains whose locks are held at a time.
constexpr std::uint32_t kChainsAtOnce = 32;
constexpr std::uint64_t kSampledChains = 256;
constexpr std::uint64_t kFirstRetry_ns = 100 * kMicrosecond_ns;
constexpr std::uint32_t kMaxBackoff = 16;
// A lock that growth has met so often may be a dead compute server's.
constexpr std::uint32_t kSuspiciousRounds = 4;
constexpr int kMaxReported = 16;

}  // namespace

bool TableGrowth::crowded(const Table& table) const {
  return table.records.used_count() * 100 >
         table.main.array.bucket_count * kBucketEntries * options_.growth_percent;
}

bool TableGrowth::outgrown(const Table& table) const {
  const std::uint64_t count = table.main.array.bucket_count;
  const std::uint64_t sampled = std::min(count, kSampledChains);
  std::uint64_t entries = 0;
  for (std::uint64_t i = 0; i < sampled; ++i) {
    // Others write while this reads: good enough to count by.
    std::uint64_t offset = table.main.array.bucket_offset(count / sampled * i);
    for (std::uint64_t steps = 0; steps <= table.indirect.used_count() && table.is_bucket(offset); ++steps) {
      Bucket bucket;
      region_.read(offset, std::as_writable_bytes(std::span(&bucket, 1)));
      entries +=
          static_cast<std::uint64_t>(std::count_if(bucket.entries.begin(), bucket.entries.end(),
                                                   [](const BucketEntry& entry) { return !entry.free(); }));
      offset = bucket.next_offset;
    }
  }
  return entries * 100 > sampled * kBucketEntries * options_.growth_percent;
}

void TableGrowth::consider(std::uint32_t id) {
  const TablePointer table = tables_.find(id);
  if (!table || stopping_ || table->next) return;
  if (!crowded(*table)) {
    candidates_.erase(id);
    return;
  }
  const std::uint64_t now = executor_.now_ns();
  const std::uint64_t records = table->records.used_count();
  const auto [found, fresh] = candidates_.try_emplace(id);
  Candidate& candidate = found->second;
  const bool due = fresh || now >= candidate.looked_ns + options_.growth_interval_ns ||
                   records >= candidate.records + candidate.records / 8;
  if (!due) return;
  candidate = {now, records};
  if (!outgrown(*table) || !begin(id, *table)) return;
  candidates_.erase(id);
  wake_.notify_all();
}

void TableGrowth::consider_again() {
  std::erase_if(unknown_, [this](std::uint32_t id) { return !tables_.find(id); });
  for (auto entry = candidates_.begin(); entry != candidates_.end();) {
    const std::uint32_t id = entry->first;
    ++entry;  // consider() may erase it
    if (tables_.find(id)) {
      consider(id);
    } else {
      candidates_.erase(id);
    }
  }
}

bool TableGrowth::begin(std::uint32_t id, Table& table) {
  const ExtentAllocator& extents = region_.extents();
  const std::uint64_t array_bytes = 2 * table.main.array.bytes();
  const std::uint64_t needed_bytes = region_.blocks().block_bytes(array_bytes);
  // Rows come first: growth takes no more than half of what is free.
  const std::uint64_t reserve_bytes = extents.reserve() * extents.extent_bytes();
  if (region_.obtainable_bytes() < reserve_bytes + 2 * needed_bytes) return false;
  const auto block = region_.blocks().allocate(array_bytes, true);
  if (!block) return false;
  table.next = MainBuckets{table.main.array.doubled(block->offset), block->bytes};
  jobs_[id] = Job{};
  return true;
}

reactor::Task<void> TableGrowth::run(fabric::Channel& loopback) {
  while (!stopping_) {
    bool moved = false;
    std::vector<std::uint32_t> ids;
    for (const auto& [id, job] : jobs_) ids.push_back(id);
    for (const std::uint32_t id : ids) {
      const bool more = co_await step(id, loopback);
      moved = moved || more;
    }
    if (stopping_) break;
    if (moved) {
      co_await executor_.yield();
    } else if (jobs_.empty()) {
      co_await wake_.wait();
    } else {
      std::uint64_t retry_ns = ~std::uint64_t{0};
      for (const auto& [id, job] : jobs_) retry_ns = std::min(retry_ns, job.retry_ns);
      co_await wake_.wait_until(retry_ns);
    }
  }
}

std::vector<std::uint64_t> TableGrowth::choose_chains(const Table& table, Job& job) {
  const std::uint32_t limit = std::min(options_.step_units, kChainsAtOnce);
  std::vector<std::uint64_t> chains;
  while (chains.size() < limit && job.next_chain < table.main.array.bucket_count) {
    chains.push_back(job.next_chain++);
  }
  if (!chains.empty() || executor_.now_ns() < job.retry_ns) return chains;
  while (chains.size() < limit && !job.held.empty()) {
    chains.push_back(job.held.front());
    job.held.pop_front();
  }
  return chains;
}

reactor::Task<bool> TableGrowth::step(std::uint32_t id, fabric::Channel& loopback) {
  const TablePointer table = tables_.find(id);
  if (!table || !table->next) {
    jobs_.erase(id);
    co_return true;
  }
  Job& job = jobs_[id];
  const std::vector<std::uint64_t> chains = choose_chains(*table, job);
  if (chains.empty()) co_return false;
  const auto holder = locks_.next();
  if (!holder) {  // for good: these chains, and so the table, stay as they are
    job.retry_ns = ~std::uint64_t{0};
    co_return false;
  }
  const std::uint64_t locked = layout::HeaderWord(*holder, false, true).value();
  const std::uint64_t unlocked = layout::HeaderWord(*holder).value();
  std::vector<std::uint64_t> asked;
  std::vector<WordSwap> locks;
  std::size_t moved = 0;
  for (const std::uint64_t index : chains) {
    const std::uint64_t offset = table->main.array.bucket_offset(index);
    const std::uint64_t word = region_.load(offset);
    if (layout::HeaderWord(word).locked()) {
      job.held.push_back(index);
    } else {
      asked.push_back(index);
      locks.push_back({offset, word, locked});
    }
  }
  co_await swap_words(loopback, locks);
  std::vector<WordSwap> releases;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    if (locks[i].done) releases.push_back({locks[i].offset, locked, unlocked});
    if (locks[i].done && !table->discarded && move_chain(*table, asked[i])) {
      ++moved;
    } else {
      job.held.push_back(asked[i]);
    }
  }
  co_await swap_words(loopback, releases);
  if (table->discarded) {
    jobs_.erase(id);
    co_return true;
  }
  const bool seen_all = job.next_chain == table->main.array.bucket_count;
  if (seen_all && job.held.empty()) {
    finish(id, *table);
    co_return true;
  }
  if (moved > 0) {
    job.rounds = 0;
  } else if (seen_all) {
    job.retry_ns = executor_.now_ns() + std::min(options_.collect_interval_ns,
                                                 kFirstRetry_ns << std::min(job.rounds, kMaxBackoff));
    ++job.rounds;
  }
  co_return true;
}

bool TableGrowth::move_chain(Table& table, std::uint64_t index) {
  const layout::BucketArray& from = table.main.array;
  const layout::BucketArray& to = table.next->array;
  std::array<std::vector<BucketEntry>, 2> halves;
  std::vector<std::uint64_t> indirect;
  std::uint64_t offset = from.bucket_offset(index);
  for (std::uint64_t steps = 0; offset != 0; ++steps) {
    if (steps > table.indirect.used_count() || !table.is_bucket(offset)) return false;
    Bucket bucket;
    region_.read(offset, std::as_writable_bytes(std::span(&bucket, 1)));
    if (!bucket.certified(region_.address(offset)) || bucket.generation != from.generation) return false;
    if (steps > 0) indirect.push_back(offset);
    for (const BucketEntry& entry : bucket.entries) {
      if (entry.free()) continue;
      const std::uint64_t half = to.index_of(entry.key_hash, options_.server_count) - 2 * index;
      if (half > 1) return false;
      halves[half].push_back(entry);
    }
    offset = bucket.next_offset;
  }
  if (!write_chain(table, to.bucket_offset(2 * index), halves[0])) return false;
  if (!write_chain(table, to.bucket_offset(2 * index + 1), halves[1])) {
    // No peer has seen the first half: its indirect buckets are free again.
    Bucket bucket;
    region_.read(to.bucket_offset(2 * index), std::as_writable_bytes(std::span(&bucket, 1)));
    while (bucket.next_offset != 0) {
      const std::uint64_t next = bucket.next_offset;
      region_.read(next, std::as_writable_bytes(std::span(&bucket, 1)));
      region_.zero(next, layout::kBucket_bytes);
      table.indirect.free(next);
    }
    return false;
  }
  const std::uint64_t old_main = from.bucket_offset(index);
  Bucket forward = Bucket::forward(table.shape.id, from.generation, to.base_offset);
  forward.seal(region_.address(old_main));
  region_.write(old_main + layout::kBucketBody_offset,
                std::as_bytes(std::span(&forward, 1)).subspan(layout::kBucketBody_offset));
  table.forwarded_indirect.insert(table.forwarded_indirect.end(), indirect.begin(), indirect.end());
  return true;
}

bool TableGrowth::write_chain(Table& table, std::uint64_t main_offset,
                              const std::vector<BucketEntry>& entries) {
  std::vector<std::uint64_t> places = {main_offset};
  while (places.size() * kBucketEntries < entries.size()) {
    const auto place = table.indirect.allocate();
    if (!place) {
      for (std::size_t i = 1; i < places.size(); ++i) table.indirect.free(places[i]);
      return false;
    }
    places.push_back(*place);
  }
  for (std::size_t i = 0; i < places.size(); ++i) {
    Bucket bucket{};
    bucket.table = table.shape.id;
    bucket.generation = table.next->array.generation;
    bucket.next_offset = i + 1 < places.size() ? places[i + 1] : 0;
    const std::size_t first = i * kBucketEntries;
    std::copy_n(entries.begin() + static_cast<std::ptrdiff_t>(first),
                std::min<std::size_t>(kBucketEntries, entries.size() - std::min(first, entries.size())),
                bucket.entries.begin());
    bucket.seal(region_.address(places[i]));
    region_.write(places[i], std::as_bytes(std::span(&bucket, 1)));
  }
  return true;
}

void TableGrowth::finish(std::uint32_t id, Table& table) {
  table.outgrown.push_back({table.main, std::exchange(table.forwarded_indirect, {})});
  table.main = *table.next;
  table.next.reset();
  jobs_.erase(id);
  unknown_.insert(id);
  consider(id);
}

void TableGrowth::describe(control::HeartbeatReply& reply) const {
  for (const std::uint32_t id : unknown_) {
    const TablePointer table = tables_.find(id);
    if (!table) continue;  // dropped since
    control::GrownTable& grown = *reply.add_grown();
    grown.set_table(id);
    grown.set_bucket_base(table->main.array.base_offset);
    grown.set_doublings(table->doublings());
    if (reply.grown_size() == kMaxReported) break;
  }
  for (const auto& [id, job] : jobs_) {
    const TablePointer table = tables_.find(id);
    if (!table || job.rounds < kSuspiciousRounds) continue;
    for (const std::uint64_t index : job.held) {
      const std::uint64_t offset = table->main.array.bucket_offset(index);
      const std::uint64_t word = region_.load(offset);
      if (!layout::HeaderWord(word).locked()) continue;
      control::HeldLock& held = *reply.add_held_locks();
      held.set_offset(offset);
      held.set_word(word);
      if (reply.held_locks_size() == kMaxReported) return;
    }
  }
}

Status TableGrowth::retire(const control::RetireBucketsRequest& request) {
  const TablePointer table = tables_.find(request.table());
  if (!table) {
    unknown_.erase(request.table());
    return Status(ErrorCode::undefined_table,
                  "this memory server has no table " + std::to_string(request.table()));
  }
  if (request.doublings() > table->doublings()) {
    return Status(ErrorCode::protocol_violation, "buckets are retired that are in use");
  }
  for (Outgrown& old : table->outgrown) {
    const std::uint32_t doublings = old.main.array.generation - table->shape.generation;
    if (old.retired || doublings >= request.doublings()) continue;
    old.retired = true;
    reclaimer_.defer({table->shape.id, old.main.array.base_offset, true});
  }
  if (request.doublings() == table->doublings()) unknown_.erase(request.table());
  return Status();
}

}  // namespace namdb::memory
