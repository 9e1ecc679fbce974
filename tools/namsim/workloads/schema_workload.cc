#include "tools/namsim/workloads/schema_workload.h"

#include <charconv>

#include "tools/namsim/workloads/tables.h"

namespace namdb::sim {
namespace {

using history::Operation;
using history::Version;

constexpr std::uint64_t kTables = 3;
constexpr std::uint64_t kRows = 4;  // of a table, at most

std::string table_name(std::uint64_t number) {
  return "t" + std::to_string(number);
}

std::string column_name(std::uint64_t creation) {
  return "g" + std::to_string(creation);
}

// The register that a row of a creation is.
history::Key key_of(std::uint64_t creation, std::uint64_t id) {
  return creation * kRows + id;
}

// The errors of a statement whose table was created or dropped meanwhile.
bool is_of_schema(const Status& status) {
  return status.code() == ErrorCode::undefined_table || status.code() == ErrorCode::undefined_column;
}

}  // namespace

class SchemaWorkload::Client final : public WorkloadClient {
 public:
  Client(SchemaWorkload& workload, txn::Engine& engine)
      : workload_(workload), sql_(engine, workload.procedures_) {}

  reactor::Task<history::Outcome> run_one(std::uint64_t session_id) override {
    const std::size_t record = workload_.begin_record(session_id);
    const std::uint64_t drawn = workload_.random().below(100);
    Status status;
    bool allowed = false;
    if (drawn < 12) {
      status = co_await workload_.drop(sql_, workload_.draw_table());
      allowed = !status.ok() && status.code() == ErrorCode::undefined_table;
    } else if (drawn < 30) {
      status = co_await workload_.create(sql_, workload_.draw_table());
      allowed = !status.ok() && status.code() == ErrorCode::duplicate_table;
    } else {
      status = co_await workload_.use_tables(sql_, record);
      allowed = !status.ok() && is_of_schema(status);
    }
    if (!allowed) workload_.judge(status);
    co_return workload_.end_record(record, status);
  }

 private:
  SchemaWorkload& workload_;
  SqlClient sql_;
};

std::unique_ptr<WorkloadClient> SchemaWorkload::open_client(txn::Engine& engine) {
  return std::make_unique<Client>(*this, engine);
}

reactor::Task<Status> SchemaWorkload::load(txn::Engine& engine) {
  SqlClient sql(engine, procedures_);
  for (std::uint64_t number = 0; number < kTables; ++number) {
    const Status status = co_await create(sql, table_name(number));
    if (!status.ok() && status.code() != ErrorCode::duplicate_table) co_return status;
  }
  co_return Status();
}

reactor::Task<void> SchemaWorkload::abandon_one(txn::Engine& engine, std::uint64_t duration_ns) {
  return abandon_scan(engine, table_name(0), duration_ns);
}

std::string SchemaWorkload::draw_table() {
  return table_name(random().below(kTables));
}

reactor::Task<Status> SchemaWorkload::drop(SqlClient& sql, std::string table) {
  const SqlAnswer answer = co_await sql.run("DROP TABLE " + table);
  co_return answer.status;
}

reactor::Task<Status> SchemaWorkload::create(SqlClient& sql, std::string table) {
  const std::string column = column_name(++creations_);
  const SqlAnswer answer = co_await sql.run("CREATE TABLE " + table + " (id bigint PRIMARY KEY, " + column +
                                            " bigint) WITH (size_hint = 16)");
  co_return answer.status;
}

reactor::Task<Status> SchemaWorkload::read(SqlClient& sql, std::string table, Seen* seen) {
  const SqlAnswer answer = co_await sql.run("SELECT * FROM " + table);
  if (!answer.status.ok()) co_return answer.status;
  const std::string& name = answer.columns.at(1);
  std::from_chars(name.data() + 1, name.data() + name.size(), seen->creation);
  for (std::size_t row = 0; row < answer.rows.size(); ++row) {
    const auto id = static_cast<std::uint64_t>(answer.integer(row, 0));
    const auto version = static_cast<Version>(answer.integer(row, 1));
    const auto written = written_.find(version);
    if (id >= kRows || written == written_.end() || written->second != key_of(seen->creation, id)) {
      complain(table + ", created with the column " + name + ", shows row " + std::to_string(id) +
               " as version " + std::to_string(version) + ", which was not written to it");
    }
    if (!seen->rows.emplace(id, version).second)
      complain(table + " shows row " + std::to_string(id) + " twice");
  }
  co_return Status();
}

reactor::Task<Status> SchemaWorkload::use_table(SqlClient& sql, std::string table, std::size_t record) {
  Seen seen;
  Status status = co_await read(sql, table, &seen);
  if (!status.ok() || !complaint().empty()) co_return status;
  for (std::uint64_t id = 0; id < kRows; ++id) {
    const auto row = seen.rows.find(id);
    recorded().at(record).operations.push_back(
        Operation::read(key_of(seen.creation, id), row == seen.rows.end() ? 0 : row->second));
  }
  if (random().chance(0.3)) {
    Seen again;
    status = co_await read(sql, table, &again);
    if (!status.ok() || !complaint().empty()) co_return status;
    if (again != seen) {
      // Some protocols find that out at the end.
      const SqlAnswer committed = co_await sql.run("COMMIT");
      if (!committed.status.ok()) co_return committed.status;
      complain("in one transaction " + table + " is first " + column_name(seen.creation) + " and then " +
               column_name(again.creation));
    }
  }
  if (!random().chance(options().write_probability)) co_return status;
  const std::uint64_t id = random().below(kRows);
  const Version version = recorded().next_version();
  const history::Key key = key_of(seen.creation, id);
  written_[version] = key;
  const auto row = seen.rows.find(id);
  const std::string column = column_name(seen.creation);
  std::string text;
  if (row == seen.rows.end()) {
    text = "INSERT INTO " + table + " (id, " + column + ") VALUES (" + std::to_string(id) + ", " +
           std::to_string(version) + ")";
  } else {
    text = "UPDATE " + table + " SET " + column + " = " + std::to_string(version) +
           " WHERE id = " + std::to_string(id);
  }
  const SqlAnswer answer = co_await sql.run(text);
  if (!answer.status.ok()) co_return answer.status;
  if (answer.affected != 1) complain(text + ": changed " + std::to_string(answer.affected) + " rows");
  recorded().at(record).operations.push_back(
      Operation::write(key, version, row == seen.rows.end() ? 0 : row->second));
  co_return Status();
}

reactor::Task<Status> SchemaWorkload::use_tables(SqlClient& sql, std::size_t record) {
  const std::size_t life = lives().size();
  const SqlAnswer begun = co_await sql.run("BEGIN");
  Status status = begun.status;
  const std::uint64_t first = random().below(kTables);
  const std::uint64_t count = random().between(1, 2);
  for (std::uint64_t i = 0; i < count && status.ok() && complaint().empty(); ++i) {
    status = co_await use_table(sql, table_name((first + i) % kTables), record);
    // The block's observations belong to the life of the data in which it began.
    if (!still(life)) status = Status(ErrorCode::memory_server_restarted, "all data is gone");
  }
  if (status.ok()) {
    const SqlAnswer committed = co_await sql.run("COMMIT");
    status = committed.status;
  }
  if (!status.ok() && sql.in_block()) static_cast<void>(co_await sql.run("ROLLBACK"));
  co_return status;
}

// Every name can be dropped and created, and the new table is empty and takes a row.
reactor::Task<Status> SchemaWorkload::touch(txn::Engine& engine, std::uint64_t session_id) {
  SqlClient sql(engine, procedures_);
  for (std::uint64_t number = 0; number < kTables; ++number) {
    const std::string table = table_name(number);
    const std::size_t record = begin_record(session_id);
    static_cast<void>(co_await sql.run("BEGIN"));
    Status status = co_await use_table(sql, table, record);
    const SqlAnswer ended = co_await sql.run(status.ok() ? "COMMIT" : "ROLLBACK");
    if (status.ok()) status = ended.status;
    end_record(record, status);
    if (status.ok()) status = co_await drop(sql, table);
    if (!status.ok() && status.code() != ErrorCode::undefined_table) co_return status;
    status = co_await create(sql, table);
    // Its creator died while creating it, and that was not noticed yet.
    if (!status.ok() && status.code() == ErrorCode::duplicate_table)
      co_return Status(ErrorCode::serialization_failure, status.message());
    if (!status.ok()) co_return status;
    Seen seen;
    status = co_await read(sql, table, &seen);
    if (!status.ok()) co_return status;
    if (!seen.rows.empty()) complain(table + " has rows, and was just created");
  }
  co_return Status();
}

}  // namespace namdb::sim
