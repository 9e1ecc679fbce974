#include <catch2/catch.hpp>
#include <limits>

#include "workloads/procedures.h"
#include "workloads/smallbank_schema.h"
#include "workloads/smallbank_workload.h"
#include "workloads/testing/memory_database.h"

using namespace namdb;
using namespace namdb::workloads;
using namespace namdb::workloads::smallbank;

namespace {

struct Bank {
  Bank() : workload(std::move(make_smallbank({.accounts = 10})).value()) {
    register_smallbank(database);
    database.load(*workload);
  }
  std::int64_t savings(std::int64_t customer) const { return balance("savings", customer); }
  std::int64_t checking(std::int64_t customer) const { return balance("checking", customer); }
  std::int64_t balance(const std::string& table, std::int64_t customer) const {
    return database.find(table, {customer})->view().integer(kBalanceCents);
  }
  testing::MemoryDatabase::Outcome call(const std::string& name, std::vector<procedure::Value> arguments) {
    testing::MemoryDatabase::Outcome outcome = database.run("smallbank_" + name, std::move(arguments));
    CHECK(outcome.fetches <= 1);
    return outcome;
  }
  void check_refused(const std::string& name, std::vector<procedure::Value> arguments, ErrorCode code) {
    const std::int64_t before = database.value(*workload, workload->checks()[0]);
    const Status status = call(name, std::move(arguments)).status;
    REQUIRE_FALSE(status.ok());
    CHECK(status.code() == code);
    CHECK(database.value(*workload, workload->checks()[0]) == before);
  }

  std::unique_ptr<Workload> workload;
  testing::MemoryDatabase database;
};

procedure::Value number(std::int64_t value) {
  return value;
}

}  // namespace

TEST_CASE("send_payment moves money from one checking account to another") {
  Bank bank;
  const std::int64_t from = bank.checking(1);
  const std::int64_t to = bank.checking(2);
  CHECK(bank.call("send_payment", {number(1), number(2), number(500)}).status.ok());
  CHECK(bank.checking(1) == from - 500);
  CHECK(bank.checking(2) == to + 500);
  // All of it, and then nothing more.
  CHECK(bank.call("send_payment", {number(1), number(2), number(from - 500)}).status.ok());
  CHECK(bank.checking(1) == 0);
  bank.check_refused("send_payment", {number(1), number(2), number(1)}, ErrorCode::procedure_abort);
}

TEST_CASE("amalgamate leaves the first customer with nothing and makes no money") {
  Bank bank;
  const std::int64_t all = bank.savings(3) + bank.checking(3) + bank.checking(4);
  const std::int64_t savings = bank.savings(4);
  CHECK(bank.call("amalgamate", {number(3), number(4)}).status.ok());
  CHECK(bank.savings(3) == 0);
  CHECK(bank.checking(3) == 0);
  CHECK(bank.checking(4) == all);
  CHECK(bank.savings(4) == savings);
}

TEST_CASE("balance returns both accounts together") {
  Bank bank;
  const auto outcome = bank.call("balance", {number(5)});
  REQUIRE(outcome.status.ok());
  CHECK(std::get<std::int64_t>(outcome.results[0]) == bank.savings(5) + bank.checking(5));
}

TEST_CASE("deposits and withdrawals change one account") {
  Bank bank;
  const std::int64_t checking = bank.checking(6);
  const std::int64_t savings = bank.savings(6);
  CHECK(bank.call("deposit_checking", {number(6), number(130)}).status.ok());
  CHECK(bank.call("transact_savings", {number(6), number(-1000)}).status.ok());
  CHECK(bank.checking(6) == checking + 130);
  CHECK(bank.savings(6) == savings - 1000);
  bank.check_refused("transact_savings", {number(6), number(-savings)}, ErrorCode::procedure_abort);
}

TEST_CASE("write_check takes a penalty when both accounts do not cover it") {
  Bank bank;
  const std::int64_t all = bank.checking(7) + bank.savings(7);
  const std::int64_t checking = bank.checking(7);
  const auto covered = bank.call("write_check", {number(7), number(all)});
  REQUIRE(covered.status.ok());
  CHECK(std::get<std::int64_t>(covered.results[0]) == all);
  CHECK(bank.checking(7) == checking - all);
  const auto overdrawn = bank.call("write_check", {number(7), number(1)});
  REQUIRE(overdrawn.status.ok());
  CHECK(std::get<std::int64_t>(overdrawn.results[0]) == 101);
  CHECK(bank.checking(7) == checking - all - 101);
}

TEST_CASE("SmallBank's procedures refuse what makes no sense, and change nothing") {
  Bank bank;
  const procedure::Value huge = std::numeric_limits<std::int64_t>::max();
  bank.check_refused("send_payment", {number(1), number(1), number(5)}, ErrorCode::procedure_abort);
  bank.check_refused("send_payment", {number(1), number(2), number(-5)}, ErrorCode::procedure_abort);
  bank.check_refused("send_payment", {number(1), number(10), number(5)}, ErrorCode::procedure_abort);
  bank.check_refused("send_payment", {number(-1), number(2), number(5)}, ErrorCode::procedure_abort);
  bank.check_refused("send_payment", {procedure::Value(), number(2), number(5)}, ErrorCode::procedure_abort);
  bank.check_refused("amalgamate", {number(1), number(1)}, ErrorCode::procedure_abort);
  bank.check_refused("amalgamate", {number(11), number(1)}, ErrorCode::procedure_abort);
  bank.check_refused("balance", {number(10)}, ErrorCode::procedure_abort);
  bank.check_refused("deposit_checking", {number(1), number(-1)}, ErrorCode::procedure_abort);
  bank.check_refused("deposit_checking", {number(1), huge}, ErrorCode::numeric_out_of_range);
  bank.check_refused("transact_savings", {number(1), huge}, ErrorCode::numeric_out_of_range);
  bank.check_refused("write_check", {number(1), huge}, ErrorCode::numeric_out_of_range);
}

TEST_CASE("a mix of SmallBank calls changes the sum of balances by what the calls say") {
  Bank bank;
  const std::int64_t before = bank.database.value(*bank.workload, bank.workload->checks()[0]);
  std::int64_t change = 0;
  const std::unique_ptr<CallSource> client = bank.workload->open_client(0, 1);
  Call call;
  int committed = 0;
  for (int i = 0; i < 5000; ++i) {
    client->next(call);
    const std::string& procedure = bank.workload->transactions()[call.type].procedure;
    const auto outcome = bank.database.run(procedure, call.arguments);
    if (!outcome.status.ok()) {
      CHECK(outcome.status.code() == ErrorCode::procedure_abort);
      continue;
    }
    ++committed;
    change += bank.workload->call_change(call, outcome.results);
  }
  CHECK(committed > 3000);
  CHECK(change != 0);
  CHECK(bank.database.value(*bank.workload, bank.workload->checks()[0]) == before + change);
}
