// CALVIN, as RCC has it (its §4.6), on memory that all compute servers share: transactions are put in order
// before they run, epoch by epoch (compute/protocol/calvin/sequencer.h), and take their locks in that order.
//
//   declared   the rows that a transaction asks for by key in its first fetch() of rows that it may write:
//              for a procedure that asks for all of them at once its whole read and write set. It waits there
//              until every transaction that comes before it and shares a row with it is over, and then locks
//              what it may write as it READs it, as NOWAIT does (two_phase_locking.h).
//   found      other rows, of later fetches, scans and ranges, are READ without locks, validated at commit,
//              and locked then if they are written. Where that fails the transaction has been its own
//              reconnaissance: the next attempt of its session declares all rows that this one has asked for,
//              before it reads anything (OLLP).
//   metadata   the lanes of common/layout/order_lanes.h; beside them the record's header word, locked as
//              ⟨slot, number, locked⟩: the number in the order is even. A transaction that is in no order has
//              an odd one, and locks rows at its commit alone.
//   why it is serializable   by locks and validation, as under NOWAIT, whatever the order is.
//   why declared rows meet no conflict   no other transaction that declared them runs. A row may still be
//              locked by the install of an earlier transaction, or by the commit of a transaction that did
//              not declare it. Both end without waiting for locks of records, and this transaction waits for
//              them.
//   why there is no deadlock   a transaction that waits for its turn holds no lock, and waits for earlier
//              transactions. A transaction that holds locks waits for three kinds of locks: of declared rows,
//              see above; of earlier transactions; and of commits. If it meets any other lock, it gives way.
//   dead compute servers   a commit whose journal entry stands is finished by memory servers, as under all
//              protocols. Any other transaction of a dead server's epochs has changed nothing, and once its
//              slot is closed no transaction waits for it.
#pragma once

#include <memory>
#include <vector>

#include "compute/protocol/calvin/sequencer.h"
#include "compute/protocol/two_phase_locking/two_phase_locking.h"

namespace namdb::protocol {

class Calvin final : public TwoPhaseLocking {
 public:
  // All outlive it.
  Calvin(TransactionState& transaction, LockerState& lockers, Sequencer& sequencer);
  ~Calvin() override;

  reactor::Task<Status> before_fetch() override;
  reactor::Task<Status> after_fetch(std::span<const txn::RowId> rows) override;
  // Operations of this worker that are posted from now on find the rows installed and not locked.
  void after_install() override;
  ReadDecision meet_lock(layout::HeaderWord lock) override;
  GenerationEnd end(std::uint64_t generation, const Status& outcome, bool wrote) override;

 protected:
  std::uint32_t draw_priority() override;

 private:
  // A transaction that tries again waits for its turn before it reads anything.
  class Beginning final : public LatestVisibility {
   public:
    Beginning(txn::WorkerState& worker, Calvin& owner) : LatestVisibility(worker, owner), calvin_(owner) {}
    reactor::Task<Status> prepare() override;

   private:
    Calvin& calvin_;
  };

  reactor::Task<Status> take_turn();
  // `read_before`: those, too, that were only read and are there.
  std::vector<OrderRow> asked_rows(bool read_before) const;
  // Whether the transaction has declared that it reads the row, or that it writes it.
  bool declared(const Access& access, bool writes) const;

  Sequencer& sequencer_;
  Beginning beginning_;
  std::shared_ptr<Turn> turn_;  // null before, and where it is in no order
  std::uint32_t number_ = 0;
  bool entered_ = false;
  bool waits_always_ = false;      // a fetch is under way of declared rows only, and began without locks
  std::size_t looked_at_ = 0;      // rows
  std::vector<txn::RowId> found_;  // that are not declared, though they may be written
};

}  // namespace namdb::protocol
