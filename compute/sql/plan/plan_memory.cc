#include "compute/sql/plan/plan_memory.h"

#include "compute/sql/plan/window.h"

namespace namdb::sql {
namespace {

constexpr std::size_t kAllocation_bytes = 16;  // that each costs beside what was asked for

std::size_t bytes_of(const std::string& text) {
  return text.capacity() < sizeof(std::string) / 2 ? 0 : text.capacity() + kAllocation_bytes;
}

std::size_t bytes_of(const Subquery& subquery);

std::size_t bytes_of(const ExprPtr& expr) {
  if (expr == nullptr) return 0;
  std::size_t bytes = sizeof(Expr) + kAllocation_bytes;
  if (expr->storage != nullptr) bytes += sizeof(std::string) + kAllocation_bytes + bytes_of(*expr->storage);
  if (!expr->args.empty()) bytes += expr->args.capacity() * sizeof(ExprPtr) + kAllocation_bytes;
  for (const ExprPtr& argument : expr->args) bytes += bytes_of(argument);
  if (expr->subquery != nullptr) bytes += bytes_of(*expr->subquery);
  if (expr->routine != nullptr) bytes += sizeof(RoutineCall) + kAllocation_bytes;
  return bytes;
}

std::size_t bytes_of(const Type&) {
  return 0;
}
std::size_t bytes_of(const storage::TableRef&) {
  return 0;
}
std::size_t bytes_of(const layout::IndexColumn&) {
  return 0;
}
std::size_t bytes_of(const ResultColumn& column) {
  return bytes_of(column.name);
}
std::size_t bytes_of(const Aggregate& aggregate) {
  std::size_t bytes = aggregate.order.capacity() * sizeof(OrderItem);
  aggregate.for_each_expression([&bytes](const ExprPtr& expr) { bytes += bytes_of(expr); });
  return bytes;
}
std::size_t bytes_of(const OrderItem& item) {
  return bytes_of(item.value);
}
std::size_t bytes_of(const CheckCondition& check) {
  return bytes_of(check.name) + bytes_of(check.condition);
}
std::size_t bytes_of(const Assignment& assignment) {
  return bytes_of(assignment.value);
}
std::size_t bytes_of(const layout::Column& column) {
  return bytes_of(column.name) + (column.default_text ? bytes_of(*column.default_text) : 0);
}

std::size_t bytes_of(const JoinedSource& joined);

template <typename T>
std::size_t bytes_of_list(const std::vector<T>& list) {
  std::size_t bytes = list.capacity() == 0 ? 0 : list.capacity() * sizeof(T) + kAllocation_bytes;
  for (const T& element : list) bytes += bytes_of(element);
  return bytes;
}

template <typename T>
std::size_t bytes_of_lists(const std::vector<std::vector<T>>& lists) {
  std::size_t bytes = lists.capacity() * sizeof(std::vector<T>) + kAllocation_bytes;
  for (const std::vector<T>& list : lists) bytes += bytes_of_list(list);
  return bytes;
}

std::size_t body_bytes(const SelectPlan& plan);

std::size_t bytes_of(const DerivedTable& table) {
  std::size_t bytes = sizeof(DerivedTable) + bytes_of_list(table.columns) + bytes_of_lists(table.values);
  for (const SelectPlan* query : {table.query.get(), table.right.get()}) {
    if (query != nullptr) bytes += sizeof(SelectPlan) + kAllocation_bytes + body_bytes(*query);
  }
  if (table.windows != nullptr) {
    for (const WindowCall& call : table.windows->calls) {
      bytes += sizeof(WindowCall) + kAllocation_bytes;
      call.for_each_expression(
          [&bytes](const ExprPtr& part) { bytes += sizeof(OrderItem) + bytes_of(part); });
    }
  }
  return bytes;
}

std::size_t bytes_of(const Source& source) {
  std::size_t bytes = bytes_of(source.name) + bytes_of_lists(source.key) + bytes_of(source.filter) +
                      bytes_of_list(source.lateral);
  if (source.derived != nullptr) bytes += bytes_of(*source.derived);
  if (source.function != nullptr) {
    bytes += sizeof(SetFunction) + bytes_of_list(source.function->columns) +
             source.function->calls.size() * (sizeof(SetFunction::Call) + kAllocation_bytes);
    source.function->for_each_expression([&bytes](const ExprPtr& argument) { bytes += bytes_of(argument); });
  }
  if (const IndexPath* path = source.index_path.get()) {
    bytes += sizeof(IndexPath) + kAllocation_bytes +
             path->equal.size() * (sizeof(path->equal[0]) + kAllocation_bytes) +
             path->ranges.size() * sizeof(IndexPath::Range);
    path->for_each_expression([&bytes](const ExprPtr& part) { bytes += sizeof(part) + bytes_of(part); });
  }
  return bytes;
}

std::size_t bytes_of(const JoinedSource& joined) {
  return bytes_of(joined.source) + bytes_of_list(joined.outer_keys) + bytes_of_list(joined.hash_keys) +
         bytes_of(joined.match) + bytes_of(joined.filter) +
         joined.reads.capacity() * sizeof(JoinedSource::Read) + kAllocation_bytes;
}

std::size_t body_bytes(const SelectPlan& plan) {
  std::size_t bytes = bytes_of(plan.source) + bytes_of_list(plan.targets) + bytes_of_list(plan.aggregates) +
                      bytes_of_list(plan.groups) + bytes_of(plan.having) + bytes_of_list(plan.order) +
                      bytes_of(plan.limit) + bytes_of(plan.offset) + plan.locks.capacity() * sizeof(RowLock);
  if (plan.join != nullptr) {
    bytes += sizeof(JoinPlan) + kAllocation_bytes + bytes_of_list(plan.join->sources) +
             bytes_of_list(plan.join->slots);
  }
  return bytes;
}
std::size_t bytes_of(const Subquery& subquery) {
  return sizeof(SubqueryPlan) + kAllocation_bytes + body_bytes(planned_query(subquery));
}
std::size_t body_bytes(const InsertPlan& plan) {
  std::size_t bytes = bytes_of_lists(plan.rows) + bytes_of_list(plan.returning) + bytes_of_list(plan.checks);
  if (plan.query != nullptr) bytes += sizeof(SelectPlan) + kAllocation_bytes + body_bytes(*plan.query);
  if (const ConflictPlan* conflict = plan.conflict.get()) {
    bytes += sizeof(ConflictPlan) + kAllocation_bytes + bytes_of_list(conflict->assignments) +
             bytes_of(conflict->filter);
  }
  return bytes;
}
std::size_t bytes_of(const std::unique_ptr<ChangedRowsPlan>& joined) {
  return joined == nullptr ? 0 : sizeof(ChangedRowsPlan) + kAllocation_bytes + body_bytes(joined->query);
}
std::size_t body_bytes(const DeletePlan& plan) {
  return bytes_of(plan.source) + bytes_of(plan.joined) + bytes_of_list(plan.returning);
}
std::size_t body_bytes(const TruncatePlan& plan) {
  std::size_t bytes = 0;
  for (const DeletePlan& table : plan.tables) bytes += sizeof(DeletePlan) + body_bytes(table);
  return bytes;
}
std::size_t body_bytes(const CopyFromPlan& plan) {
  return body_bytes(plan.insert) + plan.columns.capacity() * sizeof(std::uint32_t) +
         bytes_of_list(plan.types);
}
std::size_t body_bytes(const CopyToPlan& plan) {
  return sizeof(SelectPlan) + kAllocation_bytes + body_bytes(*plan.query) + bytes_of_list(plan.columns);
}
std::size_t body_bytes(const UpdatePlan& plan) {
  return bytes_of(plan.source) + bytes_of(plan.joined) + bytes_of_list(plan.assignments) +
         bytes_of_list(plan.returning) + bytes_of_list(plan.checks);
}
std::size_t body_bytes(const WithPlan& plan) {
  std::size_t bytes = memory_bytes(*plan.statement);
  for (const WithPlan::Query& query : plan.queries) {
    bytes += sizeof(WithPlan::Query) + sizeof(WorkingTable) + bytes_of_list(query.rows->columns) +
             memory_bytes(*query.statement);
  }
  return bytes;
}
std::size_t body_bytes(const CallPlan& plan) {
  return bytes_of_list(plan.tables) + bytes_of_list(plan.arguments);
}
std::size_t body_bytes(const CallRoutinePlan& plan) {
  return bytes_of_list(plan.arguments);
}
std::size_t body_bytes(const CreateRoutinePlan& plan) {
  return bytes_of(plan.definition.name) + bytes_of(plan.definition.text);
}
std::size_t body_bytes(const DropRoutinePlan& plan) {
  return plan.routines.capacity() * sizeof(DropRoutinePlan::Dropped);
}
std::size_t body_bytes(const CreateTablePlan& plan) {
  std::size_t bytes = bytes_of(plan.table.name);
  for (const layout::Column& column : plan.table.schema.columns())
    bytes += sizeof(layout::Column) + bytes_of(column);
  return bytes;
}
std::size_t body_bytes(const AlterTablePlan& plan) {
  std::size_t bytes =
      bytes_of(plan.definition.name) + bytes_of_list(plan.values) + bytes_of_list(plan.checks);
  for (const layout::Column& column : plan.definition.schema.columns())
    bytes += sizeof(layout::Column) + bytes_of(column);
  return bytes;
}
template <typename T>
std::size_t body_bytes(const Boxed<T>& plan) {
  return sizeof(T) + kAllocation_bytes + body_bytes(*plan.pointer);
}
std::size_t body_bytes(const DropTablePlan& plan) {
  return bytes_of_list(plan.names);
}
std::size_t body_bytes(const CreateIndexPlan& plan) {
  return bytes_of(plan.name) + bytes_of_list(plan.columns);
}
std::size_t body_bytes(const DropIndexPlan& plan) {
  return bytes_of_list(plan.names);
}
std::size_t body_bytes(const ReindexPlan& plan) {
  return bytes_of(plan.name);
}
std::size_t body_bytes(const SequencePlan& plan) {
  return bytes_of_list(plan.names);
}
std::size_t body_bytes(const TransactionPlan& plan) {
  return plan.isolation ? bytes_of(*plan.isolation) : 0;
}
std::size_t body_bytes(const SetPlan& plan) {
  return bytes_of(plan.name) + (plan.value ? bytes_of(*plan.value) : 0);
}
std::size_t body_bytes(const ShowPlan& plan) {
  return bytes_of(plan.name);
}
std::size_t body_bytes(const DeallocatePlan& plan) {
  return bytes_of(plan.name);
}
std::size_t body_bytes(const ClosePlan& plan) {
  return bytes_of(plan.name);
}
std::size_t body_bytes(const ExplainPlan& plan) {
  return plan.statement == nullptr ? 0 : memory_bytes(*plan.statement);
}
// The plan of the statement within has its own share.
std::size_t body_bytes(const CreateViewPlan& plan) {
  return plan.view->statement.size() + plan.view->query.size();
}
std::size_t body_bytes(const DropViewPlan& plan) {
  return bytes_of(plan.renamed);
}
std::size_t body_bytes(const EnumerationPlan& plan) {
  return bytes_of_list(plan.names) + bytes_of_list(plan.labels);
}
std::size_t body_bytes(const PreparePlan& plan) {
  return bytes_of(plan.name) + bytes_of_list(plan.declared);
}
std::size_t body_bytes(const ExecutePlan& plan) {
  return bytes_of(plan.name) + bytes_of_list(plan.arguments);
}
std::size_t body_bytes(const DeclarePlan& plan) {
  return bytes_of(plan.name);
}
std::size_t body_bytes(const FetchPlan& plan) {
  return bytes_of(plan.name);
}
std::size_t body_bytes(const DiscardPlan&) {
  return 0;
}
std::size_t body_bytes(const NothingPlan&) {
  return 0;
}
std::size_t body_bytes(const LockPlan&) {
  return 0;
}
std::size_t body_bytes(const ConstraintsPlan& plan) {
  return bytes_of_list(plan.names);
}
std::size_t body_bytes(const RolePlan& plan) {
  std::size_t bytes = sizeof(RolePlan);
  if (const auto* grant = plan.as<GrantPlan>())
    bytes += grant->on.objects.size() * sizeof(NamedObjects::Object);
  return bytes;
}
std::size_t body_bytes(const std::monostate&) {
  return 0;
}

}  // namespace

std::size_t memory_bytes(const Plan& plan) {
  return sizeof(Plan) + kAllocation_bytes + bytes_of_list(plan.columns) + bytes_of_list(plan.parameters) +
         (plan.tables.capacity() + plan.reads.capacity() + plan.writes.capacity()) * sizeof(std::uint32_t) +
         plan.rights.capacity() * sizeof(RequiredRight) +
         std::visit([](const auto& body) { return body_bytes(body); }, plan.body);
}

}  // namespace namdb::sql
