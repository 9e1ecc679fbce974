// One client of a compute server: a session, and steps of a transaction that run to their ends one by one.
// After a step that failed the others do nothing, and commit() says what had happened.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "tools/conformance/database.h"

namespace namdb::conformance {

struct Item {
  std::int64_t id = 0;               // the key
  std::int64_t group = 0;            // indexed
  std::optional<std::int64_t> code;  // indexed, unique
  std::int64_t value = 0;
};

// A transaction's view of a group: the number of its rows, and the sum of their values.
struct Sum {
  std::int64_t rows = 0;
  std::int64_t value = 0;
  friend bool operator==(const Sum&, const Sum&) = default;
};

// Ends a transaction that waits for another one: both are driven by one thread.
class Patience final : public txn::Interrupt {
 public:
  explicit Patience(const Clock& clock) : clock_(clock) {}
  Status check() const override { return {}; }
  Status check_wait(layout::GlobalAddress held, std::uint64_t since_ns) const override;

 private:
  const Clock& clock_;
};

class Client {
 public:
  Client(Database& database, std::size_t compute);

  // Table "items" with its indexes, empty. Of one client.
  Status create_table();

  void begin();
  // Values by key, all in one fetch; nullopt where there is no such row.
  std::vector<std::optional<std::int64_t>> values(std::vector<std::int64_t> ids);
  std::optional<std::int64_t> value(std::int64_t id) { return values({id}).front(); }
  // The same of rows that are only to be read.
  std::vector<std::optional<std::int64_t>> look_at(std::vector<std::int64_t> ids);
  void insert(const Item& item) { insert_together({item}); }
  // All in one fetch, as one statement's.
  void insert_together(std::vector<Item> items) { step(do_insert(std::move(items))); }
  // Sets the value of a row by its key; the row is there.
  void set_value(std::int64_t id, std::int64_t value);
  void set_group(std::int64_t id, std::int64_t group);
  void erase(std::int64_t id);
  // The sum by the whole table, and by the index.
  Sum scan_table(std::int64_t group);
  Sum scan_index(std::int64_t group);
  Sum scan_hash_index(std::int64_t group);
  Status commit();
  void abort() { transaction_->abort(); }
  // The first failure.
  const Status& status() const { return status_; }
  std::uint64_t round_trips() const { return transaction_->counters().round_trips; }

  // A whole transaction, tried again while it meets conflicts, some times. `steps` is called for each
  // attempt.
  Status retry(const std::function<void(Client&)>& steps);

 private:
  void step(reactor::Task<Status> task);
  reactor::Task<Status> do_create();
  reactor::Task<Status> open();
  enum class Purpose : std::uint8_t { reads, may_write };
  reactor::Task<Status> read(std::vector<std::int64_t> ids, Purpose purpose,
                             std::vector<std::optional<std::int64_t>>* values);
  reactor::Task<Status> do_insert(std::vector<Item> items);
  reactor::Task<Status> change(std::int64_t id, std::uint32_t column, std::int64_t value);
  reactor::Task<Status> do_erase(std::int64_t id);
  // `index`: the name of one, or null.
  reactor::Task<Status> scan(const char* index, std::int64_t group, Sum* sum);
  reactor::Task<Status> do_commit();
  reactor::Task<Status> back_off(std::uint32_t attempt);
  Sum scan_by(const char* index, std::int64_t group);

  Database& database_;
  std::size_t compute_;
  txn::Engine& engine_;
  Patience patience_;
  std::unique_ptr<txn::Session> session_;
  std::unique_ptr<txn::Transaction> transaction_;
  storage::TableRef table_;
  Status status_;
};

}  // namespace namdb::conformance
