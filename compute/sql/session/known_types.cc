#include "compute/sql/session/known_types.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "compute/sql/catalog/enumeration_text.h"
#include "compute/sql/catalog/type_routines.h"

namespace namdb::sql {

using reactor::Task;

Task<Status> KnownTypes::read() {
  const auto all = co_await engine_.routines();
  if (!all.ok()) co_return all.status();
  version_ = engine_.catalog_version();
  auto names = std::make_shared<TypeNames>();
  for (const storage::RoutineRef& routine : *all) {
    if (!is_type(*routine)) continue;
    Result<Enumeration> enumeration = enumeration_of(*routine);
    if (!enumeration.ok()) co_return enumeration.status();
    const auto dropped = block_.dropped.find(type_key(enumeration->name));
    const bool is_dropped = dropped != block_.dropped.end() && dropped->second.kind == RelationKind::type;
    if (!is_dropped) names->emplace(enumeration->name, enumeration_type(enumeration->id));
    know_enumeration(std::move(enumeration).value());
  }
  facts_.types = std::move(names);
  co_return Status();
}

Task<Status> KnownTypes::learn_labels(const LabelWatch* labels) {
  Status status = co_await read();
  if (!status.ok() || !labels->has_learned()) co_return status;
  co_return Status(ErrorCode::catalog_changed, "an enum got another label while the statement ran");
}

bool KnownTypes::are_current() const {
  return version_ == engine_.catalog_version();
}

Task<Status> KnownTypes::follow(const BindInput* input) {
  if (are_current()) co_return Status();
  bool needs_types = facts_.types != nullptr && !facts_.types->empty();
  for (const auto& [name, table] : input->tables) {
    for (const layout::Column& column : table->schema.columns())
      needs_types = needs_types || enumeration_of(column) != 0;
  }
  for (const auto& [name, view] : input->views) {
    for (const View::Column& column : view->columns) needs_types = needs_types || is_made(column.type.id);
  }
  if (needs_types) co_return co_await read();
  co_return Status();
}

storage::RoutineRef KnownTypes::entry_of(const std::string& name) const {
  const auto found = facts_.types->find(name);
  const Enumeration* const known = found == facts_.types->end() ? nullptr : known_enumeration(found->second);
  return known == nullptr ? nullptr : engine_.cached_routine(known->key);
}

}  // namespace namdb::sql
