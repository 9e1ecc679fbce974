#include "tools/namsim/workloads/churn_workload.h"

#include <algorithm>
#include <optional>

#include "tools/namsim/workloads/tables.h"

namespace namdb::sim {
namespace {

using history::Operation;
using history::Version;

const char* const kRows = "churn";
const char* const kCompanions = "companion";
constexpr std::uint32_t kVersion = 1;
constexpr std::uint32_t kPresent = 2;  // of a companion

// Keys of one transaction of touch().
constexpr std::uint64_t kTouched = 8;

layout::Schema companions_schema() {
  return bigints({"id", "version", "present"});
}

std::string as_text(std::optional<Version> version) {
  return version ? "version " + std::to_string(*version) : "absent";
}

}  // namespace

layout::Schema ChurnWorkload::schema() {
  return bigints({"id", "version"});
}

struct ChurnWorkload::Tables {
  storage::TableRef rows;
  storage::TableRef companions;

  static reactor::Task<Status> find(txn::Engine* engine, Tables* tables) {
    auto rows = co_await engine->table(kRows);
    if (!rows.ok()) co_return rows.status();
    auto companions = co_await engine->table(kCompanions);
    if (!companions.ok()) co_return companions.status();
    tables->rows = *rows;
    tables->companions = *companions;
    co_return Status();
  }
};

struct ChurnWorkload::Pair {
  std::uint64_t key = 0;
  txn::RowId row = 0;
  txn::RowId companion = 0;
};

class ChurnWorkload::Client final : public WorkloadClient {
 public:
  Client(ChurnWorkload& workload, txn::Engine& engine)
      : workload_(workload), engine_(engine), session_(engine.open_session()) {}

  reactor::Task<history::Outcome> run_one(std::uint64_t session_id) override {
    const std::size_t record = workload_.begin_record(session_id);
    Status status;
    if (workload_.random().chance(workload_.options().long_reader_probability)) {
      status = co_await workload_.read_all(engine_, *session_, record);
    } else {
      status = co_await workload_.change_some(engine_, *session_, record);
    }
    workload_.judge(status);
    co_return workload_.end_record(record, status);
  }

 private:
  ChurnWorkload& workload_;
  txn::Engine& engine_;
  std::unique_ptr<txn::Session> session_;
};

std::unique_ptr<WorkloadClient> ChurnWorkload::open_client(txn::Engine& engine) {
  return std::make_unique<Client>(*this, engine);
}

reactor::Task<Status> ChurnWorkload::load(txn::Engine& engine) {
  // Few buckets: chains grow.
  Status status = co_await create_table(engine, kRows, schema(), 4, 0);
  if (status.ok()) status = co_await create_table(engine, kCompanions, companions_schema(), 4, 0);
  if (!status.ok()) co_return status;
  const layout::Schema schema = companions_schema();
  std::vector<layout::Row> rows;
  for (std::uint64_t key = 0; key < options().keys; ++key) {
    layout::Row row(schema);
    status = row.writer().set_integer(0, static_cast<std::int64_t>(key));
    if (status.ok()) status = row.writer().set_integer(kVersion, 0);
    if (status.ok()) status = row.writer().set_integer(kPresent, 0);
    if (!status.ok()) co_return status;
    rows.push_back(std::move(row));
  }
  co_return co_await put_rows(engine, kCompanions, &rows);
}

reactor::Task<void> ChurnWorkload::abandon_one(txn::Engine& engine, std::uint64_t duration_ns) {
  return abandon_scan(engine, kRows, duration_ns);
}

bool ChurnWorkload::agrees(txn::Transaction& transaction, const Pair& pair) {
  if (!transaction.found(pair.companion)) return false;
  const layout::RowView companion = transaction.row(pair.companion);
  const bool present = transaction.found(pair.row);
  return present == (companion.integer(kPresent) != 0) &&
         (!present || transaction.row(pair.row).integer(kVersion) == companion.integer(kVersion));
}

void ChurnWorkload::compare(txn::Transaction& transaction, const Pair& pair, std::size_t record) {
  if (!transaction.found(pair.companion)) {
    complain("companion " + std::to_string(pair.key) + " is gone");
    return;
  }
  const layout::RowView companion = transaction.row(pair.companion);
  const auto version = static_cast<Version>(companion.integer(kVersion));
  recorded().at(record).operations.push_back(Operation::read(pair.key, version));
  std::optional<Version> says;
  if (companion.integer(kPresent) != 0) says = version;
  std::optional<Version> is;
  if (transaction.found(pair.row)) is = static_cast<Version>(transaction.row(pair.row).integer(kVersion));
  if (says == is) return;
  complain("key " + std::to_string(pair.key) + " is " + as_text(is) + ", its companion says " +
           as_text(says));
}

Status ChurnWorkload::change(txn::Transaction& transaction, const Tables& tables, const Pair& pair,
                             bool present, std::size_t record) {
  const Version version = recorded().next_version();
  const auto displaced = static_cast<Version>(transaction.row(pair.companion).integer(kVersion));
  const auto number = static_cast<std::int64_t>(version);
  Status status;
  if (transaction.found(pair.row) && present) {
    status = transaction.update(pair.row).set_integer(kVersion, number);
  } else if (transaction.found(pair.row)) {
    transaction.erase(pair.row);
  } else if (present) {
    layout::Row row(tables.rows->schema);
    status = row.writer().set_integer(0, static_cast<std::int64_t>(pair.key));
    if (status.ok()) status = row.writer().set_integer(kVersion, number);
    if (status.ok()) transaction.insert(tables.rows, row.bytes());
  }
  layout::RowWriter companion = transaction.update(pair.companion);
  if (status.ok()) status = companion.set_integer(kVersion, number);
  if (status.ok()) status = companion.set_integer(kPresent, present ? 1 : 0);
  recorded().at(record).operations.push_back(Operation::write(pair.key, version, displaced));
  return status;
}

reactor::Task<Status> ChurnWorkload::change_some(txn::Engine& engine, txn::Session& session,
                                                 std::size_t record) {
  Tables tables;
  Status status = co_await Tables::find(&engine, &tables);
  if (!status.ok()) co_return status;
  const auto transaction = engine.begin(session);
  const std::uint64_t count = std::min<std::uint64_t>(random().chance(0.7) ? 1 : 2, options().keys);
  std::vector<Pair> pairs(count);
  pairs[0].key = random().below(options().keys);
  if (count == 2) pairs[1].key = (pairs[0].key + 1 + random().below(options().keys - 1)) % options().keys;
  for (Pair& pair : pairs) {
    const auto key = static_cast<std::int64_t>(pair.key);
    pair.row = transaction->get(tables.rows, key_of(tables.rows->schema, key).bytes());
    const bool apart = random().chance(0.3);
    if (apart) status = co_await transaction->fetch();
    if (!status.ok()) co_return status;
    pair.companion = transaction->get(tables.companions, key_of(tables.companions->schema, key).bytes());
  }
  status = co_await transaction->fetch();
  const bool agree =
      status.ok() && std::ranges::all_of(pairs, [&](const Pair& pair) { return agrees(*transaction, pair); });
  if (status.ok() && !agree) status = co_await transaction->confirm_reads();
  if (!status.ok()) co_return status;
  for (const Pair& pair : pairs) {
    compare(*transaction, pair, record);
    if (!complaint().empty()) co_return status;
    status =
        change(*transaction, tables, pair, !transaction->found(pair.row) || random().chance(0.4), record);
    if (!status.ok()) co_return status;
  }
  status = co_await transaction->fetch();
  if (!status.ok()) co_return status;
  co_return co_await transaction->commit();
}

reactor::Task<Status> ChurnWorkload::read_all(txn::Engine& engine, txn::Session& session,
                                              std::size_t record) {
  Tables tables;
  Status status = co_await Tables::find(&engine, &tables);
  if (!status.ok()) co_return status;
  const auto transaction = engine.begin(session);
  std::vector<layout::Row> rows;
  std::vector<layout::Row> companions;
  status = co_await scan_rows(engine, *transaction, tables.rows, options().pause_ns, &rows);
  if (status.ok())
    status = co_await scan_rows(engine, *transaction, tables.companions, options().pause_ns, &companions);
  if (status.ok()) status = co_await transaction->confirm_reads();
  if (!status.ok()) co_return status;
  std::vector<std::optional<Version>> is(options().keys);
  for (const layout::Row& row : rows) {
    const auto key = static_cast<std::uint64_t>(row.view().integer(0));
    if (key >= is.size() || is[key]) {
      complain("a scan shows a row that nobody wrote, or one twice: " + std::to_string(key));
      co_return status;
    }
    is[key] = static_cast<Version>(row.view().integer(kVersion));
  }
  if (companions.size() != options().keys) complain("a scan misses a companion");
  for (const layout::Row& row : companions) {
    const auto key = static_cast<std::uint64_t>(row.view().integer(0));
    const auto version = static_cast<Version>(row.view().integer(kVersion));
    recorded().at(record).operations.push_back(Operation::read(key, version));
    std::optional<Version> says;
    if (row.view().integer(kPresent) != 0) says = version;
    if (says != is.at(key)) {
      complain("in a scan key " + std::to_string(key) + " is " + as_text(is[key]) + ", its companion says " +
               as_text(says));
    }
  }
  co_return co_await transaction->commit();
}

reactor::Task<Status> ChurnWorkload::touch(txn::Engine& engine, std::uint64_t session_id) {
  Tables tables;
  Status status = co_await Tables::find(&engine, &tables);
  if (!status.ok()) co_return status;
  const auto session = engine.open_session();
  const std::size_t record = begin_record(session_id);
  status = co_await read_all(engine, *session, record);
  end_record(record, status);
  // Every row, and so every chain, takes a change; those that are there already are not in the way again.
  for (std::uint64_t first = 0; first < options().keys && status.ok(); first += kTouched) {
    const std::size_t some = begin_record(session_id);
    const auto transaction = engine.begin(*session);
    std::vector<Pair> pairs;
    for (std::uint64_t number = first; number < std::min(first + kTouched, options().keys); ++number) {
      const auto key = static_cast<std::int64_t>(number);
      pairs.push_back({number, transaction->get(tables.rows, key_of(tables.rows->schema, key).bytes()),
                       transaction->get(tables.companions, key_of(tables.companions->schema, key).bytes())});
    }
    status = co_await transaction->fetch();
    for (const Pair& pair : pairs) {
      if (!status.ok()) break;
      compare(*transaction, pair, some);
      if (!complaint().empty()) co_return status;
      status = change(*transaction, tables, pair, true, some);
    }
    if (status.ok()) status = co_await transaction->fetch();
    if (status.ok()) status = co_await transaction->commit();
    end_record(some, status);
  }
  co_return status;
}

}  // namespace namdb::sim
