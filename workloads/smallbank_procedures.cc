// SmallBank's six transactions, after Alomari et al., "The Cost of Serializability on Platforms That Use
// Snapshot Isolation" (ICDE 2008), and H-Store. Where the two differ the paper is followed: H-Store's
// amalgamate makes money out of nothing, which no sum could be checked against. Every procedure reads all it
// needs in one fetch: one round trip.
#include "workloads/arguments.h"
#include "workloads/procedures.h"
#include "workloads/smallbank_schema.h"

namespace namdb::workloads {
namespace {

using namespace smallbank;
using procedure::abort_with;
using procedure::Context;
using procedure::Key;
using procedure::RowId;
using procedure::Task;

constexpr std::int64_t kOverdraftPenalty_cents = 100;

RowId get_customer(Context& context, std::size_t table, std::int64_t customer) {
  Key key(context.schema(table));
  key.integer(customer);
  return context.get(table, key.bytes());
}

Status no_such_customer(std::int64_t customer) {
  return abort_with("no account of customer " + std::to_string(customer));
}

Status insufficient_funds(std::int64_t customer) {
  return abort_with("insufficient funds of customer " + std::to_string(customer));
}

// The balance after a change that does not fit 64 bits is an error of the row's writer, not wrapped around.
Status add_to_balance(Context& context, RowId row, std::int64_t amount) {
  std::int64_t balance = 0;
  if (__builtin_add_overflow(context.row(row).integer(kBalanceCents), amount, &balance)) {
    return Status(ErrorCode::numeric_out_of_range, "bigint out of range");
  }
  return context.update(row).set_integer(kBalanceCents, balance);
}

// Moves all that customer 0 has to customer 1's checking account.
Task<Status> amalgamate(Context& context) {
  NAMDB_CO_CHECK(require_arguments(context));
  const std::int64_t from = context.integer(0);
  const std::int64_t to = context.integer(1);
  if (from == to) co_return abort_with("a customer cannot be amalgamated with itself");
  const RowId from_account = get_customer(context, 0, from);
  const RowId to_account = get_customer(context, 0, to);
  const RowId from_savings = get_customer(context, 1, from);
  const RowId from_checking = get_customer(context, 2, from);
  const RowId to_checking = get_customer(context, 2, to);
  NAMDB_CO_CHECK(co_await context.fetch());
  if (!context.found(from_account) || !context.found(from_savings) || !context.found(from_checking)) {
    co_return no_such_customer(from);
  }
  if (!context.found(to_account) || !context.found(to_checking)) co_return no_such_customer(to);
  std::int64_t total = 0;
  if (__builtin_add_overflow(context.row(from_savings).integer(kBalanceCents),
                             context.row(from_checking).integer(kBalanceCents), &total)) {
    co_return Status(ErrorCode::numeric_out_of_range, "bigint out of range");
  }
  NAMDB_CO_CHECK(context.update(from_savings).set_integer(kBalanceCents, 0));
  NAMDB_CO_CHECK(context.update(from_checking).set_integer(kBalanceCents, 0));
  co_return add_to_balance(context, to_checking, total);
}

// The sum of a customer's two balances.
Task<Status> balance(Context& context) {
  NAMDB_CO_CHECK(require_arguments(context));
  const std::int64_t customer = context.integer(0);
  const RowId account = get_customer(context, 0, customer);
  const RowId savings = get_customer(context, 1, customer);
  const RowId checking = get_customer(context, 2, customer);
  NAMDB_CO_CHECK(co_await context.fetch());
  if (!context.found(account) || !context.found(savings) || !context.found(checking)) {
    co_return no_such_customer(customer);
  }
  std::int64_t total = 0;
  if (__builtin_add_overflow(context.row(savings).integer(kBalanceCents),
                             context.row(checking).integer(kBalanceCents), &total)) {
    co_return Status(ErrorCode::numeric_out_of_range, "bigint out of range");
  }
  context.result(0, total);
  co_return Status();
}

Task<Status> deposit_checking(Context& context) {
  NAMDB_CO_CHECK(require_arguments(context));
  const std::int64_t customer = context.integer(0);
  const std::int64_t amount = context.integer(1);
  if (amount < 0) co_return abort_with("a deposit must not be negative");
  const RowId account = get_customer(context, 0, customer);
  const RowId checking = get_customer(context, 1, customer);
  NAMDB_CO_CHECK(co_await context.fetch());
  if (!context.found(account) || !context.found(checking)) co_return no_such_customer(customer);
  co_return add_to_balance(context, checking, amount);
}

Task<Status> send_payment(Context& context) {
  NAMDB_CO_CHECK(require_arguments(context));
  const std::int64_t from = context.integer(0);
  const std::int64_t to = context.integer(1);
  const std::int64_t amount = context.integer(2);
  if (from == to) co_return abort_with("a customer cannot pay itself");
  if (amount < 0) co_return abort_with("a payment must not be negative");
  const RowId from_account = get_customer(context, 0, from);
  const RowId to_account = get_customer(context, 0, to);
  const RowId from_checking = get_customer(context, 1, from);
  const RowId to_checking = get_customer(context, 1, to);
  NAMDB_CO_CHECK(co_await context.fetch());
  if (!context.found(from_account) || !context.found(from_checking)) co_return no_such_customer(from);
  if (!context.found(to_account) || !context.found(to_checking)) co_return no_such_customer(to);
  const std::int64_t from_balance = context.row(from_checking).integer(kBalanceCents);
  if (from_balance < amount) co_return insufficient_funds(from);
  NAMDB_CO_CHECK(context.update(from_checking).set_integer(kBalanceCents, from_balance - amount));
  co_return add_to_balance(context, to_checking, amount);
}

// A deposit, or a withdrawal when the amount is negative, which must leave the balance at least 0.
Task<Status> transact_savings(Context& context) {
  NAMDB_CO_CHECK(require_arguments(context));
  const std::int64_t customer = context.integer(0);
  const std::int64_t amount = context.integer(1);
  const RowId account = get_customer(context, 0, customer);
  const RowId savings = get_customer(context, 1, customer);
  NAMDB_CO_CHECK(co_await context.fetch());
  if (!context.found(account) || !context.found(savings)) co_return no_such_customer(customer);
  std::int64_t after = 0;
  if (__builtin_add_overflow(context.row(savings).integer(kBalanceCents), amount, &after)) {
    co_return Status(ErrorCode::numeric_out_of_range, "bigint out of range");
  }
  if (after < 0) co_return insufficient_funds(customer);
  co_return context.update(savings).set_integer(kBalanceCents, after);
}

// Takes the amount off the checking account, and a penalty when both accounts together do not cover it.
// Result: the amount that was taken.
Task<Status> write_check(Context& context) {
  NAMDB_CO_CHECK(require_arguments(context));
  const std::int64_t customer = context.integer(0);
  const std::int64_t amount = context.integer(1);
  if (amount < 0) co_return abort_with("a check must not be negative");
  const RowId account = get_customer(context, 0, customer);
  const RowId savings = get_customer(context, 1, customer);
  const RowId checking = get_customer(context, 2, customer);
  NAMDB_CO_CHECK(co_await context.fetch());
  if (!context.found(account) || !context.found(savings) || !context.found(checking)) {
    co_return no_such_customer(customer);
  }
  std::int64_t total = 0;
  std::int64_t taken = amount;
  if (__builtin_add_overflow(context.row(savings).integer(kBalanceCents),
                             context.row(checking).integer(kBalanceCents), &total) ||
      (total < amount && __builtin_add_overflow(amount, kOverdraftPenalty_cents, &taken))) {
    co_return Status(ErrorCode::numeric_out_of_range, "bigint out of range");
  }
  NAMDB_CO_CHECK(add_to_balance(context, checking, -taken));
  context.result(0, taken);
  co_return Status();
}

}  // namespace

void register_smallbank(procedure::Registry& registry) {
  const std::vector<std::string> all = {"accounts", "savings", "checking"};
  registry.add({.name = "smallbank_amalgamate",
                .parameters = {{.name = "from_custid"}, {.name = "to_custid"}},
                .results = {},
                .tables = all,
                .run = amalgamate});
  registry.add({.name = "smallbank_balance",
                .parameters = {{.name = "custid"}},
                .results = {{.name = "balance"}},
                .tables = all,
                .run = balance});
  registry.add({.name = "smallbank_deposit_checking",
                .parameters = {{.name = "custid"}, {.name = "amount"}},
                .results = {},
                .tables = {"accounts", "checking"},
                .run = deposit_checking});
  registry.add({.name = "smallbank_send_payment",
                .parameters = {{.name = "from_custid"}, {.name = "to_custid"}, {.name = "amount"}},
                .results = {},
                .tables = {"accounts", "checking"},
                .run = send_payment});
  registry.add({.name = "smallbank_transact_savings",
                .parameters = {{.name = "custid"}, {.name = "amount"}},
                .results = {},
                .tables = {"accounts", "savings"},
                .run = transact_savings});
  registry.add({.name = "smallbank_write_check",
                .parameters = {{.name = "custid"}, {.name = "amount"}},
                .results = {{.name = "taken"}},
                .tables = all,
                .run = write_check});
}

}  // namespace namdb::workloads
