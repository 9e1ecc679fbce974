#include "compute/index/index_cursor.h"

#include "common/calls/index_calls.h"
#include "compute/cluster/batch_set.h"
#include "compute/txn/validation.h"

namespace namdb::protocol {

using layout::GlobalAddress;
using layout::IndexPageView;

namespace {

constexpr std::uint32_t kMostEntries = 1024;
constexpr std::size_t kMostLeaves = 16;
// A guess of an entry's length in a leaf, from which follows how many leaves hold the wanted entries.
constexpr std::uint32_t kEntry_bytes = 64;

// No stored key is as long, and keys compare with the longer one as with this.
void clip(std::string& bound) {
  if (bound.size() > layout::kMaxIndexPage_bytes) bound.resize(layout::kMaxIndexPage_bytes);
}

}  // namespace

IndexCursor::IndexCursor(txn::WorkerState& worker, fabric::OperationCounters& counters, txn::IndexRange range,
                         Validation* validation)
    : worker_(worker),
      counters_(counters),
      validation_(validation),
      range_(std::move(range)),
      wanted_(static_cast<std::uint32_t>(
          std::min<std::uint64_t>(range_.limit != 0 ? range_.limit : kMostEntries, kMostEntries))) {
  clip(range_.low);
  if (range_.high) clip(*range_.high);
}

void IndexCursor::begin(storage::IndexRef index) {
  index_ = std::move(index);
  if (range_.descending) {
    // The part that holds the greatest keys below the end.
    part_ = range_.high ? index_->part_of(*range_.high) : index_->parts.size() - 1;
    if (range_.high && part_ > 0 && index_->parts[part_].low == *range_.high) --part_;
  } else {
    part_ = index_->part_of(range_.low);
  }
  range_left_ = !range_.high || range_.low < *range_.high;
}

std::optional<std::string> IndexCursor::high() const {
  std::optional<std::string> part_high = index_->high_of(part_);
  if (range_.high && (!part_high || *range_.high < *part_high)) return range_.high;
  return part_high;
}

std::vector<std::uint64_t> IndexCursor::known_leaves(std::size_t most) const {
  return worker_.index_pages.leaves(index_->id, low(), high(), range_.descending, most);
}

bool IndexCursor::valid_page(std::uint64_t offset) const {
  const std::uint64_t region_bytes = worker_.cluster.region_map(server()).limit_bytes;
  return offset % 8 == 0 && index_->page_bytes <= region_bytes && offset <= region_bytes - index_->page_bytes;
}

void IndexCursor::post() {
  posted_ = Posted::nothing;
  if (!spare_.empty()) return;
  if (!worker_.index_reads.leaves(server())) return post_call();
  const std::size_t most = wanted_ / (index_->page_bytes / kEntry_bytes) + 1;
  leaves_.clear();
  batch_.clear();
  for (const std::uint64_t offset : known_leaves(std::min(most, kMostLeaves))) {
    if (!valid_page(offset)) break;
    Leaf& leaf = leaves_.emplace_back();
    leaf.offset = offset;
    leaf.page = fabric::LocalBuffer(worker_.cluster.pool(), index_->page_bytes);
    batch_.read(offset, leaf.page.data(), index_->page_bytes);
  }
  if (leaves_.empty()) return post_call();
  posted_ = Posted::reads;
  counters_.count(batch_.operations());
  worker_.cluster.channel(server()).post(batch_);
}

void IndexCursor::post_call() {
  posted_ = Posted::call;
  const std::optional<std::string> end = high();
  calls::IndexSeek wanted{.index = index_->id, .descending = range_.descending, .limit = wanted_};
  wanted.low = low();
  if (end) wanted.high = *end;
  call_.method = calls::kIndexSeekMethod;
  call_.request = encode(wanted);
  call_.reply.clear();
  ++counters_.calls;
  counters_.call_bytes += call_.request.size();
  worker_.cluster.channel(server()).post(call_);
}

reactor::Task<Status> IndexCursor::finish(std::vector<std::string>* entries) {
  Status status;
  const bool watched = validation_ != nullptr && waits();
  const txn::IndexRange before = watched ? range_ : txn::IndexRange();
  if (posted_ == Posted::call) status = co_await finish_call();
  if (posted_ == Posted::reads) status = co_await finish_reads();
  if (watched && status.ok()) tell(before);
  const auto end =
      spare_.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(wanted_, spare_.size()));
  entries->insert(entries->end(), std::make_move_iterator(spare_.begin()), std::make_move_iterator(end));
  spare_.erase(spare_.begin(), end);
  wanted_ = std::min(wanted_ * 4, kMostEntries);
  co_return status;
}

reactor::Task<Status> IndexCursor::finish_call() {
  const Status& done = co_await call_.done();
  counters_.call_bytes += call_.reply.size();
  if (!done.ok()) {
    if (done.code() != ErrorCode::undefined_object) co_return done;
    co_return Status(ErrorCode::catalog_changed, "index \"" + index_->name + "\" was dropped");
  }
  const auto found = calls::decode_index_seek_result(call_.reply);
  if (!found || !valid_page(found->leaf_offset) || !valid_page(found->parent_offset))
    co_return Status(ErrorCode::protocol_violation, "a list of entries that cannot be read");
  if (worker_.index_reads.leaves(server())) {
    Status learned = co_await learn(found->leaf_offset, found->parent_offset);
    if (!learned.ok()) co_return learned;
  }
  spare_.assign(found->keys.begin(), found->keys.end());
  if (!found->more || spare_.empty()) {
    end_of_part();
  } else if (range_.descending) {
    range_.high = spare_.back();
  } else {
    range_.low = spare_.back() + '\0';
  }
  co_return Status();
}

reactor::Task<Status> IndexCursor::learn(std::uint64_t leaf_offset, std::uint64_t parent_offset) {
  const std::vector<std::uint64_t> known = known_leaves(1);
  if (!known.empty() && known.front() == leaf_offset) co_return Status();
  if (parent_offset == 0) {
    worker_.index_pages.learn_leaf(index_->id, index_->parts[part_].low, index_->high_of(part_), leaf_offset);
    co_return Status();
  }
  const fabric::LocalBuffer page(worker_.cluster.pool(), index_->page_bytes);
  const GlobalAddress address(server(), parent_offset);
  txn::BatchSet batches(worker_.cluster);
  batches.read(address, page.data(), index_->page_bytes);
  Status status = co_await batches.run(counters_);
  const IndexPageView view({page.data(), index_->page_bytes});
  // It may have been split, or be on its way: then another call brings it.
  if (status.ok() && view.certified(address) && view.index() == index_->id && view.level() == 1)
    worker_.index_pages.learn(view);
  co_return status;
}

reactor::Task<Status> IndexCursor::finish_reads() {
  const Status done = co_await batch_.done();
  if (!done.ok()) co_return done;
  const std::size_t part = part_;
  bool taken = false;
  for (const Leaf& leaf : leaves_) {
    if (!range_left_ || part_ != part || !take(leaf)) break;
    taken = true;
  }
  leaves_.clear();
  if (taken) co_return Status();
  post_call();
  ++counters_.round_trips;
  co_return co_await finish_call();
}

void IndexCursor::tell(const txn::IndexRange& before) {
  SeenRange seen{
      .table = index_->table, .index = index_, .low = before.low, .high = before.high, .entries = {}};
  if (range_left_ && range_.descending) seen.low = range_.high.value_or(before.low);
  if (range_left_ && !range_.descending) seen.high = range_.low;
  seen.entries.assign(spare_.begin(), spare_.end());
  validation_->saw_range(std::move(seen));
}

bool IndexCursor::take(const Leaf& leaf) {
  const IndexPageView page({leaf.page.data(), index_->page_bytes});
  if (!page.certified(GlobalAddress(server(), leaf.offset)) || page.index() != index_->id || !page.leaf())
    return false;
  const std::optional<std::string> end = high();
  const auto fence = page.high();
  if (!range_.descending) {
    if (!page.covers(low())) return false;
    take_keys(page);
    if (!fence || (end && *end <= *fence)) {
      end_of_part();
    } else {
      range_.low = std::string(*fence);
    }
    return true;
  }
  // The greatest keys below the end must be here.
  if (end ? page.low() >= *end || (fence && *fence < *end) : fence.has_value()) return false;
  take_keys(page);
  if (page.low() <= low()) {
    end_of_part();
  } else {
    range_.high = std::string(page.low());
  }
  return true;
}

void IndexCursor::take_keys(const IndexPageView& page) {
  const std::optional<std::string> end = high();
  const std::size_t first = page.lower_bound(low());
  const std::size_t last = end ? page.lower_bound(*end) : page.count();
  for (std::size_t i = first; i < last; ++i)
    spare_.push_back(page.key(range_.descending ? last - 1 - (i - first) : i));
}

void IndexCursor::end_of_part() {
  if (range_.descending) {
    range_left_ = part_ > 0 && index_->parts[part_].low > range_.low;
    if (range_left_) range_.high = index_->parts[part_--].low;
    return;
  }
  const std::optional<std::string> part_high = index_->high_of(part_);
  range_left_ = part_high && (!range_.high || *part_high < *range_.high);
  if (range_left_) range_.low = index_->parts[++part_].low;
}

}  // namespace namdb::protocol
