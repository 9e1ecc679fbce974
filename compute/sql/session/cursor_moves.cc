#include "compute/sql/session/cursor_moves.h"

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "compute/sql/value/enumeration.h"
#include "compute/sql/value/value_format.h"

namespace namdb::sql {

using reactor::Task;

namespace {

Status only_forward_error() {
  return Status(ErrorCode::portal_not_ready, "cursor can only scan forward",
                "Declare it with SCROLL option to enable backward scan.");
}

bool has_enumerations(const std::vector<ResultColumn>& columns) {
  return std::ranges::any_of(columns, [](const ResultColumn& column) { return is_made(column.type.id); });
}

bool knows_labels(const std::vector<ResultColumn>& columns, std::span<const Datum> row) {
  const LabelWatch labels;
  std::string shown;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (is_made(columns[i].type.id) && !row[i].null)
      append_text(shown, columns[i].type, row[i], absl::UTCTimeZone());
  }
  return !labels.has_missed();
}

std::uint64_t magnitude(std::int64_t count) {
  return count < 0 ? 0 - static_cast<std::uint64_t>(count) : static_cast<std::uint64_t>(count);
}

}  // namespace

Task<Status> CursorMoves::move_cursor(FetchPlan fetch, Portal* portal, Receiver to, std::uint64_t* rows) {
  const bool all = fetch.count == FetchPlan::kAll;
  std::uint64_t count = magnitude(fetch.count);
  switch (fetch.direction) {
    case FetchDirection::absolute:
      co_return co_await move_absolute(fetch.count, portal, to, rows);
    case FetchDirection::relative: {
      if (fetch.count == 0) co_return co_await give_current(portal, to, rows);
      const Receiver nowhere{to.sink, false};
      const bool forward = fetch.count > 0;
      Status status;
      if (count > 1 && forward) status = co_await go_forward(count - 1, portal, nowhere, rows);
      if (count > 1 && !forward) status = co_await go_backward(count - 1, portal, nowhere, rows);
      if (!status.ok()) co_return status;
      if (forward) co_return co_await go_forward(1, portal, to, rows);
      co_return co_await go_backward(1, portal, to, rows);
    }
    case FetchDirection::forward:
    case FetchDirection::backward:
      break;
  }
  if (fetch.count == 0) co_return co_await give_current(portal, to, rows);
  const bool forward = (fetch.direction == FetchDirection::forward) == (fetch.count > 0);
  if (all) count = kAllRows;
  if (forward) co_return co_await go_forward(count, portal, to, rows);
  const CursorState& cursor = portal->as_cursor;
  if (all && !to.gives_rows && cursor.at_start && !cursor.at_end) co_return Status();
  co_return co_await go_backward(count, portal, to, rows);
}

// As PostgreSQL does, also where it decides which cursors can do it: rows are passed forward if that is
// nearer.
Task<Status> CursorMoves::move_absolute(std::int64_t count, Portal* portal, Receiver to,
                                        std::uint64_t* rows) {
  CursorState& cursor = portal->as_cursor;
  const Receiver nowhere{to.sink, false};
  const std::uint64_t target = magnitude(count);
  Status status;
  if (count < 0) {
    status = co_await go_forward(kAllRows, portal, nowhere, rows);
    if (status.ok() && target > 1) status = co_await go_backward(target - 1, portal, nowhere, rows);
    if (!status.ok()) co_return status;
    co_return co_await go_backward(1, portal, to, rows);
  }
  const std::uint64_t place = cursor.position + (cursor.at_end ? 1 : 0);
  const bool rewinds = target == 0 || target - 1 <= cursor.position / 2;
  if (rewinds && (!cursor.at_start || cursor.at_end)) {
    status = co_await go_backward(kAllRows, portal, nowhere, rows);
    if (!status.ok()) co_return status;
  }
  if (rewinds && target > 1) status = co_await go_forward(target - 1, portal, nowhere, rows);
  if (!rewinds && target <= place) status = co_await go_backward(place - target + 1, portal, nowhere, rows);
  if (!rewinds && target > place + 1) status = co_await go_forward(target - place - 1, portal, nowhere, rows);
  *rows = 0;
  if (!status.ok() || target == 0) co_return status;
  co_return co_await go_forward(1, portal, to, rows);
}

Task<Status> CursorMoves::give_current(Portal* portal, Receiver to, std::uint64_t* rows) {
  const CursorState& cursor = portal->as_cursor;
  *rows = !cursor.at_start && !cursor.at_end ? 1 : 0;
  if (*rows == 0 || !to.gives_rows) co_return Status();
  if (cursor.only_forward) co_return only_forward_error();
  co_return co_await give_kept(portal, cursor.position - 1, 1, false, to);
}

Task<Status> CursorMoves::go_forward(std::uint64_t count, Portal* portal, Receiver to, std::uint64_t* rows) {
  CursorState& cursor = portal->as_cursor;
  *rows = 0;
  if (cursor.at_end || count == 0) co_return Status();
  const std::uint64_t kept_end = cursor.kept == nullptr ? 0 : cursor.kept_from + cursor.kept->size();
  if (cursor.position < kept_end) {
    *rows = std::min(count, kept_end - cursor.position);
    Status status = co_await give_kept(portal, cursor.position, *rows, false, to);
    if (!status.ok()) co_return status;
    cursor.position += *rows;
  }
  if (*rows < count && !cursor.source_done) {
    std::uint64_t read = 0;
    const std::uint64_t wanted = count == kAllRows ? kAllRows : count - *rows;
    Status status = co_await source_.read_rows(wanted, portal, to, &read);
    if (!status.ok()) co_return status;
    cursor.position += read;
    *rows += read;
  }
  if (*rows < count && !cursor.end.ok()) co_return cursor.end;
  if (*rows > 0) cursor.at_start = false;
  if (*rows < count) cursor.at_end = true;
  co_return Status();
}

Task<Status> CursorMoves::go_backward(std::uint64_t count, Portal* portal, Receiver to, std::uint64_t* rows) {
  CursorState& cursor = portal->as_cursor;
  *rows = 0;
  if (!cursor.scrolls) co_return only_forward_error();
  if (cursor.at_start || count == 0) co_return Status();
  // The number of rows before the place; all of them are kept.
  const std::uint64_t before = cursor.at_end ? cursor.position : cursor.position - 1;
  *rows = std::min(count, before);
  if (*rows > 0) {
    Status status = co_await give_kept(portal, before - 1, *rows, true, to);
    if (!status.ok()) co_return status;
  }
  if (*rows < count) {
    cursor.at_start = true;
    cursor.position = 0;
    if (before > 0) cursor.at_end = false;
  } else {
    cursor.at_end = false;
    cursor.position = before - *rows + 1;
  }
  co_return Status();
}

Task<Status> CursorMoves::give_kept(Portal* portal, std::uint64_t first, std::uint64_t count, bool backward,
                                    Receiver to) {
  if (!to.gives_rows) co_return Status();
  const CursorState& cursor = portal->as_cursor;
  const std::vector<ResultColumn>& columns = portal->plan->columns;
  bool asks_for_labels = has_enumerations(columns);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t row = (backward ? first - i : first + i) - cursor.kept_from;
    Status status;
    // Another server may have added the label: rows are kept without asking for it. All that kept rows have
    // are in the catalog of now.
    if (asks_for_labels && !knows_labels(columns, (*cursor.kept)[row])) {
      asks_for_labels = false;
      status = co_await source_.read_types();
      if (!status.ok()) co_return status;
    }
    to.sink.add_row((*cursor.kept)[row]);
    work_.charge(Work::kRow_units);
    if (to.sink.congested()) status = co_await to.sink.relieve();
    if (status.ok() && work_.due()) {
      co_await executor_.yield();
      work_.begin_turn();
      status = interrupt_.check();
    }
    if (!status.ok()) co_return status;
  }
  co_return Status();
}

}  // namespace namdb::sql
