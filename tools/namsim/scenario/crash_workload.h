// Transactions that say afterwards which of them happened, whole, in halves, or not at all: the small fixed
// scenario of the crash table (crash_run.h).
//
// An attempt has a number n. It sets bit n in two of the kShared rows, gives them the tag n, inserts the row
// kInserted + n, and erases a row that is its transaction's own. So the rows of a snapshot name the attempts
// that it has, several times over. A transaction is attempted until it commits or its outcome is unknown.
//
// Each transaction looks for the row that its client inserted last.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "compute/api/engine.h"
#include "compute/outcome/transaction_ids.h"

namespace namdb::sim {

enum class CrashClients : std::uint8_t {
  plain,
  // All but the last transaction of each client may be answered before they are on disk
  // (Transaction::answer_when_logged).
  early,
  // Each attempt is given an id, by which its outcome is asked for afterwards.
  with_ids
};

class CrashWorkload {
 public:
  static constexpr const char* kTable = "crashed";
  static constexpr const char* kAnother = "another";
  static constexpr const char* kByTag = "by_tag";
  static constexpr const char* kByTagHash = "by_tag_hash";
  static constexpr std::uint64_t kClients = 2;
  static constexpr std::uint64_t kTransactions = 3;  // of a client

  explicit CrashWorkload(CrashClients clients = CrashClients::plain)
      : early_(clients == CrashClients::early), with_ids_(clients == CrashClients::with_ids) {}
  // The memory server ends: attempts that were answered early may be lost.
  void memory_ends() { memory_ended_ = true; }

  // The table and its indexes, as they are at the beginning.
  reactor::Task<Status> load(txn::Engine* engine);
  // One client's transactions, in order. It waits while `ready` is false, and between attempts.
  using Ready = bool (*)(txn::Engine& engine);
  reactor::Task<void> run_client(txn::Engine* engine, std::uint64_t client, Ready ready);
  // A table that no transaction uses.
  reactor::Task<Status> create_another(txn::Engine* engine);
  // Clients begin no further transactions.
  void wind_up() { winding_up_ = true; }

  // Reads all rows, by the table and by each index, in one transaction, and keeps them for the checks.
  reactor::Task<Status> read_all(txn::Engine* engine);
  // Writes every row and every entry of a hash index once, with what it has.
  reactor::Task<Status> touch_all(txn::Engine* engine);

  // Asks for the outcomes of all attempts that have ids, behind read_all().
  reactor::Task<Status> read_outcomes(txn::Engine* engine);
  // A sentence when an outcome is not what the rows say; `ended`: none is in progress any more.
  std::string check_outcomes(bool ended) const;

  // A sentence if the rows that were read last are impossible: an attempt is missing that was acknowledged,
  // or seen at an earlier check; an aborted attempt is visible, or half of one; or an index contradicts the
  // table.
  std::string check();
  // The rows that were read last, to be compared with later ones.
  std::string rows_text() const;
  // An error that no attempt may end with; empty: none.
  const std::string& complaint() const { return complaint_; }

  std::uint64_t acknowledged() const { return count(Outcome::acknowledged); }
  std::uint64_t answered_early() const { return count(Outcome::answered_early); }
  std::uint64_t unknown() const { return count(Outcome::unknown) + count(Outcome::running); }
  // How often a session was told that commits with early answers may be lost.
  std::uint64_t told() const { return told_; }
  // In the last read: unknown attempts that turned out to have happened.
  std::uint64_t unknown_there() const;

 private:
  static constexpr std::int64_t kShared = 3;
  static constexpr std::int64_t kErased = 50;
  static constexpr std::int64_t kInserted = 100;
  static constexpr std::size_t kMostAttempts = 62;

  enum class Outcome : std::uint8_t { running, acknowledged, answered_early, aborted, unknown };
  struct Attempt {
    std::uint64_t transaction = 0;  // of all clients
    Outcome outcome = Outcome::running;
    bool early = false;
    bool follows = false;        // the attempt before, of the same session
    std::uint64_t previous = 0;  // that one
    bool shown = false;          // at a check
    std::int64_t id = 0;         // 0: none was given
    std::optional<txn::TransactionOutcome> asked;
  };
  struct Row {
    std::int64_t bits = 0;
    std::int64_t tag = 0;
    friend bool operator==(const Row&, const Row&) = default;
  };
  using Rows = std::map<std::int64_t, Row>;

  static layout::Schema schema();
  static bool touches(std::uint64_t attempt, std::int64_t row) {
    const auto first = static_cast<std::int64_t>(attempt % kShared);
    return row == first || row == (first + 1) % kShared;
  }
  reactor::Task<Status> attempt(txn::Engine* engine, txn::Session* session, std::uint64_t number);
  // Locks rows and gives up.
  reactor::Task<void> give_up(txn::Engine* engine, txn::Session* session);
  // The rows that the session inserted last, by key and by index, are there: otherwise it would have been
  // told.
  reactor::Task<Status> look_back(txn::Transaction* transaction, storage::TableRef table,
                                  std::uint64_t number);
  std::string check_order(const std::set<std::uint64_t>& there) const;
  reactor::Task<Status> scan(txn::TableScan* scan, Rows* rows);
  std::uint64_t count(Outcome outcome) const;
  std::string check_shared(const std::set<std::uint64_t>& there) const;

  std::vector<Attempt> attempts_;
  Rows by_table_;
  std::map<std::string, Rows> by_index_;
  std::string complaint_;
  bool early_;
  bool with_ids_;
  bool memory_ended_ = false;
  bool winding_up_ = false;
  std::uint64_t told_ = 0;
};

}  // namespace namdb::sim
