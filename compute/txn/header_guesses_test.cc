#include "compute/txn/header_guesses.h"

#include <catch2/catch.hpp>

#include "compute/txn/priority_clock.h"
#include "compute/txn/transaction_registry.h"

namespace namdb::txn {
namespace {

const layout::GlobalAddress kRecord(2, 4096);
constexpr layout::HeaderWord kWord(layout::Stamp{20, 7});

class SetClock : public Clock {
 public:
  std::uint64_t now_ns() const override { return now; }
  std::uint64_t now = 1'000'000'000;
};

}  // namespace

TEST_CASE("a guess is good until a reuse epoch is learned", "[txn]") {
  TransactionRegistry registry;
  HeaderGuesses guesses(16);
  guesses.note(kRecord, kWord, registry.learned());
  CHECK(guesses.find(kRecord, registry.learned()) == kWord);
  CHECK_FALSE(guesses.find(layout::GlobalAddress(1, 4096), registry.learned()));
  registry.learn(0, 0, 5, 0);  // a newer catalog frees nothing
  CHECK(guesses.find(kRecord, registry.learned()) == kWord);
  registry.learn(1, 1, 0, 0);
  CHECK_FALSE(guesses.find(kRecord, registry.learned()));
}

TEST_CASE("priorities grow, are never given twice, and follow the greatest that is met", "[txn]") {
  SetClock clock;
  PriorityClock priorities(clock);
  std::uint32_t last = priorities.next();
  for (int i = 0; i < 1000; ++i) {
    const std::uint32_t next = priorities.next();
    CHECK(layout::later(next, last));
    last = next;
  }
  priorities.meet(last + 50'000);
  const std::uint32_t after = priorities.next();
  CHECK(layout::later(after, last + 49'999));
  priorities.meet(last);  // an older one changes nothing
  CHECK(priorities.next() == after + 1);
  clock.now += std::uint64_t{1} << 46;  // the 32 bits have gone round many times
  for (int i = 0; i < 10; ++i) CHECK(priorities.next() != 0);
}

}  // namespace namdb::txn
