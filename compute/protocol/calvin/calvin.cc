#include "compute/protocol/calvin/calvin.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "common/layout/age.h"
#include "compute/cluster/stage_times.h"

namespace namdb::protocol {

using layout::HeaderWord;
using txn::RowId;

namespace {

// A transaction that waits for its turn looks so often whether it is to wait any longer.
constexpr std::uint64_t kCheck_ns = kMillisecond_ns;

OrderRow order_row_of(const Access& access, bool writes) {
  return order_row(access.table->id, access.key_hash, writes);
}

class CalvinProtocol final : public LockingProtocol {
 public:
  explicit CalvinProtocol(txn::WorkerState& worker)
      : LockingProtocol(worker),
        sequencer_(worker.cluster, worker.slot_keeper, worker.slots, worker.epoch_ns) {}

  std::unique_ptr<ConcurrencyControl> control_of(TransactionState& transaction) override {
    return std::make_unique<Calvin>(transaction, lockers(), sequencer_);
  }
  reactor::Task<void> close() override {
    co_await LockingProtocol::close();
    co_await sequencer_.close();
  }

 private:
  Sequencer sequencer_;
};

}  // namespace

reactor::Task<Status> Calvin::Beginning::prepare() {
  Status status = co_await LatestVisibility::prepare();
  if (!status.ok() || calvin_.entered_ || calvin_.transaction().session().ordered_rows.empty())
    co_return status;
  co_return co_await calvin_.take_turn();
}

Calvin::Calvin(TransactionState& transaction, LockerState& lockers, Sequencer& sequencer)
    : TwoPhaseLocking(transaction, lockers), sequencer_(sequencer), beginning_(transaction.worker(), *this) {
  decide_by({.visibility = &beginning_, .locking = this, .validation = validation()});
}

Calvin::~Calvin() {
  if (turn_ != nullptr) sequencer_.leave(*turn_);
}

std::vector<OrderRow> Calvin::asked_rows(bool read_before) const {
  std::vector<OrderRow> rows;
  for (const Access& access : transaction().accesses()) {
    const bool writes = !access.only_read || access.write != WriteKind::none;
    if (read_before || writes || !access.fetched()) rows.push_back(order_row_of(access, writes));
  }
  for (const RowId row : found_) {
    if (row < transaction().accesses().size())
      rows.push_back(order_row_of(transaction().accesses()[row], true));
  }
  return rows;
}

reactor::Task<Status> Calvin::take_turn() {
  entered_ = true;
  std::vector<OrderRow> rows = asked_rows(false);
  const std::vector<OrderRow>& before = transaction().session().ordered_rows;
  rows.insert(rows.end(), before.begin(), before.end());
  normalize(rows);
  txn::WorkerState& worker = transaction().worker();
  turn_ = sequencer_.enter(std::move(rows));
  std::uint64_t since_ns = 0;  // it has its place, and waits for others
  const txn::StageTimer timer(worker.cluster.stage_times(), worker.executor,
                              transaction().mutable_counters());
  Status status;
  while (status.ok()) {
    if (!turn_->failure.ok()) {
      status = turn_->failure;
    } else if (turn_->state == Turn::State::unordered) {
      turn_.reset();
      break;
    } else if (turn_->may_go()) {
      number_ = turn_->number;
      transaction().mutable_counters() += turn_->spent;
      break;
    } else {
      co_await turn_->changed.wait_until(worker.executor.now_ns() + kCheck_ns);
      if (since_ns == 0 && turn_->state == Turn::State::ordered) since_ns = worker.executor.now_ns();
      if (since_ns != 0) status = transaction().check_lock_wait({}, since_ns);
      if (!status.ok()) break;
      status = transaction().check_going_on();
    }
  }
  timer.end(txn::Wait::locked_by_other);
  if (!status.ok()) sequencer_.leave(*std::exchange(turn_, nullptr));
  co_return status;
}

std::uint32_t Calvin::draw_priority() {
  return number_ != 0 ? number_ : sequencer_.unordered_number();
}

bool Calvin::declared(const Access& access, bool writes) const {
  const auto has = [this, &access](bool written) {
    return std::ranges::binary_search(turn_->rows, order_row_of(access, written));
  };
  return turn_ != nullptr && (has(true) || (!writes && has(false)));
}

reactor::Task<Status> Calvin::before_fetch() {
  Status status = co_await beginning_.prepare();
  if (!status.ok()) co_return status;
  if (!entered_) status = co_await take_turn();
  if (!status.ok()) co_return status;
  auto& accesses = transaction().accesses();
  waits_always_ = !holds_rows();
  for (std::size_t i = std::min(looked_at_, accesses.size()); i < accesses.size(); ++i) {
    Access& access = accesses[i];
    if (access.fetched() || declared(access, !access.only_read)) continue;
    waits_always_ = false;
    if (access.only_read) continue;
    access.only_read = true;
    found_.push_back(static_cast<RowId>(i));
  }
  looked_at_ = accesses.size();
  co_return co_await TwoPhaseLocking::before_fetch();
}

reactor::Task<Status> Calvin::after_fetch(std::span<const RowId> rows) {
  reactor::PooledVector<RowId> to_lock;
  std::ranges::copy_if(rows, std::back_inserter(to_lock), [this](RowId row) {
    const Access& access = transaction().accesses()[row];
    return !access.only_read && declared(access, true);
  });
  Status status;
  if (!to_lock.empty()) status = co_await TwoPhaseLocking::after_fetch(to_lock);
  waits_always_ = false;
  co_return status;
}

void Calvin::after_install() {
  TwoPhaseLocking::after_install();
  if (turn_ != nullptr) sequencer_.leave(*turn_);
}

ReadDecision Calvin::meet_lock(HeaderWord lock) {
  const layout::Stamp other = lock.stamp();
  const bool in_no_order = (other.counter & 1U) != 0;
  if (other.slot == layout::kCollectorSlot || in_no_order || waits_always_ || !holds_rows())
    return ReadDecision::locked_by_other;
  return layout::older(other, own_stamp()) ? ReadDecision::locked_by_other : ReadDecision::conflict;
}

GenerationEnd Calvin::end(std::uint64_t generation, const Status& outcome, bool wrote) {
  std::vector<OrderRow>& next = transaction().session().ordered_rows;
  next.clear();
  if (!outcome.ok() && outcome.info().retry) {
    next = asked_rows(true);
    normalize(next);
    if (next.size() > Sequencer::kMaxRows) next.clear();
  }
  const GenerationEnd ends = TwoPhaseLocking::end(generation, outcome, wrote);
  if (turn_ != nullptr) sequencer_.leave(*turn_);
  return ends;
}

std::unique_ptr<WorkerProtocol> make_calvin_protocol(txn::WorkerState& worker) {
  return std::make_unique<CalvinProtocol>(worker);
}

}  // namespace namdb::protocol
