// TATP's seven transactions. Many of them find nothing, as specified: these end with an error of the
// procedure, and change nothing.
#include <array>
#include <vector>

#include "workloads/procedures.h"
#include "workloads/rows_access.h"
#include "workloads/tatp_schema.h"

namespace namdb::workloads {
namespace {

using namespace tatp;
using procedure::abort_with;
using procedure::ColumnType;
using procedure::Context;
using procedure::Row;
using procedure::RowId;
using procedure::RowView;
using procedure::Task;

// The error of a row that does not exist.
Status nothing_there(const char* what) {
  return abort_with(std::string("there is no such ") + what);
}

procedure::Value text_of(const RowView& row, std::uint32_t column) {
  return std::string(row.text(column));
}

Task<Status> get_subscriber_data(Context& context) {
  NAMDB_CO_CHECK(require_arguments(context));
  Status status;
  const RowId subscriber = read_row(context, 0, std::array{context.integer(0)}, status);
  NAMDB_CO_CHECK(status);
  NAMDB_CO_CHECK(co_await context.fetch());
  if (!context.found(subscriber)) co_return nothing_there("subscriber");
  const RowView row = context.row(subscriber);
  for (std::uint32_t column = kSubscriberId; column <= kSubscriberVlrLocation; ++column) {
    if (column == kSubscriberNumber) {
      context.result(column, text_of(row, column));
    } else {
      context.result(column, row.integer(column));
    }
  }
  co_return Status();
}

// Where calls of that facility go at that hour.
Task<Status> get_new_destination(Context& context) {
  NAMDB_CO_CHECK(require_arguments(context));
  const std::int64_t id = context.integer(0);
  const std::int64_t type = context.integer(1);
  Status status;
  const RowId facility = read_row(context, 0, std::array{id, type}, status);
  std::vector<RowId> forwardings;
  for (const std::int64_t start : kStartTimes) {
    if (start <= context.integer(2))
      forwardings.push_back(read_row(context, 1, std::array{id, type, start}, status));
  }
  NAMDB_CO_CHECK(status);
  NAMDB_CO_CHECK(co_await context.fetch());
  if (!context.found(facility) || context.row(facility).integer(kFacilityIsActive) != 1)
    co_return nothing_there("active facility");
  for (const RowId forwarding : forwardings) {
    if (!context.found(forwarding) || context.row(forwarding).integer(kForwardingEnd) <= context.integer(3))
      continue;
    context.result(0, text_of(context.row(forwarding), kForwardingNumber));
    co_return Status();
  }
  co_return nothing_there("forwarding");
}

Task<Status> get_access_data(Context& context) {
  NAMDB_CO_CHECK(require_arguments(context));
  Status status;
  const RowId access = read_row(context, 0, std::array{context.integer(0), context.integer(1)}, status);
  NAMDB_CO_CHECK(status);
  NAMDB_CO_CHECK(co_await context.fetch());
  if (!context.found(access)) co_return nothing_there("access");
  const RowView row = context.row(access);
  context.result(0, row.integer(kAccessData1));
  context.result(1, row.integer(kAccessData2));
  context.result(2, text_of(row, kAccessData3));
  context.result(3, text_of(row, kAccessData4));
  co_return Status();
}

Task<Status> update_subscriber_data(Context& context) {
  NAMDB_CO_CHECK(require_arguments(context));
  const std::int64_t id = context.integer(0);
  Status status;
  const RowId subscriber = get_row(context, 0, std::array{id}, status);
  const RowId facility = get_row(context, 1, std::array{id, context.integer(2)}, status);
  NAMDB_CO_CHECK(status);
  NAMDB_CO_CHECK(co_await context.fetch());
  if (!context.found(subscriber)) co_return nothing_there("subscriber");
  if (!context.found(facility)) co_return nothing_there("facility");
  NAMDB_CO_CHECK(context.update(subscriber).set_integer(kSubscriberBit1, context.integer(1)));
  co_return context.update(facility).set_integer(kFacilityDataA, context.integer(3));
}

Task<Status> find_subscriber(Context& context, std::string_view number, RowId& subscriber) {
  const procedure::IndexShape* const index = context.index(0, kSubscriberByNumber);
  if (index == nullptr) co_return abort_with("index subscriber_by_number is missing: load the tables anew");
  procedure::IndexPrefix prefix(*index);
  prefix.text(number);
  std::vector<RowId> found;
  NAMDB_CO_CHECK(co_await context.find(0, kSubscriberByNumber, layout::index_range(prefix), found));
  if (found.empty()) co_return nothing_there("subscriber");
  subscriber = found.front();
  co_return Status();
}

Task<Status> update_location(Context& context) {
  NAMDB_CO_CHECK(require_arguments(context));
  RowId subscriber = 0;
  NAMDB_CO_CHECK(co_await find_subscriber(context, context.text(0), subscriber));
  co_return context.update(subscriber).set_integer(kSubscriberVlrLocation, context.integer(1));
}

Task<Status> insert_call_forwarding(Context& context) {
  NAMDB_CO_CHECK(require_arguments(context));
  RowId subscriber = 0;
  NAMDB_CO_CHECK(co_await find_subscriber(context, context.text(0), subscriber));
  const std::int64_t id = context.row(subscriber).integer(kSubscriberId);
  const std::int64_t type = context.integer(1);
  const std::int64_t start = context.integer(2);
  Status status;
  // All facilities of the subscriber, as specified.
  std::vector<RowId> facilities;
  for (std::int64_t i = 1; i <= std::int64_t{kTypes}; ++i)
    facilities.push_back(read_row(context, 1, std::array{id, i}, status));
  const RowId known = get_row(context, 2, std::array{id, type, start}, status);
  NAMDB_CO_CHECK(status);
  NAMDB_CO_CHECK(co_await context.fetch());
  if (type < 1 || type > std::int64_t{kTypes} ||
      !context.found(facilities[static_cast<std::size_t>(type - 1)]))
    co_return nothing_there("facility");
  if (context.found(known)) co_return abort_with("there is such a forwarding already");
  Row row(context.schema(2));
  NAMDB_CO_CHECK(Fields(row.writer())
                     .integer(kForwardingId, id)
                     .integer(kForwardingType, type)
                     .integer(kForwardingStart, start)
                     .integer(kForwardingEnd, context.integer(3))
                     .text(kForwardingNumber, context.text(4))
                     .status());
  context.insert(2, row.bytes());
  co_return co_await context.fetch();
}

Task<Status> delete_call_forwarding(Context& context) {
  NAMDB_CO_CHECK(require_arguments(context));
  RowId subscriber = 0;
  NAMDB_CO_CHECK(co_await find_subscriber(context, context.text(0), subscriber));
  const std::int64_t id = context.row(subscriber).integer(kSubscriberId);
  Status status;
  const RowId forwarding =
      get_row(context, 1, std::array{id, context.integer(1), context.integer(2)}, status);
  NAMDB_CO_CHECK(status);
  NAMDB_CO_CHECK(co_await context.fetch());
  if (!context.found(forwarding)) co_return nothing_there("forwarding");
  context.erase(forwarding);
  co_return Status();
}

std::vector<procedure::Parameter> subscriber_results() {
  std::vector<procedure::Parameter> results;
  for (const layout::Column& column : tables()[kSubscribers].columns)
    results.push_back(
        {.name = column.name, .type = column.name == "sub_nbr" ? ColumnType::text : column.type});
  return results;
}

}  // namespace

void register_tatp(procedure::Registry& registry) {
  registry.add({.name = "tatp_get_subscriber_data",
                .parameters = {integer_parameter("s_id")},
                .results = subscriber_results(),
                .tables = {"subscriber"},
                .run = get_subscriber_data});
  registry.add({.name = "tatp_get_new_destination",
                .parameters = {integer_parameter("s_id"), integer_parameter("sf_type"),
                               integer_parameter("start_time"), integer_parameter("end_time")},
                .results = {text_parameter("numberx")},
                .tables = {"special_facility", "call_forwarding"},
                .run = get_new_destination});
  registry.add({.name = "tatp_get_access_data",
                .parameters = {integer_parameter("s_id"), integer_parameter("ai_type")},
                .results = {integer_parameter("data1"), integer_parameter("data2"), text_parameter("data3"),
                            text_parameter("data4")},
                .tables = {"access_info"},
                .run = get_access_data});
  registry.add({.name = "tatp_update_subscriber_data",
                .parameters = {integer_parameter("s_id"), integer_parameter("bit_1"),
                               integer_parameter("sf_type"), integer_parameter("data_a")},
                .results = {},
                .tables = {"subscriber", "special_facility"},
                .run = update_subscriber_data});
  registry.add({.name = "tatp_update_location",
                .parameters = {text_parameter("sub_nbr"), {.name = "vlr_location"}},
                .results = {},
                .tables = {"subscriber"},
                .run = update_location});
  registry.add({.name = "tatp_insert_call_forwarding",
                .parameters = {text_parameter("sub_nbr"), integer_parameter("sf_type"),
                               integer_parameter("start_time"), integer_parameter("end_time"),
                               text_parameter("numberx")},
                .results = {},
                .tables = {"subscriber", "special_facility", "call_forwarding"},
                .run = insert_call_forwarding});
  registry.add({.name = "tatp_delete_call_forwarding",
                .parameters = {text_parameter("sub_nbr"), integer_parameter("sf_type"),
                               integer_parameter("start_time")},
                .results = {},
                .tables = {"subscriber", "call_forwarding"},
                .run = delete_call_forwarding});
}

}  // namespace namdb::workloads
