// Sequences: each number is given at most once, to any transaction that asks, even if that transaction
// aborts.
//
// A sequence is a row of the table kTable. A worker takes a block of numbers from it by a transaction of its
// own, and gives them without further ado: most numbers cost nothing. So numbers of several workers do not
// come in the order of time, and those of a block that are left when a worker ends are never given. Where
// blocks are of one number, tasks that ask at the same time take theirs together.
//
// A change of the sequence (restart(), alter(), drop()) draws another epoch for its row. A worker trusts its
// block for kTrusted_ns after it last saw the row. Then it checks that the epoch is still the same; if it is
// not, the worker drops the rest of the block. A change returns once all blocks of before have lost that
// trust: so a task that asks afterwards, on any compute server, gets numbers as the change has it.
//
// One for each worker; belongs to the executor's thread.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "common/reactor/executor.h"
#include "common/reactor/task.h"
#include "compute/api/engine.h"
#include "compute/api/sequence_change.h"
#include "compute/api/table.h"
#include "compute/sequences/sequence_row.h"

namespace namdb::txn {

class Sequences {
 public:
  static constexpr const char* kTable = storage::kSequencesTable;
  // The block of a sequence that fills a column.
  static constexpr std::int64_t kBlockNumbers = kColumnBlockNumbers;
  static constexpr std::uint64_t kTrusted_ns = 10 * kMillisecond_ns;
  // Longer: a worker may have read its clock just before.
  static constexpr std::uint64_t kOutlasts_ns = 2 * kTrusted_ns;

  // The engine outlives this.
  explicit Sequences(Engine& engine) : engine_(engine) {}

  // Errors duplicate_table, and those of transactions. feature_not_supported: the table is of a time when
  // sequences had no such options.
  reactor::Task<Status> create(std::string name, SequenceDefinition definition);
  // One that fills a column with numbers up to `last`.
  reactor::Task<Status> create(std::string name, std::int64_t first, std::int64_t last);
  // ALTER SEQUENCE. undefined_table, invalid_parameter_value.
  reactor::Task<Status> alter(std::string name, SequenceChange change);
  // The next number of each will be the one that it starts with. undefined_table.
  reactor::Task<Status> restart_all(std::vector<std::string> names);
  reactor::Task<Result<bool>> exists(std::string name);
  // All, in no order.
  reactor::Task<Result<std::vector<NamedSequence>>> list();
  // Sequences that do not exist are passed over.
  reactor::Task<Status> drop(std::vector<std::string> names);
  // The next number. undefined_table; sequence_limit_exceeded behind the last one.
  reactor::Task<Result<std::int64_t>> next(std::string name);
  // The next number will be `value`, or the one behind it if that counts as given. undefined_table,
  // numeric_out_of_range.
  reactor::Task<Status> restart(std::string name, std::int64_t value, bool is_given);

 private:
  // This worker's part of a sequence.
  struct Taken {
    explicit Taken(reactor::Executor& executor) : changed(executor) {}
    SequenceBlock block;
    std::int64_t epoch = 0;
    std::uint64_t trusted_until_ns = 0;
    bool is_busy = false;      // a task looks at the row
    std::int64_t waiting = 0;  // tasks, for that one
    reactor::Event changed;
  };
  reactor::Task<Status> list_once(std::vector<NamedSequence>* found);
  // The row in a transaction of its own.
  struct Open {
    std::unique_ptr<Session> session;
    std::unique_ptr<Transaction> transaction;  // null: there is no table of sequences
    RowId id = 0;
    bool found = false;
    SequenceState state;
  };
  enum class Purpose : std::uint8_t { reads, writes };
  // Runs a transaction until it meets no conflict. `repeatable`: also until its outcome is known.
  template <typename Once>
  reactor::Task<Status> retry(bool repeatable, Once once);
  reactor::Task<Status> open(std::string name, Purpose purpose, Open* row);
  // Applies `change` to the state, and commits it.
  template <typename Change>
  reactor::Task<Status> change_once(const std::string* name, Change change);
  // The same, again and again, with another epoch. `*outlasts`: there may be blocks of before.
  template <typename Change>
  reactor::Task<Status> change_all(const std::string* name, Change change, bool* outlasts);
  reactor::Task<Status> insert(std::string name, SequenceDefinition definition);
  reactor::Task<Status> erase(const std::string* name, bool* outlasts);
  reactor::Task<Status> find(const std::string* name, Open* row);
  reactor::Task<Status> find_once(const std::string* name, Open* row);
  bool trusts(const Taken& taken) const;
  std::shared_ptr<Taken> taken_of(const std::string& name);
  // Whether the block still counts, or another one; it is trusted then.
  reactor::Task<Status> look(const std::string* name, Taken* taken);
  reactor::Task<Status> outlast(Status status, bool is_needed);

  Engine& engine_;
  absl::flat_hash_map<std::string, std::shared_ptr<Taken>> taken_;
};

}  // namespace namdb::txn
