// Space for records that is asked for ahead of its use.
#include "compute/txn/record_space.h"

#include <catch2/catch.hpp>
#include <vector>

#include "compute/testing/test_worker.h"

namespace namdb::protocol::testing {
namespace record_space_test {

// A memory server with endless memory, which counts the records that it grants.
struct Subject {
  Subject() {
    worker.fabric.handle(control::ALLOCATE_RECORDS, [this](std::string_view bytes, std::string& reply) {
      control::AllocateRecordsRequest request;
      REQUIRE(request.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())));
      ++calls;
      if (full) return Status(ErrorCode::out_of_memory, "full");
      const std::uint64_t count = std::min<std::uint64_t>(request.count(), 1024);
      control::AllocateReply granted;
      granted.set_grant(calls);
      auto* range = granted.add_ranges();
      range->set_offset(offset);
      range->set_length_bytes(count * worker.table->record.record_bytes());
      // The same place each time: nothing is written there.
      records += count;
      reply = granted.SerializeAsString();
      return Status();
    });
  }
  void expect(std::uint64_t count) {
    worker.space.expect_records(worker.table, 0, count);
    worker.executor.run_ready();
  }
  Status take() { return worker.run(worker.space.take_record(*worker.table, 0, worker.counters)).status(); }

  std::uint64_t calls = 0;
  std::uint64_t records = 0;
  std::uint64_t offset = kArray_offset;
  bool full = false;
  TestWorker worker;
};

TEST_CASE("records that are expected are taken without a call", "[record-space]") {
  Subject subject;
  subject.expect(500);
  CHECK(subject.records >= 500);
  const std::uint64_t calls = subject.calls;
  subject.expect(500);
  txn::RecordSpace::Records taken;
  subject.worker.space.take_reserved(*subject.worker.table, 0, 400, taken);
  CHECK(taken.size() == 400);
  for (int i = 0; i < 100; ++i) REQUIRE(subject.take().ok());
  CHECK(subject.calls == calls);
}

TEST_CASE("no more records are asked for than are left to be taken", "[record-space]") {
  Subject subject;
  // The transaction commits while the memory server is still being asked.
  subject.worker.space.expect_records(subject.worker.table, 0, 3000);
  for (int i = 0; i < 3000; ++i) REQUIRE(subject.take().ok());
  subject.worker.executor.run_ready();
  CHECK(subject.records < 2 * 3000);
}

TEST_CASE("a memory server that is full is asked once, until records are taken", "[record-space]") {
  Subject subject;
  subject.full = true;
  subject.expect(500);
  CHECK(subject.calls == 1);
  txn::RecordSpace::Records taken;
  subject.worker.space.take_reserved(*subject.worker.table, 0, 400, taken);
  CHECK(taken.empty());
  CHECK(subject.take().code() == ErrorCode::out_of_memory);
  subject.full = false;
  CHECK(subject.take().ok());
}

TEST_CASE("records that were not used go back in calls of a bounded length", "[record-space]") {
  Subject subject;
  std::vector<std::uint64_t> returned;
  subject.worker.fabric.handle(control::RETURN_MEMORY, [&](std::string_view bytes, std::string& /*reply*/) {
    control::ReturnMemoryRequest request;
    REQUIRE(request.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())));
    returned.push_back(0);
    for (const control::Range& range : request.ranges())
      returned.back() += range.length_bytes() / subject.worker.table->record.record_bytes();
    return Status();
  });
  subject.expect(10'000);
  subject.worker.run(subject.worker.space.return_all());
  CHECK(returned.size() > 2);
  std::uint64_t sum = 0;
  for (const std::uint64_t records : returned) {
    CHECK(records <= 4096);
    sum += records;
  }
  CHECK(sum == subject.records);
}

}  // namespace record_space_test
}  // namespace namdb::protocol::testing
