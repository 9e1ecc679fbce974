// Ids of transactions, by which a client that lost its connection learns later what became of its COMMIT.
//
// The transaction itself records that it has committed: giving it an id adds a row to what it writes. So a
// transaction's outcome is what its data is, after any crash. The rows of the table kTable:
//
//   id, part 0   the id was given; by a transaction of its own, before the client learns of the id
//   id, part 1   committed = true: written by the transaction itself
//                committed = false: by others, once it cannot commit any more
//
//   part 0   part 1       outcome
//   none                  null: never given, or longer ago than kKept_us
//   there    there        committed, or aborted
//   there    none         aborted, if the slot in which it would have committed has ended: part 1 is written
//                         then, so that this stays the answer; else in progress
//
// Both writers of part 1 insert the same key, so at most one of them commits. So the answer "aborted" is
// never given for a transaction that commits later, even if its slot was wrongly taken for ended.
//
// Rows of ids that are older than kKept_us are erased, now and then as more ids are given. One for each
// worker; belongs to the executor's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/layout/row.h"
#include "common/reactor/executor.h"
#include "common/reactor/task.h"
#include "compute/api/engine.h"
#include "compute/api/table.h"

namespace namdb::txn {

enum class TransactionOutcome : std::uint8_t { in_progress, committed, aborted };

class TransactionIds {
 public:
  static constexpr const char* kTable = storage::kTransactionsTable;
  static constexpr std::int64_t kKept_us = std::int64_t{3600} * 1'000'000;
  static constexpr std::int64_t kErasePause_us = std::int64_t{60} * 1'000'000;

  // `wall_clock_us` may be empty: then nothing is ever too old. The engine outlives this.
  TransactionIds(Engine& engine, std::function<std::int64_t()> wall_clock_us)
      : engine_(engine), wall_clock_us_(std::move(wall_clock_us)) {}

  // Whether the table is of that shape. Others may have that name in databases of before it was reserved.
  static bool fits(const storage::Table& table);

  // A new id, greater than 0, of a transaction that is open and has none. It outlives the task. After an
  // error it can only be aborted.
  reactor::Task<Result<std::int64_t>> give(Transaction* transaction);
  // Of the transaction with that id; nullopt: it is not known. Errors are those of transactions.
  reactor::Task<Result<std::optional<TransactionOutcome>>> outcome(std::int64_t id);
  // The transaction with that id has ended without a commit. That is recorded in the background, if possible.
  void aborted(std::int64_t id);
  // Waits for what goes on in the background. Before destruction, if an id was given.
  reactor::Task<void> close();

 private:
  struct Given {
    std::int64_t id = 0;
    std::int64_t slot = 0;
    std::int64_t given_us = 0;
  };
  static layout::Row row_of(const storage::Table& table, const Given& given, std::int64_t part,
                            bool committed);
  reactor::Task<Result<storage::TableRef>> table();
  reactor::Task<Status> record_given(Given given);
  // One look; nullopt: its part 0 is not there.
  struct Rows {
    Given given;
    std::optional<bool> committed;
  };
  reactor::Task<Result<std::optional<Rows>>> read(std::int64_t id);
  // Inserts part 1 if part 0 is there and part 1 is not.
  reactor::Task<Status> record_aborted(std::int64_t id);
  reactor::Task<void> record_in_background(std::int64_t id);
  reactor::Task<void> erase_old();
  // Erases some; whether there may be more.
  reactor::Task<Result<bool>> erase_some(std::int64_t before_us);
  std::int64_t now_us() const { return wall_clock_us_ ? wall_clock_us_() : 0; }

  Engine& engine_;
  std::function<std::int64_t()> wall_clock_us_;
  storage::TableRef fitting_;   // the table, if it was found to be that
  std::int64_t erased_us_ = 0;  // when that was last begun
  bool erasing_ = false;
  reactor::Gate gate_;
};

}  // namespace namdb::txn
