#include "compute/protocol/calvin/sequencer.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "common/layout/age.h"
#include "common/layout/words.h"
#include "compute/txn/errors.h"

namespace namdb::protocol {

using layout::kOrderEntry_bytes;
using layout::kOrderLanes;
using layout::kOrderPlaces;
using layout::kOrderRows;
using layout::OrderWord;

namespace {

// Between two looks at the words of others, while a transaction waits for one of them.
constexpr std::uint64_t kPause_ns = 5'000;
constexpr std::uint64_t kLongestPause_ns = 200'000;
// A transaction of another worker is waited for so long before its slot is looked up, and again.
constexpr std::uint64_t kSuspect_ns = 20 * kMillisecond_ns;
constexpr std::uint32_t kClaims = 4 * kOrderLanes;

std::size_t places_for(std::size_t rows) {
  return std::max<std::size_t>(1, (rows + kOrderRows - 1) / kOrderRows);
}

// Numbers of the order are even, and not 0. (So none is kOrderOver.)
std::uint32_t number_behind(std::uint32_t number) {
  const std::uint32_t next = (number & ~1U) + 2;
  return next == 0 ? 2 : next;
}

}  // namespace

std::shared_ptr<Turn> Sequencer::enter(std::vector<OrderRow> rows) {
  auto turn = std::make_shared<Turn>(cluster_.executor());
  turn->rows = std::move(rows);
  turn->failure = failure_;
  if (closed_ && failure_.ok())
    turn->failure = Status(ErrorCode::connection_failure, "the connection to a memory server was ended");
  if (!turn->failure.ok()) return turn;
  if (without_lane_ || turn->rows.size() > kMaxRows) {
    turn->state = Turn::State::unordered;
    return turn;
  }
  if (waiting_.empty()) first_entered_ns_ = cluster_.executor().now_ns();
  waiting_.push_back(turn);
  if (running_) {
    changed_.notify_all();
  } else {
    running_ = true;
    cluster_.executor().spawn(gate_, run());
  }
  return turn;
}

void Sequencer::leave(Turn& turn) {
  const Turn::State state = std::exchange(turn.state, Turn::State::over);
  switch (state) {
    case Turn::State::waits:
      std::erase_if(waiting_, [&turn](const auto& each) { return each.get() == &turn; });
      return;
    case Turn::State::announced:  // its epoch takes it out
    case Turn::State::unordered:
    case Turn::State::over:
      return;
    case Turn::State::ordered:
      break;
  }
  wake(queue_.remove(turn));
  free_places_of(turn);
  std::erase_if(ordered_, [&turn](const auto& each) { return each.get() == &turn; });
  if (closed_ || !failure_.ok()) return;
  if (running_) {
    changed_.notify_all();
  } else {
    running_ = true;
    cluster_.executor().spawn(gate_, run());
  }
}

void Sequencer::free_places_of(const Turn& turn) {
  for (const std::uint32_t place : turn.places)
    words_[place] = OrderWord{OrderWord::of(words_[place]).epoch, layout::kOrderOver}.value();
  free_places_.insert(free_places_.end(), turn.places.begin(), turn.places.end());
  words_changed_ = true;
}

reactor::Task<void> Sequencer::close() {
  closed_ = true;
  const Status ended(ErrorCode::connection_failure, "the connection to a memory server was ended");
  fail_all(ended);
  changed_.notify_all();
  co_await gate_.close();
  if (slot_ != nullptr) std::exchange(slot_, nullptr)->drop_holder();
}

void Sequencer::fail_waiting(const Status& why) {
  for (const auto& turn : std::exchange(waiting_, {})) {
    turn->failure = why;
    turn->changed.notify_all();
  }
}

void Sequencer::fail_all(const Status& why) {
  fail_waiting(why);
  for (const auto& turn : ordered_) {
    turn->failure = why;
    turn->changed.notify_all();
  }
}

void Sequencer::wake(const std::vector<OrderQueue::Ref>& free) {
  for (const OrderQueue::Ref& each : free) static_cast<Turn&>(*each).changed.notify_all();
}

bool Sequencer::waits_for_remote() const {
  return std::ranges::any_of(ordered_, [](const auto& turn) { return turn->waits_for_remote != 0; });
}

reactor::Task<void> Sequencer::run() {
  reactor::Executor& executor = cluster_.executor();
  std::uint64_t pause_ns = 0;
  while (failure_.ok()) {
    Status status;
    const bool waits = !waiting_.empty() && !closed_;
    if (waits && slot_ == nullptr) {
      status = co_await take_lane();
      if (!status.ok() && slot_ == nullptr && !cluster_.failed()) {
        fail_waiting(status);  // no slot is to be had now
      } else if (!status.ok()) {
        failure_ = status;
      } else if (without_lane_) {
        for (const auto& turn : std::exchange(waiting_, {})) {
          turn->state = Turn::State::unordered;
          turn->changed.notify_all();
        }
      }
      continue;
    }
    if (slot_ != nullptr && slot_->exhausted() && ordered_.empty() && !closed_) {
      const std::shared_ptr<txn::ExecutionSlot> next = slot_keeper_.acquire_now();
      if (next != nullptr) {
        failure_ = co_await change_slot(next);
        continue;
      }
    }
    const std::uint64_t now_ns = executor.now_ns();
    const bool has_room = waits && places_for(waiting_.front()->rows.size()) <= free_places_.size();
    if (has_room && (now_ns >= epoch_ends_ns() || waiting_.size() >= free_places_.size())) {
      status = co_await run_epoch();
      pause_ns = 0;
    } else if (waits_for_remote() && !closed_) {
      const std::uint64_t before = changes_;
      status = co_await poll();
      if (changes_ != before) pause_ns = 0;
      if (status.ok() && waits_for_remote()) {
        pause_ns = std::min(pause_ns + kPause_ns, kLongestPause_ns);
        std::uint64_t until_ns = executor.now_ns() + pause_ns;
        if (has_room) until_ns = std::min(until_ns, epoch_ends_ns());
        co_await changed_.wait_until(until_ns);
      }
    } else if (words_changed_) {
      add_words();
      status = co_await batches_.run_in_background(counters_, Stage::lock);
      pause_ns = 0;
    } else if (waits) {
      co_await changed_.wait_until(has_room ? epoch_ends_ns() : ~std::uint64_t{0});
    } else {
      break;
    }
    failure_ = status;
  }
  if (!failure_.ok()) {
    failure_ = lost_connection(failure_);
    fail_all(failure_);
  }
  running_ = false;
}

// --- the lane ---

reactor::Task<Status> Sequencer::take_lane() {
  auto acquired = co_await slot_keeper_.acquire();
  if (!acquired.ok()) co_return acquired.status();
  // It must not be closed: the lane would count as a dead worker's.
  slot_ = std::move(*acquired);
  slot_->add_holder();
  const layout::RegionMap& map = cluster_.region_map(0);
  lanes_ = {0, layout::order_lanes_offset(map.vector_offset, map.vector_capacity)};
  if (!seen_) {
    const std::size_t most_bytes = layout::order_words_offset(kOrderLanes);
    seen_ = fabric::LocalBuffer(cluster_.pool(), most_bytes);
    std::memset(seen_.data(), 0, most_bytes);
    own_words_ = fabric::LocalBuffer(cluster_.pool(), layout::kOrderWords_bytes);
  }
  const fabric::LocalBuffer found(cluster_.pool(), 8);
  for (std::uint32_t claim = 0; claim < kClaims; ++claim) {
    batches_.read(lanes_, seen_.data(), layout::kOrderOwners_bytes);
    Status status = co_await batches_.run_in_background(counters_, Stage::lock);
    if (!status.ok()) co_return status;
    bool any = false;
    for (std::uint32_t lane = 0; lane < kOrderLanes; ++lane) any = any || owner(lane) != 0;
    if (any) status = co_await slots_.refresh(&counters_);
    if (!status.ok()) co_return status;
    std::uint32_t lane = 0;
    const auto taken = [this](std::uint32_t each) {
      return owner(each) != 0 && slots_.leased(static_cast<std::uint32_t>(owner(each)));
    };
    while (lane < kOrderLanes && taken(lane)) ++lane;
    if (lane == kOrderLanes) break;
    layout::store_word(found.data(), ~owner(lane));
    batches_.compare_and_swap(lanes_ + 8 * lane, owner(lane), slot_->slot(), found.data());
    status = co_await batches_.run_in_background(counters_, Stage::lock);
    if (!status.ok()) co_return status;
    if (layout::load_word(found.data()) != owner(lane)) continue;
    lane_ = lane;
    note_lanes();
    lanes_in_use_ = std::max(lanes_in_use_, lane + 1);
    for (std::uint32_t place = kOrderPlaces; place > 0; --place) free_places_.push_back(place - 1);
    co_return co_await clear_lane();
  }
  without_lane_ = true;
  std::exchange(slot_, nullptr)->drop_holder();
  co_return Status();
}

// The other slot owns the lane from now on. No transaction has a place there, and no worker takes the lane:
// it is leased.
reactor::Task<Status> Sequencer::change_slot(std::shared_ptr<txn::ExecutionSlot> next) {
  next->add_holder();
  const fabric::LocalBuffer found(cluster_.pool(), 8);
  add_words();
  batches_.compare_and_swap(lanes_ + 8 * lane_, slot_->slot(), next->slot(), found.data());
  Status status = co_await batches_.run_in_background(counters_, Stage::lock);
  std::swap(slot_, next);
  next->drop_holder();
  co_return status;
}

// Frees the places of its last owner's transactions. Others may have seen their words as this owner's, and
// may look again much later: so its epochs come behind theirs.
reactor::Task<Status> Sequencer::clear_lane() {
  batches_.read(lanes_ + layout::order_words_offset(lane_), own_words_.data(), layout::kOrderWords_bytes);
  Status status = co_await batches_.run_in_background(counters_, Stage::lock);
  if (!status.ok()) co_return status;
  for (std::uint32_t place = 0; place < kOrderPlaces; ++place) {
    const std::uint32_t epoch = OrderWord::of(own_words_.word(place)).epoch;
    if (epoch != 0 && (epoch_ == 0 || layout::later(epoch, epoch_))) epoch_ = epoch;
  }
  words_.fill(OrderWord{epoch_, layout::kOrderOver}.value());
  add_words();
  co_return co_await batches_.run_in_background(counters_, Stage::lock);
}

void Sequencer::add_words() {
  words_changed_ = false;
  std::memcpy(own_words_.data(), words_.data(), layout::kOrderWords_bytes);
  batches_.write(lanes_ + layout::order_words_offset(lane_), own_words_.data(), layout::kOrderWords_bytes);
}

void Sequencer::add_look() {
  batches_.read(lanes_, seen_.data(), layout::order_words_offset(lanes_in_use_));
}

// A lane that has been taken since the last look may have been used before this one: this reads it, too.
reactor::Task<Status> Sequencer::look() {
  for (std::uint32_t lanes = 0; lanes != lanes_in_use_;) {
    lanes = lanes_in_use_;
    add_look();
    Status status = co_await batches_.run_in_background(counters_, Stage::lock);
    if (!status.ok()) co_return status;
    note_lanes();
  }
  co_return Status();
}

void Sequencer::add_entry(const Turn& turn, std::byte* buffer) {
  std::size_t begin = 0;
  for (const std::uint32_t place : turn.places) {
    const std::size_t count = std::min<std::size_t>(turn.rows.size() - begin, kOrderRows);
    const auto count_word = static_cast<std::uint32_t>(count);
    std::memset(buffer, 0, kOrderEntry_bytes);
    std::memcpy(buffer, &count_word, 4);
    if (count != 0) std::memcpy(buffer + 4, turn.rows.data() + begin, 4 * count);
    batches_.write(lanes_ + layout::order_entry_offset(lane_, place), buffer, (4 + 4 * count + 7) / 8 * 8);
    buffer += kOrderEntry_bytes;
    begin += count;
  }
}

// --- epochs ---

std::vector<std::shared_ptr<Turn>> Sequencer::take_epoch() {
  std::vector<std::shared_ptr<Turn>> turns;
  while (!waiting_.empty()) {
    Turn& turn = *waiting_.front();
    const std::size_t places = places_for(turn.rows.size());
    if (places > free_places_.size()) break;
    turn.places.assign(free_places_.end() - static_cast<std::ptrdiff_t>(places), free_places_.end());
    free_places_.resize(free_places_.size() - places);
    turn.state = Turn::State::announced;
    turns.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
  }
  first_entered_ns_ = cluster_.executor().now_ns();  // of those that are left
  return turns;
}

reactor::Task<Status> Sequencer::run_epoch() {
  const std::vector<std::shared_ptr<Turn>> turns = take_epoch();
  ordered_.insert(ordered_.end(), turns.begin(), turns.end());
  if (++epoch_ == 0) ++epoch_;
  const fabric::OperationCounters before = counters_;
  entries_ = fabric::LocalBuffer(cluster_.pool(), std::size_t{kOrderPlaces} * kOrderEntry_bytes);
  std::byte* buffer = entries_.data();
  for (const auto& turn : turns) {
    add_entry(*turn, buffer);
    buffer += turn->places.size() * kOrderEntry_bytes;
    for (const std::uint32_t place : turn->places) words_[place] = OrderWord{epoch_, 0}.value();
  }
  add_words();
  Status status = co_await look();
  if (!status.ok()) co_return status;

  std::uint32_t number = greatest_seen();
  for (const auto& turn : turns) {
    number = number_behind(number);
    turn->number = number;
    turn->slot = slot_->slot();
    turn->sequence = ++last_sequence_;
    for (const std::uint32_t place : turn->places) words_[place] = OrderWord{epoch_, number}.value();
  }
  last_number_ = number;
  std::vector<Unknown> unknown = find_unknown(0);
  add_words();
  add_rows_of(unknown);
  status = co_await look();
  if (!status.ok()) co_return status;
  add_remote(unknown);
  note_words();
  unknown = find_unknown(number);
  if (!unknown.empty()) {
    add_rows_of(unknown);
    status = co_await batches_.run_in_background(counters_, Stage::lock);
    if (!status.ok()) co_return status;
    add_remote(unknown);
  }

  const fabric::OperationCounters spent = counters_ - before;
  for (const auto& turn : turns) {
    turn->spent.round_trips = spent.round_trips;
    if (turn == turns.front()) turn->spent = spent;
    if (turn->state == Turn::State::over) {  // it did not wait
      free_places_of(*turn);
      std::erase(ordered_, turn);
      continue;
    }
    turn->state = Turn::State::ordered;
    queue_.add(turn);
    if (turn->may_go()) turn->changed.notify_all();
  }
  co_return Status();
}

std::uint32_t Sequencer::greatest_seen() const {
  std::uint32_t greatest = last_number_;
  for (std::uint32_t lane = 0; lane < lanes_in_use_; ++lane) {
    if (lane == lane_ || owner(lane) == 0) continue;
    for (std::uint32_t place = 0; place < kOrderPlaces; ++place) {
      const OrderWord word = seen(lane, place);
      if (word.free() || word.number == 0) continue;
      if (greatest == 0 || layout::later(word.number, greatest)) greatest = word.number;
    }
  }
  return greatest;
}

std::vector<Sequencer::Unknown> Sequencer::find_unknown(std::uint32_t number) const {
  std::vector<Unknown> unknown;
  for (std::uint32_t lane = 0; lane < lanes_in_use_; ++lane) {
    if (lane == lane_ || owner(lane) == 0) continue;
    const auto dead = dead_.find(lane);
    if (dead != dead_.end() && dead->second == owner(lane)) continue;
    for (std::uint32_t place = 0; place < kOrderPlaces; ++place) {
      const OrderWord word = seen(lane, place);
      if (word.free()) continue;
      if (number != 0 && word.number != 0 && layout::later(word.number, number)) continue;
      const RemoteKey key{lane, place, static_cast<std::uint32_t>(owner(lane)), word.epoch};
      if (!remote_.contains(key)) unknown.push_back({key, word.number, unknown.size()});
    }
  }
  return unknown;
}

void Sequencer::add_rows_of(std::vector<Unknown>& unknown) {
  if (unknown.empty()) return;
  rows_ = fabric::LocalBuffer(cluster_.pool(), unknown.size() * kOrderEntry_bytes);
  for (const Unknown& each : unknown) {
    batches_.read(lanes_ + layout::order_entry_offset(each.key.lane, each.key.place),
                  rows_.data() + each.position * kOrderEntry_bytes, kOrderEntry_bytes);
  }
}

// The rows are those of that epoch, or the place has been used again, and the next look shows that.
void Sequencer::add_remote(const std::vector<Unknown>& unknown) {
  for (const Unknown& each : unknown) {
    const std::byte* const entry = rows_.data() + each.position * kOrderEntry_bytes;
    std::uint32_t count = 0;
    std::memcpy(&count, entry, 4);
    auto transaction = std::make_shared<OrderedTransaction>();
    transaction->rows.resize(std::min(count, kOrderRows));
    if (!transaction->rows.empty())
      std::memcpy(transaction->rows.data(), entry + 4, 4 * transaction->rows.size());
    normalize(transaction->rows);
    transaction->number = each.number;
    transaction->slot = each.key.slot;
    transaction->remote = true;
    queue_.add(transaction);
    remote_[each.key] = {std::move(transaction), cluster_.executor().now_ns()};
  }
}

void Sequencer::note_words() {
  std::erase_if(remote_, [this](auto& each) {
    const RemoteKey& key = each.first;
    OrderedTransaction& transaction = *each.second.transaction;
    const OrderWord word = seen(key.lane, key.place);
    if (owner(key.lane) != key.slot || word.epoch != key.epoch || word.free()) {
      ++changes_;
      wake(queue_.remove(transaction));
      return true;
    }
    if (transaction.number == 0 && word.number != 0) {
      ++changes_;
      wake(queue_.settle(transaction, word.number));
    }
    return false;
  });
}

void Sequencer::note_lanes() {
  for (std::uint32_t lane = lanes_in_use_; lane < kOrderLanes; ++lane) {
    if (owner(lane) != 0) lanes_in_use_ = lane + 1;
  }
}

// --- others ---

reactor::Task<Status> Sequencer::poll() {
  if (words_changed_) add_words();
  add_look();
  Status status = co_await batches_.run_in_background(counters_, Stage::lock);
  if (!status.ok()) co_return status;
  note_words();
  co_return co_await look_for_dead();
}

reactor::Task<Status> Sequencer::look_for_dead() {
  const std::uint64_t now_ns = cluster_.executor().now_ns();
  if (now_ns < slots_.refreshed_ns() + kSuspect_ns) co_return Status();
  const bool suspect = std::ranges::any_of(remote_, [now_ns](const auto& each) {
    return !each.second.transaction->followers.empty() && now_ns >= each.second.seen_ns + kSuspect_ns;
  });
  if (!suspect) co_return Status();
  Status status = co_await slots_.refresh(&counters_);
  if (!status.ok()) co_return status;
  std::erase_if(remote_, [this](auto& each) {
    const RemoteKey& key = each.first;
    if (each.second.seen_ns >= slots_.refreshed_ns() || slots_.leased(key.slot)) return false;
    dead_[key.lane] = key.slot;
    wake(queue_.remove(*each.second.transaction));
    return true;
  });
  co_return Status();
}

}  // namespace namdb::protocol
