#include "compute/procedure/testing/procedures.h"

namespace namdb::sqltest {
namespace {

using layout::ColumnType;
using procedure::Context;
using procedure::Key;
using procedure::RowId;
using procedure::Task;

// transfer(source bigint, target bigint, amount numeric(12,2)) over accounts(id bigint, balance
// numeric(12,2)).
Task<Status> transfer(Context& context) {
  Key from(context.schema(0));
  from.integer(context.integer(0));
  Key to(context.schema(0));
  to.integer(context.integer(1));
  const RowId source = context.get(0, from.bytes());
  const RowId target = context.get(0, to.bytes());
  NAMDB_CO_CHECK(co_await context.fetch());
  if (!context.found(source) || !context.found(target)) co_return procedure::abort_with("no such account");
  const std::int64_t amount = context.integer(2);
  const std::int64_t balance = context.row(source).integer(1) - amount;
  if (balance < 0) co_return procedure::abort_with("insufficient funds");
  NAMDB_CO_CHECK(context.update(source).set_integer(1, balance));
  NAMDB_CO_CHECK(context.update(target).set_integer(1, context.row(target).integer(1) + amount));
  context.result(0, balance);
  co_return Status();
}

// pay_by_name(district integer, last text, amount bigint) over customers(district integer, id integer, last
// varchar, first varchar, balance bigint): of those with that name the one in the middle, by first names,
// pays; also tells who is the last of the district's customers by name.
Task<Status> pay_by_name(Context& context) {
  const procedure::IndexShape* by_name = context.index(0, "customers_by_name");
  if (by_name == nullptr) co_return Status(ErrorCode::undefined_object, "customers_by_name is not there");
  procedure::IndexPrefix district(*by_name);
  district.integer(context.integer(0));
  procedure::IndexRange last_one = index_range(district);
  last_one.descending = true;
  last_one.limit = 1;
  std::vector<RowId> rows;
  NAMDB_CO_CHECK(co_await context.find(0, "customers_by_name", std::move(last_one), rows));
  if (!rows.empty()) context.result(2, std::string(context.row(rows[0]).text(2)));
  procedure::IndexRange named = index_range(district.text(context.text(1)));
  NAMDB_CO_CHECK(co_await context.find(0, "customers_by_name", std::move(named), rows));
  if (rows.empty()) co_return procedure::abort_with("no such customer");
  const RowId payer = rows[(rows.size() - 1) / 2];
  const std::int64_t balance = context.row(payer).integer(4) - context.integer(2);
  NAMDB_CO_CHECK(context.update(payer).set_integer(4, balance));
  context.result(0, std::string(context.row(payer).text(3)));
  context.result(1, static_cast<std::int64_t>(rows.size()));
  co_return Status();
}

// Gives back its arguments.
Task<Status> echo(Context& context) {
  for (std::size_t i = 0; i < context.arguments().size(); ++i) context.result(i, context.arguments()[i]);
  co_return Status();
}

Task<Status> nothing(Context&) {
  co_return Status();
}

}  // namespace

void add_test_procedures(procedure::Registry& registry) {
  registry.add({.name = "transfer",
                .parameters = {{"source", ColumnType::bigint},
                               {"target", ColumnType::bigint},
                               {"amount", ColumnType::numeric, 12, 2}},
                .results = {{"balance", ColumnType::numeric, 12, 2}},
                .tables = {"accounts"},
                .run = transfer});
  registry.add({.name = "pay_by_name",
                .parameters = {{"district", ColumnType::integer},
                               {"last", ColumnType::text},
                               {"amount", ColumnType::bigint}},
                .results = {{"first", ColumnType::text},
                            {"namesakes", ColumnType::bigint},
                            {"last_of_all", ColumnType::text}},
                .tables = {"customers"},
                .run = pay_by_name});
  registry.add({.name = "echo",
                .parameters = {{"a", ColumnType::integer},
                               {"b", ColumnType::text},
                               {"c", ColumnType::double_precision},
                               {"d", ColumnType::boolean},
                               {"e", ColumnType::timestamp},
                               {"f", ColumnType::numeric, 10, 3}},
                .results = {{"a", ColumnType::integer},
                            {"b", ColumnType::text},
                            {"c", ColumnType::double_precision},
                            {"d", ColumnType::boolean},
                            {"e", ColumnType::timestamp},
                            {"f", ColumnType::numeric, 10, 3}},
                .tables = {},
                .run = echo});
  registry.add({.name = "nothing", .parameters = {}, .results = {}, .tables = {}, .run = nothing});
  registry.add({.name = "needs_missing_table",
                .parameters = {},
                .results = {},
                .tables = {"never_created"},
                .run = nothing});
}

}  // namespace namdb::sqltest
