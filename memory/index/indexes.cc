#include "memory/index/indexes.h"

#include <bit>
#include <cstring>

#include "common/layout/index_key.h"

namespace namdb::memory {
namespace {

// Replies stay below what a call can carry, with room for one more item.
constexpr std::size_t kMaxReply_bytes = fabric::kMaxCall_bytes / 2;

Status malformed() {
  return Status(ErrorCode::protocol_violation, "the request of a call about indexes cannot be read");
}

Status no_such_index(std::uint32_t id) {
  return Status(ErrorCode::undefined_object, "this memory server has no index " + std::to_string(id));
}

Status elsewhere() {
  return Status(ErrorCode::catalog_changed, "this part of the index lies on another memory server");
}

}  // namespace

Status Indexes::prepare(fabric::PeerId builder, const control::PrepareIndexRequest& request) {
  const control::IndexDescriptor& wanted = request.index();
  const std::uint32_t page_bytes = wanted.page_bytes();
  if (wanted.id() == 0 || !std::has_single_bit(page_bytes) || page_bytes < layout::kMinIndexPage_bytes ||
      page_bytes > layout::kMaxIndexPage_bytes || page_bytes > options_.extent_bytes) {
    return Status(ErrorCode::invalid_table_definition, "the index's description makes no sense");
  }
  KeyRange range{request.low(), {}};
  if (request.has_high()) range.high = request.high();
  const std::size_t max_key_bytes = layout::max_index_key_bytes(page_bytes);
  if (range.low.size() > max_key_bytes ||
      (range.high && (range.high->size() > max_key_bytes || *range.high <= range.low))) {
    return Status(ErrorCode::invalid_table_definition, "the index's range of keys makes no sense");
  }
  if (tables_.find(wanted.table()) == nullptr) {
    return Status(ErrorCode::undefined_table,
                  "this memory server has no table " + std::to_string(wanted.table()));
  }
  if (indexes_.contains(wanted.id()) || tables_.all().contains(wanted.id())) {
    return Status(ErrorCode::duplicate_table, "the id " + std::to_string(wanted.id()) + " is in use");
  }
  auto index = std::make_shared<Index>();
  index->id = wanted.id();
  index->table = wanted.table();
  index->name = wanted.name();
  index->builder = builder;
  index->tree = BTree::create(region_, {wanted.id(), page_bytes, std::move(range)});
  if (index->tree == nullptr) return tables_.full();
  by_table_.emplace(wanted.table(), wanted.id());
  indexes_.emplace(wanted.id(), std::move(index));
  return Status();
}

Status Indexes::restore(const control::IndexDescriptor& index, std::unique_ptr<BTree> tree) {
  if (indexes_.contains(index.id()) || tables_.all().contains(index.id()))
    return Status(ErrorCode::duplicate_table, "the id " + std::to_string(index.id()) + " is in use");
  auto restored = std::make_shared<Index>();
  restored->id = index.id();
  restored->table = index.table();
  restored->name = index.name();
  restored->tree = std::move(tree);
  by_table_.emplace(index.table(), index.id());
  indexes_.emplace(index.id(), std::move(restored));
  return Status();
}

Status Indexes::built(fabric::PeerId builder, std::uint32_t id) {
  const IndexPointer index = find(id);
  if (index == nullptr || index->builder != builder) return no_such_index(id);
  index->builder = 0;
  doubts_.release(id, executor_.now_ns());
  return Status();
}

IndexPointer Indexes::find(std::uint32_t id) const {
  const auto found = indexes_.find(id);
  return found == indexes_.end() || found->second->discarded ? nullptr : found->second;
}

std::vector<std::uint32_t> Indexes::built_by(fabric::PeerId builder) const {
  std::vector<std::uint32_t> ids;
  for (const auto& [id, index] : indexes_) {
    if (!index->discarded && index->builder == builder) ids.push_back(id);
  }
  return ids;
}

std::vector<std::uint32_t> Indexes::of_table(std::uint32_t table) const {
  std::vector<std::uint32_t> ids;
  for (auto entry = by_table_.lower_bound({table, 0}); entry != by_table_.end() && entry->first == table;
       ++entry) {
    if (!indexes_.at(entry->second)->discarded) ids.push_back(entry->second);
  }
  return ids;
}

void Indexes::describe(control::HeartbeatReply& reply) {
  constexpr std::size_t kNamedAtOnce = 256;
  reply.set_index_doubts(doubts_.due(executor_.now_ns()));
  auto next = indexes_.upper_bound(described_);
  for (std::size_t named = 0; named < std::min(kNamedAtOnce, indexes_.size()); ++named) {
    if (next == indexes_.end()) next = indexes_.begin();
    const auto& [id, index] = *next++;
    if (!index->discarded && !index->building()) reply.add_indexes(id);
    described_ = id;
  }
}

bool Indexes::discard(std::uint32_t id) {
  const IndexPointer index = find(id);
  if (index == nullptr) return false;
  index->discarded = true;
  doubts_.forget(id);
  return true;
}

reactor::Task<bool> Indexes::release(std::uint32_t id) {
  const auto found = indexes_.find(id);
  if (found == indexes_.end()) co_return true;
  const IndexPointer index = found->second;
  NAMDB_CHECK(index->discarded);
  while (index->tree->wipe(options_.step_units)) co_await executor_.yield();
  if (index.use_count() > 2) co_return false;
  by_table_.erase({index->table, id});
  indexes_.erase(id);
  co_return true;
}

void Indexes::find_candidates(const BTree& tree, const calls::IndexChange& change,
                              calls::IndexChangeResult& result, std::vector<std::string>& candidates) {
  const std::string_view declared = change.key.substr(0, change.declared_bytes);
  const auto end = layout::index_successor(declared);
  tree.scan(declared, end, false, [&](std::string_view key) {
    if (key == change.key) return true;
    if (candidates.size() == calls::kMaxIndexCandidates) {
      result.more_candidates = true;
      return false;
    }
    candidates.emplace_back(key);
    return true;
  });
  result.candidates.assign(candidates.begin(), candidates.end());
}

Status Indexes::change(const calls::IndexChange& change, std::uint64_t now_ns,
                       calls::IndexChangeResult& result, std::vector<std::string>& candidates) {
  using Kind = calls::IndexChange::Kind;
  const IndexPointer index = find(change.index);
  if (index == nullptr) return no_such_index(change.index);
  BTree& tree = *index->tree;
  if (change.key.size() > tree.max_key_bytes()) {
    return Status(ErrorCode::limit_exceeded, "a key of index \"" + index->name + "\" would take " +
                                                 std::to_string(change.key.size()) + " bytes; at most " +
                                                 std::to_string(tree.max_key_bytes()) + " fit");
  }
  if (change.declared_bytes > change.key.size()) return malformed();
  if (!tree.shape().range.covers(change.key)) return elsewhere();
  IndexEntry entry{change.index, std::string(change.key)};
  const Doubts::Raise how{.held = index->building(), .ahead = change.ahead};
  if (change.kind == Kind::mark) {
    // While the index is building, its builder may still add the entry.
    if (index->building() || tree.contains(change.key)) {
      result.sequence = doubts_.raise(std::move(entry), how, now_ns);
    }
    return Status();
  }
  if (tree.add(change.key) == BTree::Change::full) return tables_.full();
  if (change.kind == Kind::add || doubts_.contains(entry)) {
    result.sequence = doubts_.raise(std::move(entry), how, now_ns);
  }
  if (change.declared_bytes != 0) find_candidates(tree, change, result, candidates);
  return Status();
}

reactor::Task<Status> Indexes::write(std::string_view request, std::string& reply) {
  const auto changes = calls::decode_index_changes(request);
  if (!changes) co_return malformed();
  std::uint32_t in_step = 0;
  std::uint64_t now_ns = executor_.fresh_now_ns();
  IndexPointer adding;  // its keys are added together
  const auto end_adding = [&adding] {
    if (adding != nullptr) adding->tree->end_adding();
    adding = nullptr;
  };
  for (const calls::IndexChange& item : *changes) {
    const bool only_adds = item.kind != calls::IndexChange::Kind::mark && item.declared_bytes == 0;
    if (!only_adds || (adding != nullptr && adding->id != item.index)) end_adding();
    if (only_adds && adding == nullptr) {
      adding = find(item.index);
      if (adding != nullptr) adding->tree->begin_adding();
    }
    calls::IndexChangeResult result;
    std::vector<std::string> candidates;
    Status status = change(item, now_ns, result, candidates);
    if (!status.ok()) {
      end_adding();
      co_return status;
    }
    if (reply.size() > kMaxReply_bytes && !result.candidates.empty()) {
      result.candidates.clear();
      result.more_candidates = true;
    }
    append(reply, result);
    if (++in_step < options_.step_units) continue;
    in_step = 0;
    end_adding();
    co_await executor_.yield();
    now_ns = executor_.fresh_now_ns();
  }
  end_adding();
  co_return Status();
}

Status Indexes::settle(std::string_view request) {
  const auto verdicts = calls::decode_index_verdicts(request);
  if (!verdicts) return malformed();
  const std::uint64_t now_ns = executor_.now_ns();
  for (const calls::IndexVerdict& verdict : *verdicts) doubts_.settle(verdict, now_ns);
  return Status();
}

Status Indexes::take_doubts(std::string_view request, std::string& reply) {
  std::uint32_t limit = 0;
  if (request.size() != sizeof limit) return malformed();
  std::memcpy(&limit, request.data(), sizeof limit);
  doubts_.take(limit, kMaxReply_bytes, executor_.now_ns(), reply);
  return Status();
}

Status Indexes::seek(std::string_view request, std::string& reply) const {
  const auto seek = calls::decode_index_seek(request);
  if (!seek) return malformed();
  const IndexPointer index = find(seek->index);
  if (index == nullptr) return no_such_index(seek->index);
  const KeyRange& range = index->tree->shape().range;
  // A search begins in the part of its server; where that ends, so does the answer.
  const bool begins_here = !seek->descending ? range.covers(seek->low)
                           : seek->high
                               ? *seek->high > range.low && (!range.high || *seek->high <= *range.high)
                               : !range.high;
  if (!begins_here) return elsewhere();
  calls::IndexSeekResult result;
  std::vector<std::string> keys;
  std::size_t bytes = 0;
  const BTree::Place place =
      index->tree->scan(seek->low, seek->high, seek->descending, [&](std::string_view key) {
        if (keys.size() == seek->limit || bytes > kMaxReply_bytes) {
          result.more = true;
          return false;
        }
        bytes += key.size() + sizeof(std::uint16_t);
        keys.emplace_back(key);
        return true;
      });
  result.leaf_offset = place.leaf_offset;
  result.parent_offset = place.parent_offset;
  result.keys.assign(keys.begin(), keys.end());
  reply = encode(result);
  return Status();
}

reactor::Task<void> Indexes::tick(const Peers& peers) {
  while (true) {
    const auto entries = doubts_.expired(peers, executor_.now_ns(), options_.step_units);
    if (entries.empty()) co_return;
    for (const IndexEntry& entry : entries) {
      const IndexPointer index = find(entry.index);
      if (index != nullptr && index->tree->remove(entry.key)) ++removed_;
    }
    co_await executor_.yield();
  }
}

}  // namespace namdb::memory
