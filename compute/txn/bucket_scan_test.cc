// The waits of scans are accounted for as those of lookups are.
#include "compute/txn/bucket_scan.h"

#include <catch2/catch.hpp>
#include <string>

#include "compute/testing/protocol_scene.h"

namespace namdb::protocol::testing {
namespace {

constexpr std::size_t kBatches =
    30;  // until the bytes are whole: more than turns are waited for without sleep

// Of a client that waits for as long as it takes.
class NotedWait final : public txn::Interrupt {
 public:
  Status check() const override { return {}; }
  Status check_wait(layout::GlobalAddress held, std::uint64_t /*since_ns*/) const override {
    held_ = held;
    return {};
  }
  layout::GlobalAddress held() const { return held_; }

 private:
  mutable layout::GlobalAddress held_;
};

// The row of key 1, alone in the second bucket of its chain.
class WaitScene : public ProtocolScene {
 public:
  // `wait` outlives it.
  explicit WaitScene(const NotedWait& wait) : ProtocolScene({.protocol = "si"}) {
    worker.publish(0, {16, 100});
    no_rows();
    bytes.bucket(bytes.main_bucket(1),
                 {.lock = lock_word({16, 50}), .entries = {}, .next_offset = kBucketBehind.offset()});
    write_bucket();
    bytes.record(kRecord, {.value = 41});
    again();
    transaction->set_interrupt(&wait);
    REQUIRE(begin().ok());
    worker.times = {};
  }
  void write_bucket() { bytes.bucket(kBucketBehind, {.entries = {bytes.entry(1, kRecord)}}); }
  // The value of the row, by its key or by a scan.
  std::string find(bool by_scan) {
    if (!by_scan) return fetched(read(1));
    const auto scan = transaction->scan(worker.table);
    std::vector<layout::Row> rows;
    const Status status = worker.run(scan->next(rows));
    if (!status.ok()) return words_of(status);
    REQUIRE(rows.size() == 1);
    return std::to_string(value_of(*worker.table, rows[0].bytes()));
  }
};

}  // namespace

TEST_CASE("a scan and a lookup that wait for the same chain or record name the same lock, and count the time",
          "[scan]") {
  const bool by_scan = GENERATE(false, true);
  const bool for_record = GENERATE(false, true);
  CAPTURE(by_scan, for_record);
  const NotedWait wait;
  WaitScene scene(wait);
  if (for_record) {
    scene.bytes.record(kRecord, lock_word({16, 50}), {.value = 40});
    scene.worker.fabric.before_batch(kBatches, [&scene] { scene.bytes.record(kRecord, {.value = 41}); });
  } else {
    scene.bytes.tear_bucket(kBucketBehind);
    scene.worker.fabric.before_batch(kBatches, [&scene] { scene.write_bucket(); });
  }
  const std::uint64_t began_ns = scene.worker.executor.now_ns();
  CHECK(scene.find(by_scan) == "41");
  CHECK(wait.held() == (for_record ? kRecord : scene.bytes.main_bucket(1)));
  // Nothing else takes time here.
  const txn::StageTimes::Cost& held = scene.worker.times.of(txn::Wait::locked_by_other);
  CHECK(held.time_ns > 0);
  CHECK(held.time_ns == scene.worker.executor.now_ns() - began_ns);
}

}  // namespace namdb::protocol::testing
