#include "compute/sql/execute/lateral_rows.h"

#include <vector>

namespace namdb::sql {

reactor::Task<Status> LateralRows::read(Run* run, std::span<const Datum> before) {
  rows_.clear();
  next_ = 0;
  memory_ = std::make_unique<GatheredMemory>("a LATERAL subquery can keep", "select fewer rows in it");
  std::vector<Datum> arguments(source_.lateral.size());
  EvalContext context = run->context();
  context.values = before;
  const auto evaluate_all = [&] {
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      if (Status status = evaluate(*source_.lateral[i], context, arguments[i]); !status.ok()) return status;
    }
    return Status();
  };
  Status status = evaluate_all();
  if (run->work.paused()) status = co_await run->resume(evaluate_all);
  if (!status.ok()) co_return status;
  // Of its own: the expressions of the join have not ended.
  Arena arena;
  Work work;
  Run nested = run->nested(rows_, arena, work, arguments);
  const std::unique_ptr<Query> query = run->start_query(*source_.derived->query);
  std::size_t kept_bytes = 0;
  while (!query->done()) {
    status = co_await query->fetch(nested, kPortionRows);
    if (status.ok() && rows_.bytes() > kept_bytes) {
      status = memory_->add(run->client_memory, rows_.bytes() - kept_bytes);
      kept_bytes = rows_.bytes();
    }
    if (!status.ok()) co_return status;
  }
  co_return Status();
}

}  // namespace namdb::sql
