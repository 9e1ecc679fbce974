// Puts a worker's transactions in order with those of all other workers before they run (CALVIN, as RCC has
// it in its §4.6). The worker collects its transactions for an epoch; all that it has then get their numbers
// together, by operations on the lanes in memory server 0's region (common/layout/order_lanes.h):
//
//   1  WRITEs the rows of each, and words that announce them; READs all words behind that.
//   2  Their numbers are greater than all that it saw. WRITEs words with the numbers; READs all words behind
//      that, and the rows of others' transactions that 1 has shown.
//   3  Only if 2 has shown others that may come before: READs their rows, too.
//
// It is Lamport's bakery. A transaction that 2 does not show was announced after the numbers stood there, so
// that its own number is greater. One that is only announced may come before, until its number is known. So
// after 3 the worker knows all that come before its own (order_queue.h): the inputs of all workers are in
// the region, every worker reads them, and all agree on the order. No worker waits for a worker that has
// nothing to run, and no memory server takes part.
//
// A transaction that is over is taken out by a WRITE of its words (kOrderOver). While a transaction of this
// worker waits for another worker's, the words are READ again and again. A worker that died is known by its
// slot: once that is not leased any more, the words in its lane do not count.
//
// Epochs are steps of one coroutine, which alone writes to the lane, and runs only while there is work.
//
// The order decides which transactions wait for which others before they take locks. It protects no data:
// locks and validation do, whatever the order is.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "common/base/error.h"
#include "common/fabric/counters.h"
#include "common/layout/order_lanes.h"
#include "common/reactor/executor.h"
#include "compute/cluster/batch_set.h"
#include "compute/protocol/calvin/order_queue.h"
#include "compute/txn/execution_slot.h"
#include "compute/txn/slot_keeper.h"
#include "compute/txn/snapshot.h"

namespace namdb::protocol {

// One transaction of this worker in the order.
struct Turn : OrderedTransaction {
  explicit Turn(reactor::Executor& executor) : changed(executor) {}

  enum class State : std::uint8_t { waits, announced, ordered, unordered, over };
  State state = State::waits;
  Status failure;                     // the connection is over, or there is no slot for a lane
  fabric::OperationCounters spent;    // on its place in the order
  std::vector<std::uint32_t> places;  // in the lane
  reactor::Event changed;             // when it may go, at the latest
};

class Sequencer {
 public:
  // More rows than these are in no order.
  static constexpr std::size_t kMaxRows = std::size_t{8} * layout::kOrderRows;

  // All outlive this.
  Sequencer(txn::Cluster& cluster, txn::SlotKeeper& slot_keeper, txn::SlotDirectory& slots,
            std::uint64_t epoch_ns)
      : cluster_(cluster),
        slot_keeper_(slot_keeper),
        slots_(slots),
        epoch_ns_(epoch_ns),
        batches_(cluster),
        changed_(cluster.executor()) {}

  // Takes a transaction with those rows (normalize()) into the next epoch. It may go once its state is
  // ordered and may_go(); or unordered, where there is no lane left or it has too many rows.
  std::shared_ptr<Turn> enter(std::vector<OrderRow> rows);
  // The transaction is over, or does not wait any longer.
  void leave(Turn& turn);
  // A number for a transaction that is in no order: odd, while those of the order are even.
  std::uint32_t unordered_number() { return last_unordered_ += 2; }
  // Ends what is under way; before the slots are given back, and before destruction.
  reactor::Task<void> close();

 private:
  struct RemoteKey {
    std::uint32_t lane;
    std::uint32_t place;
    std::uint32_t slot;
    std::uint32_t epoch;
    friend auto operator<=>(const RemoteKey&, const RemoteKey&) = default;
  };
  struct Remote {
    OrderQueue::Ref transaction;
    std::uint64_t seen_ns = 0;
  };
  // Rows that are READ, of a transaction with that word.
  struct Unknown {
    RemoteKey key;
    std::uint32_t number = 0;
    std::size_t position = 0;  // in the buffer
  };

  reactor::Task<void> run();
  reactor::Task<Status> take_lane();
  reactor::Task<Status> clear_lane();
  // The slot that owns the lane is at its end.
  reactor::Task<Status> change_slot(std::shared_ptr<txn::ExecutionSlot> next);
  reactor::Task<Status> run_epoch();
  reactor::Task<Status> poll();
  // Finds dead workers among those whose transactions this worker waits for; these transactions count no
  // more.
  reactor::Task<Status> look_for_dead();
  // Fails the transactions that have no place yet.
  void fail_waiting(const Status& why);
  void fail_all(const Status& why);
  void wake(const std::vector<OrderQueue::Ref>& free);
  // The next transactions that have places in the lane; all that are waiting, if there is room.
  std::vector<std::shared_ptr<Turn>> take_epoch();
  // The transaction is over: others find that out.
  void free_places_of(const Turn& turn);
  bool waits_for_remote() const;
  // While none of this worker's transactions is under way, none is expected soon. An epoch takes at most a
  // small part of the time that a transaction has.
  std::uint64_t epoch_ends_ns() const {
    if (ordered_.empty()) return 0;
    return first_entered_ns_ + std::min(epoch_ns_, cluster_.max_transaction_ns() / 16);
  }

  // --- operations ---
  void add_entry(const Turn& turn, std::byte* buffer);
  // WRITEs this lane's words as they are now.
  void add_words();
  void add_look();
  // Posts what has been added, and a look.
  reactor::Task<Status> look();
  void add_rows_of(std::vector<Unknown>& unknown);
  std::uint64_t owner(std::uint32_t lane) const { return seen_.word(lane); }
  layout::OrderWord seen(std::uint32_t lane, std::uint32_t place) const {
    return layout::OrderWord::of(seen_.word(layout::order_words_offset(lane) / 8 + place));
  }
  std::uint32_t greatest_seen() const;
  // Notes the lanes that were in use at the last look.
  void note_lanes();
  // Takes over from the words the state of the remote transactions that are known.
  void note_words();
  // Transactions whose rows are to be READ: those that may come before `number`; 0: all.
  std::vector<Unknown> find_unknown(std::uint32_t number) const;
  void add_remote(const std::vector<Unknown>& unknown);

  txn::Cluster& cluster_;
  txn::SlotKeeper& slot_keeper_;
  txn::SlotDirectory& slots_;
  std::uint64_t epoch_ns_;
  txn::BatchSet batches_;
  fabric::OperationCounters counters_;  // that no transaction has counted yet
  layout::GlobalAddress lanes_;
  std::shared_ptr<txn::ExecutionSlot> slot_;  // that has the lane; null: there is no lane
  std::uint32_t lane_ = 0;
  std::uint32_t lanes_in_use_ = 1;  // at least so many
  bool without_lane_ = false;       // all are taken
  std::array<std::uint64_t, layout::kOrderPlaces> words_{};
  bool words_changed_ = false;
  std::vector<std::uint32_t> free_places_;
  std::uint32_t epoch_ = 0;
  std::uint32_t last_number_ = 0;
  std::uint32_t last_unordered_ = 1;
  std::uint32_t last_sequence_ = 0;

  std::deque<std::shared_ptr<Turn>> waiting_;
  std::uint64_t first_entered_ns_ = 0;
  std::vector<std::shared_ptr<Turn>> ordered_;  // of this worker, in the queue
  std::map<RemoteKey, Remote> remote_;
  OrderQueue queue_;
  std::map<std::uint32_t, std::uint64_t> dead_;  // slots by lanes
  std::uint64_t changes_ = 0;                    // of what is known of other workers' transactions

  fabric::LocalBuffer own_words_;
  fabric::LocalBuffer entries_;
  fabric::LocalBuffer seen_;
  fabric::LocalBuffer rows_;

  bool running_ = false;
  bool closed_ = false;
  Status failure_;
  reactor::Event changed_;
  reactor::Gate gate_;
};

}  // namespace namdb::protocol
