#include "compute/protocol/two_phase_locking/header_guesses.h"

#include <catch2/catch.hpp>

#include "compute/txn/transaction_registry.h"

namespace namdb::protocol {
namespace {

const layout::GlobalAddress kRecord(2, 4096);
constexpr layout::HeaderWord kWord(layout::Stamp{20, 7});

}  // namespace

TEST_CASE("a guess is good until a reuse epoch is learned", "[txn]") {
  txn::TransactionRegistry registry;
  HeaderGuesses guesses(16);
  guesses.note(kRecord, kWord, registry.learned());
  CHECK(guesses.find(kRecord, registry.learned()) == kWord);
  CHECK_FALSE(guesses.find(layout::GlobalAddress(1, 4096), registry.learned()));
  registry.learn(0, 0, 5, 0);  // a newer catalog frees nothing
  CHECK(guesses.find(kRecord, registry.learned()) == kWord);
  registry.learn(1, 1, 0, 0);
  CHECK_FALSE(guesses.find(kRecord, registry.learned()));
}

TEST_CASE("a lease is known as long as the guess of its record is, whatever header words come", "[txn]") {
  txn::TransactionRegistry registry;
  HeaderGuesses guesses(16);
  guesses.note_lease(kRecord, 5, registry.learned());
  CHECK(guesses.find_lease(kRecord, registry.learned()) == 0);  // the record is not noted
  guesses.note(kRecord, kWord, registry.learned());
  CHECK(guesses.find_lease(kRecord, registry.learned()) == 0);
  guesses.note_lease(kRecord, 7, registry.learned());
  guesses.note(kRecord, layout::HeaderWord(layout::Stamp{20, 8}), registry.learned());
  CHECK(guesses.find_lease(kRecord, registry.learned()) == 7);
  CHECK(guesses.find_lease(layout::GlobalAddress(1, 4096), registry.learned()) == 0);
  registry.learn(1, 1, 0, 0);
  CHECK(guesses.find_lease(kRecord, registry.learned()) == 0);
  guesses.note(kRecord, kWord, registry.learned());
  CHECK(guesses.find_lease(kRecord, registry.learned()) == 0);  // it may be another record's memory
}

}  // namespace namdb::protocol
