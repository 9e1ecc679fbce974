#include "tools/namsim/recorder.h"

#include <atomic>
#include <chrono>
#include <fstream>
#include <mutex>
#include <thread>

#include "common/base/random.h"
#include "tools/namsim/history/format.h"
#include "tools/namsim/workloads/append_workload.h"
#include "tools/support/client/connection.h"

namespace namdb::sim {
namespace {

using history::Key;
using history::Model;
using history::Operation;
using history::Outcome;
using history::Transaction;
using history::Version;
using support::Connection;
using Clock = std::chrono::steady_clock;

const std::string kTable = "namsim_record";
constexpr std::size_t kFullList = 100;  // elements
constexpr std::uint64_t kList_bytes = 2000;
constexpr std::uint64_t kAuditKeys = 20;  // read in one transaction at the end
constexpr auto kPatience = std::chrono::seconds(60);

std::uint64_t now_ns() {
  return static_cast<std::uint64_t>(Clock::now().time_since_epoch() / std::chrono::nanoseconds(1));
}

std::chrono::nanoseconds seconds(double count) {
  return std::chrono::nanoseconds(static_cast<std::int64_t>(count * 1e9));
}

void wait_a_little() {
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

// The state that the clients share.
class Recording {
 public:
  explicit Recording(const RecordOptions& options) : options_(options), active_(options.keys) {}

  Result<RecordReport> run() {
    out_.open(options_.file, std::ios::binary | std::ios::trunc);
    out_ << history::header_line(options_.model);
    if (!out_) return Status(ErrorCode::configuration, "cannot write " + options_.file);
    if (Status status = create(); !status.ok()) return status;
    const auto end = Clock::now() + seconds(options_.seconds);
    std::vector<std::thread> clients;
    for (std::uint64_t k = 0; k < options_.clients; ++k)
      clients.emplace_back([this, k, end] { client(k, end); });
    for (std::thread& thread : clients) thread.join();
    if (Status status = audit(); !status.ok()) return status;
    out_.close();
    if (!out_) return Status(ErrorCode::configuration, "cannot write " + options_.file);
    return report_;
  }

 private:
  support::Endpoint endpoint(std::uint64_t client) const {
    return {options_.host, options_.ports[client % options_.ports.size()], options_.user, options_.database};
  }
  Result<std::unique_ptr<Connection>> connect(std::uint64_t client) {
    auto connection = Connection::open(endpoint(client));
    if (connection.ok()) {
      const std::lock_guard lock(mutex_);
      ++report_.connections;
    }
    return connection;
  }
  bool lists() const { return options_.model == Model::lists; }
  const char* column() const { return lists() ? "elements" : "version"; }

  // Daemons may die meanwhile: then it begins anew. Without any compute server it fails after wait_seconds.
  Status create() {
    auto connection = connect(0);
    const auto first_end = Clock::now() + seconds(options_.wait_seconds);
    for (std::uint64_t tries = 1; !connection.ok(); connection = connect(tries++)) {
      if (Clock::now() >= first_end) return connection.status();
      wait_a_little();
    }
    const auto end = Clock::now() + kPatience;
    Status status = create_table(**connection);
    for (std::uint64_t tries = 1; !status.ok() && may_pass(status) && Clock::now() < end; ++tries) {
      wait_a_little();
      connection = connect(tries);
      status = connection.ok() ? create_table(**connection) : connection.status();
    }
    return status;
  }
  static bool may_pass(const Status& status) {
    return status.info().retry || status.code() == ErrorCode::unknown_outcome ||
           status.code() == ErrorCode::connection_failure || status.code() == ErrorCode::cannot_connect_now ||
           status.code() == ErrorCode::admin_shutdown;
  }
  Status create_table(Connection& connection) {
    Status status = connection.execute("DROP TABLE " + kTable);
    if (!status.ok() && status.code() != ErrorCode::undefined_table) return status;
    status = connection.execute("CREATE TABLE " + kTable + " (id bigint PRIMARY KEY, " + column() +
                                (lists() ? " varchar(" + std::to_string(kList_bytes) + "))" : " bigint)"));
    for (std::atomic<Key>& slot : active_) {
      if (!status.ok()) return status;
      slot = next_key_++;
      status = insert(connection, slot);
    }
    return status;
  }
  Status insert(Connection& connection, Key key) {
    return connection.execute("INSERT INTO " + kTable + " VALUES (" + std::to_string(key) + ", " +
                              (lists() ? "''" : "0") + ")");
  }

  void client(std::uint64_t number, Clock::time_point end) {
    Random random(options_.seed * 1'000'003 + number);
    std::uint64_t tries = number;
    while (Clock::now() < end && !complained_) {
      auto connection = connect(tries++);
      if (!connection.ok()) {
        wait_a_little();
        continue;
      }
      const std::uint64_t session = sessions_++;
      while (Clock::now() < end && !complained_) {
        std::vector<std::size_t> slots;
        for (std::uint64_t k = random.between(1, options_.keys_per_transaction); k > 0; --k)
          slots.push_back(random.below(active_.size()));
        if (!run_one(**connection, session, slots, random)) break;
      }
    }
  }

  // False once the connection is of no use any more.
  bool run_one(Connection& connection, std::uint64_t session, const std::vector<std::size_t>& slots,
               Random& random) {
    // Taken before the transaction has its snapshot: their rows were there already.
    std::vector<Key> keys;
    for (const std::size_t slot : slots) keys.push_back(active_[slot]);
    Transaction transaction{.session = session, .begin_ns = now_ns()};
    Status status = connection.execute("BEGIN");
    std::vector<std::size_t> full;
    for (std::size_t k = 0; k < slots.size() && status.ok(); ++k) {
      if (step(connection, transaction, keys[k], random, status) >= kFullList) full.push_back(slots[k]);
    }
    const bool commits = status.ok();
    if (commits) status = connection.execute("COMMIT");
    finish(transaction, status, commits);
    if (PQstatus(connection.get()) != CONNECTION_OK) return false;
    if (transaction.outcome == Outcome::unknown) return false;
    if (!commits && !connection.execute("ROLLBACK").ok()) return false;
    for (const std::size_t slot : full) {
      const Key fresh = next_key_++;
      if (!insert(connection, fresh).ok()) return PQstatus(connection.get()) == CONNECTION_OK;
      active_[slot] = fresh;
    }
    return true;
  }

  // Reads the key and maybe writes it; the length of the list.
  std::size_t step(Connection& connection, Transaction& transaction, Key key, Random& random,
                   Status& status) {
    std::optional<Operation> seen = read(connection, key, status);
    if (!seen) return 0;
    std::size_t length = seen->list.size();
    transaction.operations.push_back(*seen);
    if (length >= kFullList || !random.chance(0.6)) return length;
    const Version version = ++versions_;
    std::string value = std::to_string(version);
    if (lists()) {
      seen->list.push_back(version);
      value = "'" + list_text(seen->list) + "'";
    }
    transaction.operations.push_back(lists() ? Operation::append(key, version)
                                             : Operation::write(key, version, seen->version));
    status = connection.execute("UPDATE " + kTable + " SET " + column() + " = " + value +
                                " WHERE id = " + std::to_string(key));
    if (!status.ok() || !random.chance(0.2)) return length + 1;
    seen = read(connection, key, status);
    if (seen) transaction.operations.push_back(*seen);
    return length + 1;
  }

  std::optional<Operation> read(Connection& connection, Key key, Status& status) {
    auto rows = connection.query(std::string("SELECT ") + column() + " FROM " + kTable +
                                 " WHERE id = " + std::to_string(key));
    status = rows.ok() ? Status() : rows.status();
    if (!status.ok()) return std::nullopt;
    if (rows->size() != 1) {
      complain("key " + std::to_string(key) + " is there " + std::to_string(rows->size()) + " times");
      status = Status(ErrorCode::internal, "no such row");
      return std::nullopt;
    }
    const std::string& text = rows->front().front();
    const bool initial = !lists() && text == "0";
    Result<std::vector<Version>> numbers = parse_list(initial ? "" : text);
    if (!numbers.ok() || (!lists() && numbers->size() > 1)) {
      complain("key " + std::to_string(key) + " holds " + text);
      status = Status(ErrorCode::internal, "no such value");
      return std::nullopt;
    }
    if (lists()) return Operation::read_list(key, std::move(numbers).value());
    return Operation::read(key, numbers->empty() ? 0 : numbers->front());
  }

  void complain(std::string what) {
    const std::lock_guard lock(mutex_);
    if (report_.complaint.empty()) report_.complaint = std::move(what);
    complained_ = true;
  }

  // Certainly nothing happened if COMMIT was never sent, or was answered by a conflict.
  void finish(Transaction& transaction, const Status& status, bool commits) {
    transaction.outcome = status.ok() ? Outcome::committed
                          : !commits || status.info().sqlstate == std::string_view("40001")
                              ? Outcome::aborted
                              : Outcome::unknown;
    if (transaction.outcome != Outcome::unknown) transaction.end_ns = now_ns();
    const std::string line = history::transaction_line(options_.model, transaction);
    const std::lock_guard lock(mutex_);
    out_ << line;
    report_.committed += transaction.outcome == Outcome::committed ? 1 : 0;
    report_.aborted += transaction.outcome == Outcome::aborted ? 1 : 0;
    report_.unknown += transaction.outcome == Outcome::unknown ? 1 : 0;
  }

  // Every key once more, those of full lists included: it reveals appends that were never read. A key whose
  // INSERT failed may be missing: it was never in use.
  Status audit() {
    const auto end = Clock::now() + kPatience;
    std::unique_ptr<Connection> connection;
    std::uint64_t session = 0;
    Status status;
    for (Key first = 0; first < next_key_ && !complained_;) {
      if (Clock::now() > end) return status;
      if (connection == nullptr) {
        auto opened = connect(static_cast<std::uint64_t>(now_ns() / 1000));
        if (!opened.ok()) {
          status = opened.status();
          wait_a_little();
          continue;
        }
        connection = std::move(opened).value();
        session = sessions_++;
      }
      Transaction transaction{.session = session, .begin_ns = now_ns()};
      const Key behind = std::min<Key>(first + kAuditKeys, next_key_);
      status = connection->execute("BEGIN");
      for (Key key = first; key < behind && status.ok(); ++key) {
        auto rows = connection->query("SELECT id FROM " + kTable + " WHERE id = " + std::to_string(key));
        status = rows.ok() ? Status() : rows.status();
        if (!status.ok() || rows->empty()) continue;
        if (auto seen = read(*connection, key, status)) transaction.operations.push_back(std::move(*seen));
      }
      const bool commits = status.ok();
      if (commits) status = connection->execute("COMMIT");
      finish(transaction, status, commits);
      if (status.ok()) {
        first = behind;
      } else {
        connection.reset();
        wait_a_little();
      }
    }
    return {};
  }

  const RecordOptions& options_;
  std::ofstream out_;
  std::mutex mutex_;  // out_ and report_
  RecordReport report_;
  std::atomic<bool> complained_ = false;
  std::atomic<Key> next_key_ = 0;
  std::atomic<Version> versions_ = 0;
  std::atomic<std::uint64_t> sessions_ = 0;
  std::vector<std::atomic<Key>> active_;  // the keys in use
};

}  // namespace

Result<RecordReport> record(const RecordOptions& options) {
  return Recording(options).run();
}

}  // namespace namdb::sim
