#include "tools/stress/sql_clients.h"

#include <array>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "common/base/random.h"

namespace namdb::stress {
namespace {

using support::Connection;

// In the order in which they are drawn.
enum class Action : std::uint8_t { transfer, add_up, insert, remove, cancel, leave, schema };
constexpr std::array kActions = {Action::transfer, Action::transfer, Action::transfer, Action::add_up,
                                 Action::insert,   Action::insert,   Action::remove,   Action::remove,
                                 Action::cancel,   Action::leave,    Action::schema};

class Client {
 public:
  Client(const ClientOptions& options, Complaints& complaints)
      : options_(options), complaints_(complaints), random_(options.seed) {}

  void run() {
    for (std::uint64_t round = 0; round < options_.rounds && !gone_; ++round) {
      if (!connection_) connect();
      if (connection_) act(kActions[random_.below(kActions.size())]);
    }
  }

 private:
  void connect() {
    auto opened = Connection::open(options_.endpoint);
    if (opened.ok()) {
      connection_ = std::move(opened).value();
    } else {
      gone_ = true;
      if (!options_.leaving) complaints_.add("connect: " + opened.status().to_string());
    }
  }

  void act(Action action) {
    const std::string key = std::to_string(random_.below(30));
    switch (action) {
      case Action::transfer:
        return transfer();
      case Action::add_up:
        return add_up();
      case Action::insert:
        return execute("INSERT INTO keys VALUES (" + key + ", " + key + ")", {"23505"});
      case Action::remove:
        return execute("DELETE FROM keys WHERE id = " + key, {});
      case Action::cancel:
        return cancel();
      case Action::leave:
        connection_.reset();
        return;
      case Action::schema:
        return change_schema();
    }
  }

  void transfer() {
    const std::uint64_t from = random_.below(kAccounts);
    const std::uint64_t to = (from + 1 + random_.below(kAccounts - 1)) % kAccounts;
    const std::string cents = std::to_string(random_.between(1, 20));
    // One message: one transaction.
    execute("UPDATE accounts SET cents = cents - " + cents + " WHERE id = " + std::to_string(from) +
                "; UPDATE accounts SET cents = cents + " + cents + " WHERE id = " + std::to_string(to),
            {});
  }

  void add_up() {
    const auto rows = connection_->query("SELECT sum(cents), count(*) FROM accounts");
    if (!rows.ok()) return note(rows.status(), {});
    const auto& row = rows->front();
    if (row[0] != std::to_string(kTotal) || row[1] != std::to_string(kAccounts))
      complaints_.add("a snapshot has " + row[1] + " accounts with " + row[0] + " cents");
  }

  // From another thread, at any moment of the statement.
  void cancel() {
    PGcancel* const handle = PQgetCancel(connection_->get());
    std::thread canceler([handle] {
      char error[256];
      PQcancel(handle, error, sizeof error);
    });
    execute("UPDATE keys SET value = value + 1 WHERE value >= 0", {"57014"});
    canceler.join();
    PQfreeCancel(handle);
    // The request may arrive only now, and meet whatever comes next.
    connection_.reset();
  }

  void change_schema() {
    const std::string table = "extra_" + std::to_string(random_.below(2));
    if (random_.chance(0.5)) {
      execute("CREATE TABLE " + table + " (id bigint PRIMARY KEY, value bigint) WITH (size_hint = 100)",
              {"42P07"});
      execute("INSERT INTO " + table + " VALUES (1, 1)", {"42P01", "23505"});
    } else {
      execute("DROP TABLE IF EXISTS " + table, {"42P01"});
    }
  }

  void execute(const std::string& sql, const std::vector<std::string>& allowed) {
    note(connection_->execute(sql), allowed);
  }

  // Conflicts are not failures.
  void note(const Status& status, const std::vector<std::string>& allowed) {
    if (status.ok()) return;
    if (PQstatus(connection_->get()) != CONNECTION_OK) {
      connection_.reset();
      gone_ = true;
      if (!options_.leaving) complaints_.add("connection lost: " + status.to_string());
      return;
    }
    const std::string sqlstate(status.info().sqlstate);
    if (sqlstate == "40001" || (options_.leaving && sqlstate == "57P01")) return;
    for (const std::string& code : allowed) {
      if (sqlstate == code) return;
    }
    complaints_.add(sqlstate + " " + status.to_string());
  }

  const ClientOptions& options_;
  Complaints& complaints_;
  Random random_;
  std::unique_ptr<Connection> connection_;
  bool gone_ = false;
};

}  // namespace

void Complaints::add(std::string complaint) {
  const std::lock_guard lock(mutex_);
  complaints_.insert(std::move(complaint));
}

std::string Complaints::all() const {
  const std::lock_guard lock(mutex_);
  std::string text;
  for (const std::string& complaint : complaints_) text += complaint + "\n";
  return text;
}

Status create_tables(const support::Endpoint& endpoint) {
  const auto connection = Connection::open(endpoint);
  if (!connection.ok()) return connection.status();
  std::string rows;
  for (std::int64_t id = 0; id < kAccounts; ++id)
    rows += (id == 0 ? "(" : ", (") + std::to_string(id) + ", " + std::to_string(kTotal / kAccounts) + ")";
  for (const std::string& sql : {std::string("CREATE TABLE accounts (id bigint PRIMARY KEY, cents bigint)"),
                                 "INSERT INTO accounts VALUES " + rows,
                                 std::string("CREATE TABLE keys (id bigint PRIMARY KEY, value bigint)")}) {
    if (Status status = (*connection)->execute(sql); !status.ok()) return status;
  }
  return {};
}

void run_client(const ClientOptions& options, Complaints& complaints) {
  Client(options, complaints).run();
}

Result<std::int64_t> sum_of_accounts(const support::Endpoint& endpoint) {
  const auto connection = Connection::open(endpoint);
  if (!connection.ok()) return connection.status();
  const auto rows = (*connection)->query("SELECT sum(cents) FROM accounts");
  if (!rows.ok()) return rows.status();
  return std::stoll(rows->front()[0]);
}

}  // namespace namdb::stress
