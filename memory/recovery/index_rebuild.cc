#include "memory/recovery/index_rebuild.h"

#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include "common/layout/index_key.h"
#include "common/layout/record.h"
#include "memory/index/btree_loader.h"

namespace namdb::memory {
namespace {

layout::ServerId server_of(const control::IndexDescriptor& index, const std::string& key) {
  int part = index.parts_size() - 1;
  while (part > 0 && key < index.parts(part).low()) --part;
  return static_cast<layout::ServerId>(index.parts(part).server());
}

}  // namespace

PlaceReader::What PlaceReader::read(std::uint64_t place) {
  const std::uint64_t length = table_.shape.record.body_bytes();
  if (recovery_.certified) {
    body_ = {recovery_.region.at(place + 8), length};
  } else {
    copy_.resize(length);
    recovery_.region.read(place + 8, copy_);
    body_ = copy_;
  }
  const layout::BodyHeader header = layout::decode_body_header(body_.data());
  const bool whole = recovery_.certified || layout::certify_body(body_, recovery_.region.address(place));
  if (whole && header.table == table_.shape.id) return header.deleted ? What::deleted : What::row;
  const bool empty = std::ranges::all_of(body_, [](std::byte byte) { return byte == std::byte{0}; });
  return empty ? What::nothing : What::torn;
}

reactor::Task<Result<PlaceReader::What>> PlaceReader::read_again(std::uint64_t place) {
  const std::uint64_t deadline_ns = recovery_.executor.now_ns() + kPatience_ns;
  while (recovery_.beside_transactions && recovery_.executor.now_ns() < deadline_ns) {
    co_await recovery_.executor.sleep_for(kPause_ns);
    const What what = read(place);
    if (what != What::torn) co_return what;
  }
  const std::string where = "table \"" + table_.shape.name + "\", record at " + std::to_string(place) +
                            " of memory server " + std::to_string(recovery_.options.server_id);
  if (recovery_.beside_transactions)
    co_return Status(ErrorCode::cannot_connect_now, where + ": it is being written");
  co_return Status(ErrorCode::corrupt_data, where + ": its body does not certify");
}

std::optional<KeyRange> part_of(const control::IndexDescriptor& index, layout::ServerId server) {
  for (int i = 0; i < index.parts_size(); ++i) {
    if (index.parts(i).server() != server) continue;
    KeyRange range{index.parts(i).low(), {}};
    if (i + 1 < index.parts_size()) range.high = index.parts(i + 1).low();
    return range;
  }
  return std::nullopt;
}

reactor::Task<Result<IndexKeys>> collect_index_keys(Recovery recovery, TablePointer table,
                                                    control::IndexDescriptor index) {
  recovery.progress.stage = RecoveryStage::keys;
  recovery.progress.subject = index.name();
  std::vector<layout::IndexColumn> columns;
  for (const control::IndexColumn& column : index.columns())
    columns.push_back({column.column(), column.descending()});
  const auto shape = layout::IndexShape::create(table->shape.schema, std::move(columns));
  if (!shape.ok() || index.parts_size() == 0)
    co_return Status(ErrorCode::corrupt_data, "index \"" + index.name() + "\" does not fit its table");
  IndexKeys keys;
  PlaceReader reader(recovery, *table);
  std::uint32_t in_step = 0;
  for (std::uint64_t place = table->records.next_used(0); place != 0;
       place = table->records.next_used(place)) {
    PlaceReader::What what = reader.read(place);
    if (what == PlaceReader::What::torn) {
      const auto again = co_await reader.read_again(place);
      if (!again.ok()) co_return again.status();
      what = again.value();
    }
    if (what != PlaceReader::What::row) continue;
    const layout::RowView row(table->shape.schema, layout::body_payload(reader.body()));
    const layout::IndexKey key = layout::index_key(*shape, row);
    const bool sorted = keys[server_of(index, key.bytes)].add(key.bytes);
    if (++in_step < recovery.options.step_units && !sorted) continue;
    in_step = 0;
    Status status = co_await recovery.rest();
    if (!status.ok()) co_return status;
  }
  for (auto& [server, runs] : keys) runs.finish();
  co_return std::move(keys);
}

reactor::Task<Result<std::unique_ptr<BTree>>> load_index(Recovery recovery, control::IndexDescriptor index,
                                                         std::vector<const KeyRuns*> sources) {
  recovery.progress.stage = RecoveryStage::pages;
  recovery.progress.subject = index.name();
  auto range = part_of(index, recovery.options.server_id);
  if (!range)
    co_return Status(ErrorCode::corrupt_data,
                     "index \"" + index.name() + "\" has no part on this memory server");
  BTreeLoader loader(recovery.region, {index.id(), index.page_bytes(), std::move(*range)});
  KeyMerge merge(sources);
  for (std::uint32_t in_step = 0; !merge.done(); merge.next()) {
    Status status = loader.add(merge.key());
    if (!status.ok()) co_return status;
    ++recovery.progress.keys;
    if (++in_step < recovery.options.step_units) continue;
    in_step = 0;
    status = co_await recovery.rest();
    if (!status.ok()) co_return status;
  }
  std::unique_ptr<BTree> tree = loader.finish();
  if (tree == nullptr)
    co_return Status(ErrorCode::out_of_memory,
                     "the region has no room for the pages of index \"" + index.name() + "\"");
  ++recovery.progress.indexes;
  co_return std::move(tree);
}

}  // namespace namdb::memory
