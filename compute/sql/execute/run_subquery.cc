#include "compute/sql/execute/run_subquery.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "compute/sql/execute/gathered_memory.h"
#include "compute/sql/execute/gathered_rows.h"
#include "compute/sql/plan/plan.h"
#include "compute/sql/value/equal_bytes.h"

namespace namdb::sql {
namespace {

// EXISTS needs one row, and a scalar subquery must not have two.
std::uint64_t wanted_rows(const Expr& expr) {
  return expr.kind == ExprKind::exists ? 1 : expr.kind == ExprKind::scalar_subquery ? 2 : ~std::uint64_t{0};
}

Status keep_values(Run& run, std::span<const Datum> values, GatheredMemory& memory, SubqueryRows& rows) {
  for (const Datum& value : values) {
    const std::size_t bytes = sizeof(Datum) + (value.null ? 0 : value.text.size());
    if (Status status = memory.add(run.client_memory, bytes); !status.ok()) return status;
    rows.values.push_back(rows.arena.keep(value));
  }
  return {};
}

Status keep_equal_bytes(Run& run, const Expr& expr, std::span<const Datum> values, GatheredMemory& memory,
                        SubqueryRows& rows) {
  std::string bytes;
  for (std::size_t i = 0; i < values.size(); ++i) append_equal_bytes(bytes, expr.args[i]->type.id, values[i]);
  run.work.charge_bytes(bytes.size());
  bool is_new = false;
  return add_seen(rows.equal, std::move(bytes), memory, run.client_memory, is_new);
}

Status keep(Run& run, const Expr& expr, const GatheredRows& portion, GatheredMemory& memory,
            SubqueryRows& rows) {
  rows.rows += portion.size();
  if (expr.kind == ExprKind::exists) return {};
  const std::size_t tests = tested_columns(expr);
  for (std::size_t i = 0; i < portion.size(); ++i) {
    // Of a query with an order there may be more.
    const std::span<const Datum> row = portion[i];
    const std::span<const Datum> values =
        expr.kind == ExprKind::scalar_subquery ? row : row.first(std::max<std::size_t>(tests, 1));
    const bool has_null = std::ranges::any_of(values, &Datum::null);
    rows.has_null = rows.has_null || has_null;
    if (tests_equality(expr) && !has_null) {
      if (Status status = keep_equal_bytes(run, expr, values, memory, rows); !status.ok()) return status;
    }
    // One value is found by its bytes, or it is NULL. Of a row with NULLs the other columns count.
    if (tests_equality(expr) && tests == 1) continue;
    if (Status status = keep_values(run, values, memory, rows); !status.ok()) return status;
  }
  return {};
}

}  // namespace

reactor::Task<Status> run_subquery(Run* run, const Expr* expr, std::span<const Datum> outer,
                                   SubqueryRows* rows) {
  GatheredRows portion;
  // Of its own: the expression around it has not ended.
  Arena arena;
  Work work;
  const auto memory = std::make_shared<GatheredMemory>("a subquery can keep", "EXISTS keeps no rows");
  rows->memory = memory;
  Run nested = run->nested(portion, arena, work, outer);
  const std::unique_ptr<Query> query = run->start_query(planned_query(*expr->subquery));
  const std::uint64_t wanted = wanted_rows(*expr);
  while (rows->rows < wanted) {
    const std::uint64_t portion_rows = std::min(kPortionRows, wanted - rows->rows);
    portion.clear();
    if (Status status = co_await query->fetch(nested, portion_rows); !status.ok()) co_return status;
    if (Status status = keep(nested, *expr, portion, *memory, *rows); !status.ok()) co_return status;
    if (query->done() || portion.size() < portion_rows) break;
  }
  co_return Status();
}

}  // namespace namdb::sql
