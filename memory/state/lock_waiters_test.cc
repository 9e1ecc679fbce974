// Calls that wait for locks while others take and release them.
#include "memory/state/lock_waiters.h"

#include <catch2/catch.hpp>
#include <optional>

#include "memory/testing/test_cluster.h"

namespace namdb::memory {
namespace {

using layout::HeaderWord;
using layout::Stamp;
using testing::TestClient;
using testing::TestCluster;

const HeaderWord kFree(Stamp{20, 7});
const HeaderWord kHolder(Stamp{21, 100}, false, true);
const HeaderWord kOld(Stamp{22, 10}, false, true);
const HeaderWord kOlder(Stamp{23, 9}, false, true);

// A call that waits, and its answer.
struct Waiting {
  reactor::Task<void> run() {
    fabric::Call call;
    call.method = calls::kLockMethod;
    call.request = request;
    channel->post(call);
    status = co_await call.done();
    for (std::size_t i = 0; i + 8 <= call.reply.size(); i += 8)
      found.emplace_back(layout::load_word(reinterpret_cast<const std::byte*>(call.reply.data() + i)));
    answered = true;
  }
  fabric::Channel* channel = nullptr;
  std::string request;
  Status status;
  std::vector<HeaderWord> found;
  bool answered = false;
};

class Locks {
 public:
  Locks() {
    client_ = cluster_.client("c");
    REQUIRE(client_->connect(testing::hello('a')).ok());
    const auto table = client_->create(testing::accounts("accounts"));
    REQUIRE(table.ok());
    const auto records = client_->allocate(table.value().id(), 2);
    REQUIRE(records.ok());
    records_ = *records;
  }
  ~Locks() { REQUIRE(gate_.count() == 0); }
  void set(std::size_t record, HeaderWord word) { cluster_.store(records_[record], word.value()); }
  HeaderWord word(std::size_t record) const { return HeaderWord(cluster_.load(records_[record])); }
  std::string request(std::size_t record, HeaderWord seen, HeaderWord own) const {
    std::string bytes;
    append(bytes, calls::LockRequest{records_[record], seen, own});
    return bytes;
  }
  void ask(Waiting& waiting, std::string request) {
    waiting.channel = &client_->channel();
    waiting.request = std::move(request);
    client_->node().spawn(gate_, waiting.run());
  }
  void run_for(std::uint64_t duration_ns) { cluster_.run_for(duration_ns); }

 private:
  TestCluster cluster_;
  std::unique_ptr<TestClient> client_;
  std::vector<std::uint64_t> records_;
  reactor::Gate gate_;
};

constexpr std::uint64_t kSoon_ns = LockWaiters::kPatience_ns / 4;
constexpr std::uint64_t kLong_ns = 2 * LockWaiters::kPatience_ns;

}  // namespace

TEST_CASE("a call that waits for a lock is answered when it has it", "[memory]") {
  Locks locks;
  locks.set(0, kHolder);
  Waiting waiting;
  locks.ask(waiting, locks.request(0, kHolder, kOld));
  locks.run_for(kSoon_ns);
  CHECK_FALSE(waiting.answered);
  locks.set(0, kFree);
  locks.run_for(kSoon_ns);
  REQUIRE(waiting.answered);
  REQUIRE(waiting.status.ok());
  CHECK(waiting.found == std::vector{kFree});
  CHECK(locks.word(0) == kOld);
}

TEST_CASE("of several calls that wait for a lock the oldest gets it, and the others are told of it",
          "[memory]") {
  Locks locks;
  locks.set(0, kHolder);
  Waiting old;
  Waiting older;
  locks.ask(old, locks.request(0, kHolder, kOld));
  locks.run_for(kSoon_ns);
  locks.ask(older, locks.request(0, kHolder, kOlder));
  locks.run_for(kSoon_ns);
  locks.set(0, kFree);
  locks.run_for(kSoon_ns);
  REQUIRE(old.answered);
  REQUIRE(older.answered);
  CHECK(older.found == std::vector{kFree});
  CHECK(old.found == std::vector{kOlder});
  CHECK(locks.word(0) == kOlder);
}

TEST_CASE("a lock that stays is waited for a moment only, and another holder's not at all", "[memory]") {
  Locks locks;
  locks.set(0, kHolder);
  locks.set(1, kFree);
  Waiting late;
  Waiting other;
  locks.ask(late, locks.request(0, kHolder, kOld) + locks.request(1, kHolder, kOld));
  locks.ask(other, locks.request(0, kOlder, kOld));
  locks.run_for(kSoon_ns);
  CHECK_FALSE(late.answered);
  REQUIRE(other.answered);
  CHECK(other.found == std::vector{kHolder});
  locks.run_for(kLong_ns);
  REQUIRE(late.answered);
  CHECK(late.found == std::vector{kHolder, kFree});  // what is free is taken, if not waited for
  CHECK(locks.word(0) == kHolder);
  CHECK(locks.word(1) == kOld);
}

}  // namespace namdb::memory
