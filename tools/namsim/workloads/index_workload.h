// The clients of index_run.h: a table "things" with an index over columns that change, and transactions that
// compare ranges of it with full scans.
#pragma once

#include <cstdint>
#include <string>

#include "common/base/random.h"
#include "common/reactor/task.h"
#include "compute/api/engine.h"

namespace namdb::sim {

class IndexWorkload {
 public:
  static constexpr const char* kTable = "things";
  // Over (color, label DESC); there from the start.
  static constexpr const char* kByColor = "things_by_color";
  // Over (color, code), a hash index; there from the start.
  static constexpr const char* kByShade = "things_by_shade";
  // Over (code), unique.
  static constexpr const char* kByCode = "things_by_code";
  // Over (label, color DESC).
  static constexpr const char* kByLabel = "things_by_label";
  // A table that comes and goes with the index of its UNIQUE constraint.
  static constexpr const char* kAside = "aside";
  static constexpr const char* kAsideCode = "aside_code_key";

  explicit IndexWorkload(std::uint64_t keys) : keys_(keys) {}

  reactor::Task<Status> load(txn::Engine* engine);
  // One transaction. False when it did not commit.
  reactor::Task<bool> run_one(txn::Engine* engine, txn::Session* session, Random* draw);
  // Builds the unique index, or another one that it drops again; or builds one anew.
  reactor::Task<void> change_indexes(txn::Engine* engine, Random* draw);
  reactor::Task<void> change_aside(txn::Engine* engine, Random* draw);
  reactor::Task<void> rebuild_index(txn::Engine* engine, Random* draw);
  // Writes every row, and so meets all locks of dead compute servers; they are undone.
  reactor::Task<Status> touch_all(txn::Engine* engine);
  // Every index against a full scan; rows are counted.
  reactor::Task<Status> compare_all(txn::Engine* engine);

  const std::string& anomaly() const { return anomaly_; }
  std::uint64_t compared() const { return compared_; }
  std::uint64_t duplicates() const { return duplicates_; }
  std::uint64_t built() const { return built_; }
  std::uint64_t rebuilt() const { return rebuilt_; }
  std::uint64_t in_parts() const { return in_parts_; }
  std::uint64_t rows() const { return rows_; }

 private:
  void write(txn::Transaction& transaction, const storage::TableRef& table, txn::RowId row, std::int64_t id,
             Random& draw);
  // The entries of a hash index, as rows of a table, against those that the rows must have.
  reactor::Task<Status> compare_entries(txn::Transaction* transaction, storage::IndexRef index,
                                        const std::vector<layout::Row>* all);
  // `former`: the indexes that there were when the transaction began.
  reactor::Task<Status> compare(txn::Transaction* transaction, storage::TableRef table,
                                const std::vector<storage::IndexRef>* former, Random* draw);
  reactor::Task<Status> compare_index(txn::Transaction* transaction, storage::TableRef table,
                                      storage::IndexRef index, const std::vector<layout::Row>* all,
                                      txn::IndexRange range);
  // The same range, as rows of the transaction's read set.
  reactor::Task<Status> compare_found(txn::Transaction* transaction, storage::TableRef table,
                                      storage::IndexRef index, std::vector<std::string> expected,
                                      txn::IndexRange range);
  // Empty: no two rows have the same code.
  static std::string duplicates_of(const std::vector<layout::Row>& all);
  // A wrong observation counts only if the transaction can commit.
  reactor::Task<Status> report(txn::Transaction* transaction, std::string mistake);
  void fail(const std::string& what) {
    if (anomaly_.empty()) anomaly_ = what;
  }

  std::uint64_t keys_;
  std::string anomaly_;
  std::uint64_t compared_ = 0;
  std::uint64_t duplicates_ = 0;
  std::uint64_t built_ = 0;
  std::uint64_t rebuilt_ = 0;
  std::uint64_t in_parts_ = 0;
  std::uint64_t rows_ = 0;
};

}  // namespace namdb::sim
