#include "compute/sql/execute/virtual_feed.h"

#include <memory>
#include <utility>

#include "compute/sql/execute/gathered_memory.h"
#include "compute/sql/execute/run.h"
#include "compute/sql/execute/wanted_relation.h"
#include "compute/sql/system/catalog_rows.h"

namespace namdb::sql {

Status VirtualFeed::count(Run& run, const SystemRelation& relation, CatalogRows& made) {
  const std::size_t row_bytes = sizeof(made.rows[0]) + (relation.columns.size() + 1) * sizeof(Datum);
  const auto memory = std::make_shared<GatheredMemory>("the rows of a system catalog can take",
                                                       "fewer tables, or fewer columns of them, take less");
  made.memory = memory;
  return memory->add(run.client_memory, made.rows.size() * row_bytes + made.arena.allocated_bytes());
}

Status VirtualFeed::load_catalog(Run& run) {
  const SystemRelation& relation = *table_.relation;
  const auto before = run.state.catalog_rows.find(&relation);
  if (before != run.state.catalog_rows.end()) {
    rows_ = before->second->rows;
    return {};
  }
  auto made = std::make_unique<CatalogRows>();
  VirtualTableInput input{&run.engine, &run.statistics,         &made->arena,
                          &run.facts,  run.state.catalog.get(), {}};
  input.wanted = wanted_relation(source_, joined_, run);
  made->rows = catalog_rows(relation, input);
  rows_ = made->rows;
  Status status = count(run, relation, *made);
  if (!input.wanted.is_all()) {
    wanted_rows_ = std::move(made);
  } else if (status.ok()) {
    run.state.catalog_rows.emplace(&relation, std::move(made));
  }
  return status;
}

reactor::Task<Status> VirtualFeed::load(Run& run, std::uint64_t /*expected*/) {
  exhausted_ = true;
  if (table_.relation != nullptr) {
    if (Status status = co_await run.read_catalog(); !status.ok()) co_return status;
    if (Status status = load_catalog(run); !status.ok()) co_return status;
  } else {
    VirtualTableInput input{&run.engine, &run.statistics, &own_arena_, &run.facts, nullptr, {}};
    Result<VirtualRows> rows = co_await table_.rows(input);
    if (!rows.ok()) co_return rows.status();
    own_rows_ = std::move(rows).value();
    rows_ = own_rows_;
  }
  run.work.charge(rows_.size() * Work::kRow_units);
  co_return Status();
}

void VirtualFeed::show(const Run& /*run*/, std::size_t row, EvalContext& context) {
  context.values = rows_[row];
}

}  // namespace namdb::sql
