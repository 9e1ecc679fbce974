#include "compute/txn/table_read.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "compute/cluster/bucket_search.h"
#include "compute/cluster/stage_times.h"
#include "compute/txn/calls_ahead.h"
#include "compute/txn/lookup_runner.h"
#include "compute/txn/validation.h"
#include "compute/txn/visibility.h"

namespace namdb::protocol {

using calls::ScanPart;
using layout::GlobalAddress;

namespace {

// Places that are examined for the first reply, which may be the only one, and for later ones.
constexpr std::uint32_t kFirstPlaces = 256;
constexpr std::uint32_t kPlaces = 4096;
// Of one block: rows of one reply, and what lookups READ together.
constexpr std::size_t kBlock_bytes = std::size_t{8} << 20;
constexpr std::size_t kLookups = 512;
constexpr std::size_t kLookups_bytes = std::size_t{1} << 20;
// Parts with so few bytes between them are one.
constexpr std::uint32_t kPartGap_bytes = 8;

}  // namespace

bool TableRead::possible(TransactionState& transaction) {
  return transaction.worker().scan_reads == txn::ScanReads::calls &&
         transaction.worker().cluster.protocol().visible_by_publish &&
         transaction.control().validation() == nullptr;
}

TableRead::~TableRead() {
  transaction_.worker().calls_ahead.abandon(std::move(call_));
}

void TableRead::want_only(std::span<const std::uint32_t> columns) {
  some_columns_ = true;
  columns_.assign(columns.begin(), columns.end());
}

bool TableRead::changes_table() const {
  return std::ranges::any_of(transaction_.accesses(), [this](const Access& access) {
    return access.table->id == table_->id && access.write != WriteKind::none;
  });
}

void TableRead::choose_parts() {
  const layout::Schema& schema = table_->schema;
  row_.assign(schema.row_bytes(), std::byte{});
  whole_ = !some_columns_ || changes_table();
  if (whole_) {
    parts_ = {{0, schema.row_bytes()}};
  } else if (!columns_.empty()) {
    const auto part = [](std::uint32_t begin, std::uint32_t end) {
      return ScanPart{begin & ~7U, ((end + 7) & ~7U) - (begin & ~7U)};
    };
    std::vector<ScanPart> wanted;
    for (const std::uint32_t column : columns_) {
      wanted.push_back(part(column / 8, column / 8 + 1));  // of the null bitmap
      const std::uint32_t offset = schema.field_offset(column);
      wanted.push_back(part(offset, offset + schema.columns()[column].field_bytes()));
    }
    std::ranges::sort(wanted, {}, &ScanPart::begin);
    for (const ScanPart& each : wanted) {
      const std::uint32_t end = each.begin + each.length_bytes;
      if (parts_.empty() || each.begin > parts_.back().begin + parts_.back().length_bytes + kPartGap_bytes) {
        parts_.push_back(each);
      } else {
        ScanPart& last = parts_.back();
        last.length_bytes = std::max(last.begin + last.length_bytes, end) - last.begin;
      }
    }
  }
  part_bytes_ = calls::bytes_of(parts_);
}

reactor::Task<Status> TableRead::next(std::vector<layout::Row>& rows) {
  rows.clear();
  txn::RowBlock block;
  Status status = co_await next_block(block);
  for (std::size_t i = 0; i < block.size(); ++i) rows.emplace_back(table_->schema, block[i].bytes());
  co_return status;
}

reactor::Task<Status> TableRead::begin() {
  Status status = co_await begin_reading(&transaction_);
  if (!status.ok()) co_return status;
  status = transaction_.tables().check(*table_, transaction_.visibility().catalog_version());
  if (!status.ok()) co_return status;
  choose_parts();
  co_return Status();
}

reactor::Task<Status> TableRead::next_block(txn::RowBlock& rows) {
  rows.clear();
  const TransactionState::Busy busy(transaction_);
  Status status = transaction_.check_open();
  if (!status.ok()) co_return status;
  if (!std::exchange(began_, true)) {
    status = co_await begin();
    if (!status.ok()) co_return status;
  }
  while (rows.empty() && !ended_) {
    if (next_place_ == places_.size()) {
      if (!posted_) post();
      if (!posted_) {
        ended_ = true;
        if (whole_) own_inserts(rows);
        break;
      }
      if (Status received = co_await receive(); !received.ok()) co_return received;
      if (Status taken = take_rows(rows); !taken.ok()) co_return taken;
    }
    if (next_place_ < places_.size()) status = co_await look_up(&rows);
    if (!status.ok()) co_return status;
  }
  co_return Status();
}

void TableRead::post() {
  txn::Cluster& cluster = transaction_.worker().cluster;
  if (server_ == cluster.server_count()) return;
  call_->method = calls::kScanMethod;
  call_->request.clear();
  const auto most_places = static_cast<std::uint32_t>(
      std::clamp<std::size_t>(kBlock_bytes / table_->record.current_bytes(), kFirstPlaces, kPlaces));
  append(call_->request,
         calls::ScanRequest{table_->id, replies_ == 0 ? kFirstPlaces : most_places, after_, parts_});
  fabric::OperationCounters& counters = transaction_.mutable_counters();
  ++counters.calls;
  counters.call_bytes += call_->request.size();
  asked_ = server_;
  posted_ = true;
  cluster.channel(server_).post(*call_);
}

reactor::Task<Status> TableRead::receive() {
  txn::WorkerState& worker = transaction_.worker();
  fabric::OperationCounters& counters = transaction_.mutable_counters();
  if (call_->pending()) ++counters.round_trips;
  const txn::StageTimer timer(worker.cluster.stage_times(), worker.executor, counters);
  const Status& done = co_await call_->done();
  timer.end(Stage::read);
  posted_ = false;
  Status status = done;
  if (!status.ok()) co_return worker.cluster.named(asked_, status);
  status = transaction_.check_going_on();
  if (!status.ok()) co_return status;
  std::swap(reply_, call_->reply);
  counters.call_bytes += reply_.size();
  replied_ = asked_;
  const auto groups = calls::ScannedGroups::create(reply_, part_bytes_);
  const bool ascends = groups && (groups->after() == 0 || groups->after() > after_);
  if (!ascends)
    co_return Status(ErrorCode::protocol_violation, "memory server sent a reply that cannot be read");
  after_ = groups->after();
  if (after_ == 0) ++server_;
  // The first rows may be enough.
  if (replies_++ != 0) post();
  co_return Status();
}

Status TableRead::take_rows(txn::RowBlock& rows) {
  auto groups = calls::ScannedGroups::create(reply_, part_bytes_);
  places_.clear();
  next_place_ = 0;
  calls::ScannedGroup group;
  // Without its key a row is not compared with those that the transaction writes.
  const bool changes = whole_ && !transaction_.accesses().empty();
  while (!groups->empty()) {
    if (!groups->next(group))
      return Status(ErrorCode::protocol_violation, "memory server sent a reply that cannot be read");
    bool visible = false;
    if (group.header.value() != 0) {
      const layout::BodyHeader found{.stamp = group.header.stamp(),
                                     .deleted = group.header.deleted(),
                                     .displaced = {},
                                     .table = table_->id};
      visible =
          transaction_.visibility().check_visibility({group.header, found, true}) == ReadDecision::visible;
      if (visible && found.deleted) continue;
    }
    for (std::size_t i = 0; i < group.count; ++i) {
      if (visible) {
        const char* part = group.parts(i);
        for (const ScanPart& each : parts_) {
          std::memcpy(row_.data() + each.begin, part, each.length_bytes);
          part += each.length_bytes;
        }
        if (changes) {
          add_row(row_, rows);
        } else {
          rows.add(table_->schema, row_);
        }
        continue;
      }
      const layout::BucketEntry entry = group.entry(i);
      const GlobalAddress record(replied_, entry.offset());
      Status status = check_place(record);
      if (!status.ok()) return status;
      places_.push_back({record, entry.incarnation()});
    }
  }
  return {};
}

Status TableRead::check_place(GlobalAddress record) const {
  const std::uint64_t region_bytes = transaction_.worker().cluster.region_map(record.server()).limit_bytes;
  if (storage::place_within(record.offset(), table_->record.record_bytes(), region_bytes)) return {};
  return Status(ErrorCode::protocol_violation, "memory server named a record outside of its region");
}

reactor::Task<Status> TableRead::look_up(txn::RowBlock* rows) {
  const std::size_t most =
      std::clamp<std::size_t>(kLookups_bytes / table_->record.current_bytes(), 1, kLookups);
  std::vector<Lookup> lookups(std::min(most, places_.size() - next_place_));
  Lookups pointers;
  for (Lookup& lookup : lookups) {
    const RecordPlace& place = places_[next_place_++];
    lookup.start_at(transaction_.worker(), *table_, place.record, place.incarnation);
    lookup.expect_half_written();
    pointers.push_back(&lookup);
  }
  LookupTables no_tables;
  Status status =
      co_await run_lookups(&transaction_, std::move(pointers), std::move(no_tables), Together::near);
  if (!status.ok()) co_return status;
  for (const Lookup& lookup : lookups) {
    if (lookup.state() != Lookup::State::present) continue;
    if (whole_) {
      add_row(lookup.payload(), *rows);
    } else {
      rows->add(table_->schema, lookup.payload());
    }
  }
  co_return Status();
}

void TableRead::add_row(std::span<const std::byte> row, txn::RowBlock& rows) {
  const layout::RowView view(table_->schema, row);
  const Access* const own = transaction_.rows().find(*table_, view.key());
  if (own == nullptr || own->write == WriteKind::none) return rows.add(table_->schema, view.bytes());
  if (own->found()) rows.add(table_->schema, own->image_row());
}

// Rows of the transaction's own that the snapshot does not have.
void TableRead::own_inserts(txn::RowBlock& rows) {
  for (const Access& access : transaction_.accesses()) {
    if (access.table->id == table_->id && access.write == WriteKind::insert)
      rows.add(table_->schema, access.image_row());
  }
}

}  // namespace namdb::protocol
