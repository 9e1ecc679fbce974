// Sequences: numbers each of which is given at most once, to whichever transaction asks, also if it aborts.
//
// A sequence is a row of the table kTable. A worker takes a block of numbers from it by a transaction of its
// own, and gives them without further ado: most numbers cost nothing. So numbers of several workers do not
// come in the order of time, and those of a block that are left when a worker ends are never given.
//
// One for each worker; belongs to the executor's thread.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "common/layout/row.h"
#include "common/reactor/executor.h"
#include "common/reactor/task.h"
#include "compute/api/engine.h"
#include "compute/api/sequence_change.h"
#include "compute/api/table.h"

namespace namdb::txn {

class Sequences {
 public:
  static constexpr const char* kTable = storage::kSequencesTable;
  static constexpr std::int64_t kBlockNumbers = 32;

  // The engine outlives this.
  explicit Sequences(Engine& engine) : engine_(engine) {}

  // Errors duplicate_table, and those of transactions. feature_not_supported: the table is of a time when
  // sequences had no such options.
  reactor::Task<Status> create(std::string name, SequenceDefinition definition);
  // One that fills a column with numbers up to `last`: workers take kBlockNumbers at a time.
  reactor::Task<Status> create(std::string name, std::int64_t first, std::int64_t last);
  // ALTER SEQUENCE. Blocks of other workers are not taken back. undefined_table, invalid_parameter_value.
  reactor::Task<Status> alter(std::string name, SequenceChange change);
  reactor::Task<Result<bool>> exists(std::string name);
  // Those that do not exist are passed over.
  reactor::Task<Status> drop(std::vector<std::string> names);
  // The next number. undefined_table; sequence_limit_exceeded behind the last one.
  reactor::Task<Result<std::int64_t>> next(std::string name);
  // The next number will be `value`, or the one behind it if that counts as given. Blocks of other workers
  // are not taken back. undefined_table, numeric_out_of_range.
  reactor::Task<Status> restart(std::string name, std::int64_t value, bool is_given);

 private:
  struct Block {
    std::int64_t next = 0;
    std::int64_t left = 0;  // numbers
    std::int64_t step = 1;

    std::int64_t take() {
      const std::int64_t number = next;
      if (--left != 0) next += step;
      return number;
    }
  };
  // A change of a sequence's row, in one transaction: `value` is restart()'s; without one, it takes a block.
  struct Change {
    std::string name;
    std::optional<std::int64_t> value;
    bool is_given = false;
    Block block;
  };
  // Runs a transaction until it meets no conflict. `repeatable`: also until its outcome is known.
  template <typename Once>
  reactor::Task<Status> retry(bool repeatable, Once once);
  reactor::Task<Status> insert(std::string name, SequenceDefinition definition);
  reactor::Task<Status> find_once(const std::string* name, bool* found);
  reactor::Task<Status> alter_once(const std::string* name, const SequenceChange* change);
  reactor::Task<Status> change(Change* change);
  reactor::Task<Status> change_once(Change* change);
  reactor::Task<Status> erase(const std::vector<std::string>* names);

  Engine& engine_;
  absl::flat_hash_map<std::string, Block> blocks_;
};

}  // namespace namdb::txn
