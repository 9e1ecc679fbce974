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

Status keep(Run& run, const Expr& expr, const GatheredRows& portion, GatheredMemory& memory,
            SubqueryRows& rows) {
  rows.rows += portion.size();
  if (expr.kind == ExprKind::exists) return {};
  for (std::size_t i = 0; i < portion.size() && expr.kind == ExprKind::scalar_subquery; ++i) {
    for (const Datum& value : portion[i]) {
      const std::size_t bytes = sizeof(Datum) + (value.null ? 0 : value.text.size());
      if (Status status = memory.add(run.client_memory, bytes); !status.ok()) return status;
      rows.values.push_back(rows.arena.keep(value));
    }
  }
  if (expr.kind == ExprKind::scalar_subquery) return {};
  for (std::size_t i = 0; i < portion.size(); ++i) {
    const Datum& value = portion[i][0];
    rows.has_null = rows.has_null || value.null;
    if (tests_equality(expr)) {
      if (value.null) continue;
      std::string bytes;
      append_equal_bytes(bytes, expr.args[0]->type.id, value);
      run.work.charge_bytes(bytes.size());
      bool is_new = false;
      Status status = add_seen(rows.equal, std::move(bytes), memory, run.client_memory, is_new);
      if (!status.ok()) return status;
      continue;
    }
    const std::size_t bytes = sizeof(Datum) + (value.null ? 0 : value.text.size());
    if (Status status = memory.add(run.client_memory, bytes); !status.ok()) return status;
    rows.values.push_back(rows.arena.keep(value));
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
  const std::unique_ptr<Query> query = run->start_query(expr->subquery->query);
  const std::uint64_t wanted = wanted_rows(*expr);
  while (rows->rows < wanted) {
    const std::uint64_t portion_rows = std::min(kPortionRows, wanted - rows->rows);
    portion.clear();
    Status status = co_await query->fetch(nested, portion_rows);
    if (status.ok()) status = keep(nested, *expr, portion, *memory, *rows);
    if (!status.ok()) co_return status;
    if (query->done() || portion.size() < portion_rows) break;
  }
  co_return Status();
}

}  // namespace namdb::sql
