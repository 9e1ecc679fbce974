// A lookup on bytes that a test has written, and its result, in words.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "common/calls/find_calls.h"
#include "compute/testing/bytes.h"
#include "compute/testing/scripted_visibility.h"
#include "compute/txn/lookup.h"

namespace namdb::protocol::testing {

inline std::string words_of(layout::HeaderWord word) {
  return std::to_string(word.stamp().slot) + "." + std::to_string(word.stamp().counter) +
         (word.locked() ? " locked" : "");
}

// present VALUE | absent, RECORD or CHAIN | ERROR | damaged | waits for WHAT
inline std::string describe(const Lookup& lookup) {
  switch (lookup.state()) {
    case Lookup::State::present:
      return "present " + std::to_string(value_of(lookup.table(), lookup.payload()));
    case Lookup::State::absent:
      if (lookup.has_record()) return "absent, with a record";
      if (lookup.chain().empty()) return "absent";
      return "absent, chain of " + std::to_string(lookup.chain().size());
    case Lookup::State::failed:
      return lookup.damaged() ? "damaged" : std::string(lookup.error().info().name);
    default:
      break;
  }
  if (!lookup.waiting()) return "goes on";
  if (!lookup.lock_seen().locked()) return "reads again";
  return std::string(lookup.lock_body_bytes() == 0 ? "waits for chain " : "waits for record ") +
         words_of(lookup.lock_seen());
}

class LookupScene {
 public:
  explicit LookupScene(const TestOptions& options = {})
      : worker(options), table(*worker.table), bytes(worker) {
    worker.fabric.handle(calls::kFindMethod, [this](std::string_view request, std::string& reply) {
      return find(request, reply);
    });
  }

  // Of the key 1.
  void start() {
    key_ = key_of(table, 1);
    lookup = Lookup();
    lookup.start(worker.state, table, key_, bytes.hash(1));
  }
  void start_at(layout::GlobalAddress record, std::uint16_t incarnation) {
    lookup = Lookup();
    lookup.start_at(worker.state, table, record, incarnation);
  }
  // Until it is done, or has met bytes that are being written for the `looks`-th time.
  std::string run(std::uint32_t looks = 1) {
    reads = 0;
    txn::BatchSet batches(worker.cluster);
    while (reads < kMaxReads) {
      lookup.add_atomics(batches, nullptr);
      lookup.add_read(batches);
      ++reads;
      if (!worker.run(batches.run(worker.counters, Stage::read)).ok()) return "connection lost";
      const std::uint32_t slot = lookup.advance(worker.state, visibility());
      if (slot != 0) return "asks for slot " + std::to_string(slot);
      if (lookup.done() || (lookup.waiting() && --looks == 0)) return describe(lookup);
    }
    return "no end";
  }
  void decide(ScriptedVisibility::Decide decide) {
    visibility_ = std::make_unique<ScriptedVisibility>(std::move(decide));
  }
  ScriptedVisibility& visibility() { return *visibility_; }

  // Bytes of the record of key 1, and the bucket that leads there.
  void stored(const Version& version) {
    bytes.bucket(bytes.main_bucket(1), {.entries = {bytes.entry(1, kRecord)}});
    bytes.record(kRecord, version);
  }
  void remember(layout::GlobalAddress record, std::uint32_t incarnation = Version().incarnation) {
    worker.cluster.saw_memory(record, table.record.record_bytes());
    worker.locations.insert(bytes.entry(1, record, incarnation));
  }

  TestWorker worker;
  storage::Table table;  // the lookup's: its arrays may change
  Bytes bytes;
  Lookup lookup;
  std::size_t reads = 0;

 private:
  static constexpr std::size_t kMaxReads = 20'000;

  // As a memory server replies (common/calls/find_calls.h).
  Status find(std::string_view request, std::string& reply) {
    const auto asked = calls::decode_find(request, {kRegion_bytes, kRegion_bytes});
    REQUIRE(asked.has_value());
    worker.fabric.begin_batch();
    for (const calls::FindRequest& each : *asked) {
      calls::FoundWriter found;
      std::uint64_t offset = each.bucket_offset;
      for (std::uint32_t i = 0; i < calls::kMaxFoundBuckets && offset != 0; ++i) {
        const layout::Bucket bucket = bytes.bucket_at({0, offset});
        found.add_bucket(offset, worker.fabric.at({0, offset}));
        if (!bucket.certified({0, offset}) || bucket.forwarded()) break;
        const auto* const entry =
            std::ranges::find(bucket.entries, each.key_hash, &layout::BucketEntry::key_hash);
        offset = within(bucket.next_offset, layout::kBucket_bytes) ? bucket.next_offset : 0;
        if (entry == bucket.entries.end()) continue;
        if (within(entry->offset(), each.record_bytes + 8))
          found.add_record(entry->offset(), 0, worker.fabric.at({0, entry->offset()}), each.record_bytes);
        break;
      }
      found.finish(reply);
    }
    return {};
  }
  static bool within(std::uint64_t offset, std::uint64_t length) {
    return offset % 8 == 0 && offset <= kRegion_bytes - length;
  }

  std::vector<std::byte> key_;
  std::unique_ptr<ScriptedVisibility> visibility_ = std::make_unique<ScriptedVisibility>();
};

}  // namespace namdb::protocol::testing
