#include "tools/support/wire/wire_load.h"

#include <poll.h>

#include <cerrno>
#include <cstring>
#include <deque>
#include <memory>
#include <set>
#include <utility>

#include "tools/support/client/wire_value.h"
#include "tools/support/report/text_table.h"

namespace namdb::support {
namespace {

using workloads::Workload;

// A batch that met a conflict is sent again, so often.
constexpr std::uint32_t kMaxAttempts = 20;

std::string insert_sql(const workloads::TableSpec& table, std::size_t rows) {
  std::string sql = "INSERT INTO " + table.name + " VALUES ";
  std::size_t parameter = 0;
  for (std::size_t row = 0; row < rows; ++row) {
    sql += row == 0 ? "(" : ",(";
    for (std::size_t column = 0; column < table.columns.size(); ++column) {
      sql += (column == 0 ? "$" : ",$") + std::to_string(++parameter);
    }
    sql += ')';
  }
  return sql;
}

// One connection in libpq's pipeline mode and the batches under way on it.
class Loader {
 public:
  Loader(std::unique_ptr<Connection> connection, const Workload& workload, std::uint32_t pipeline)
      : connection_(std::move(connection)), workload_(workload), pipeline_(pipeline) {}

  Status start() {
    if (PQsetnonblocking(get(), 1) != 0 || PQenterPipelineMode(get()) != 1) return broken();
    return {};
  }
  bool has_room() const { return under_way_.size() < pipeline_; }
  bool idle() const { return under_way_.empty(); }
  int socket() const { return PQsocket(get()); }
  bool wants_write() const { return wants_write_; }
  // The table of the batch that failed.
  std::size_t failed_table() const {
    return under_way_.empty() ? last_table_ : under_way_.front().batch.table;
  }

  Status send(RowBatch batch) {
    const workloads::TableSpec& table = workload_.tables()[batch.table].spec;
    const std::string name = "insert" + std::to_string(batch.table) + "_" + std::to_string(batch.rows.size());
    if (prepared_.insert(name).second) {
      std::vector<unsigned> types;
      for (std::size_t row = 0; row < batch.rows.size(); ++row) {
        for (const layout::Column& column : table.columns) types.push_back(wire_type(column.type));
      }
      const std::string sql = insert_sql(table, batch.rows.size());
      if (PQsendPrepare(get(), name.c_str(), sql.c_str(), static_cast<int>(types.size()), types.data()) !=
          1) {
        return broken();
      }
    }
    parameters_.clear();
    for (const layout::Row& row : batch.rows) {
      for (std::uint32_t column = 0; column < table.columns.size(); ++column)
        parameters_.add(row.view(), column);
    }
    if (PQsendQueryPrepared(get(), name.c_str(), parameters_.count(), parameters_.values(),
                            parameters_.lengths(), parameters_.formats(), 0) != 1 ||
        PQpipelineSync(get()) != 1) {
      return broken();
    }
    under_way_.push_back({std::move(batch), {}});
    return flush();
  }

  Status receive() {
    if (PQconsumeInput(get()) == 0) return broken();
    int nothing = 0;
    while (!under_way_.empty() && nothing < 2 && PQisBusy(get()) == 0) {
      const ResultHandle result(PQgetResult(get()));
      if (result == nullptr) {
        ++nothing;
        continue;
      }
      nothing = 0;
      UnderWay& front = under_way_.front();
      switch (PQresultStatus(result.get())) {
        case PGRES_PIPELINE_SYNC:
          if (Status status = finish_front(); !status.ok()) return status;
          break;
        case PGRES_COMMAND_OK:
        case PGRES_PIPELINE_ABORTED:  // after a failed Prepare, whose error came first
          break;
        default: {
          const ServerError error = server_error(get(), result.get());
          front.status = Status(code_of_sqlstate(error.sqlstate), error.message);
        }
      }
    }
    return flush();
  }

 private:
  struct UnderWay {
    RowBatch batch;
    Status status;
  };
  PGconn* get() const { return connection_->get(); }
  Status broken() { return Status(ErrorCode::connection_failure, server_error(get(), nullptr).message); }
  Status flush() {
    const int flushed = PQflush(get());
    if (flushed < 0) return broken();
    wants_write_ = flushed == 1;
    return {};
  }
  Status finish_front() {
    UnderWay front = std::move(under_way_.front());
    under_way_.pop_front();
    last_table_ = front.batch.table;
    if (front.status.ok()) return {};
    if (front.status.code() != ErrorCode::serialization_failure || ++front.batch.attempts >= kMaxAttempts) {
      return front.status;
    }
    return send(std::move(front.batch));
  }

  std::unique_ptr<Connection> connection_;
  const Workload& workload_;
  std::uint32_t pipeline_;
  std::deque<UnderWay> under_way_;
  std::set<std::string> prepared_;
  WireParameters parameters_;
  std::size_t last_table_ = 0;
  bool wants_write_ = false;
};

Status create_tables(Connection& connection, const Workload& workload, const std::vector<std::size_t>& tables,
                     const WireLoadOptions& options) {
  if (options.replace) {
    for (const std::size_t table : tables) {
      Status status = connection.execute("DROP TABLE " + workload.tables()[table].spec.name);
      if (!status.ok() && status.code() != ErrorCode::undefined_table) return status;
    }
  }
  std::vector<std::string> created;
  for (const std::size_t table : tables) {
    const workloads::TableLoad& load = workload.tables()[table];
    const std::string sql = create_table_sql(load.spec, load.size_hint_rows, options.dialect);
    Status status = connection.execute(sql);
    if (status.ok()) {
      created.push_back(load.spec.name);
      continue;
    }
    for (const std::string& name : created) {
      if (Status dropped = connection.execute("DROP TABLE " + name); !dropped.ok()) return dropped;
    }
    if (status.code() == ErrorCode::duplicate_table) {
      return Status(status.code(), "table " + load.spec.name + " is there already; nothing was changed",
                    "--replace drops it and loads it anew");
    }
    return Status(status.code(), sql + ": " + status.message(), status.hint());
  }
  return {};
}

// Keeps all loaders busy until the producer has nothing more and all batches are done.
class LoadLoop {
 public:
  LoadLoop(const Workload& workload, RowProducer& producer, Progress& progress)
      : workload_(workload), producer_(producer), progress_(progress), begin_ns_(steady_now_ns()) {}
  std::vector<std::unique_ptr<Loader>> loaders;

  Status run() {
    while (true) {
      bool busy = false;
      for (const auto& loader : loaders) {
        if (Status status = fill(*loader); !status.ok()) return status;
        busy = busy || !loader->idle();
      }
      if (!busy) return {};
      if (Status status = wait(); !status.ok()) return status;
    }
  }

 private:
  Status fill(Loader& loader) {
    while (loader.has_room()) {
      std::optional<RowBatch> batch = producer_.next();
      if (!batch) return {};
      const std::size_t table = batch->table;
      if (Status status = loader.send(std::move(*batch)); !status.ok()) {
        return load_failure(workload_, producer_, table, status);
      }
    }
    return {};
  }

  Status wait() {
    std::vector<pollfd> sockets;
    for (const auto& loader : loaders) {
      const auto events = static_cast<short>(POLLIN | (loader->wants_write() ? POLLOUT : 0));
      sockets.push_back({loader->socket(), loader->idle() ? short{0} : events, 0});
    }
    if (poll(sockets.data(), sockets.size(), 200) < 0 && errno != EINTR) {
      return Status(ErrorCode::configuration, std::string("poll: ") + std::strerror(errno));
    }
    for (std::size_t i = 0; i < loaders.size(); ++i) {
      if (sockets[i].revents == 0) continue;
      if (Status status = loaders[i]->receive(); !status.ok()) {
        return load_failure(workload_, producer_, loaders[i]->failed_table(), status);
      }
    }
    const std::uint64_t now_ns = steady_now_ns();
    if (progress_.due(now_ns)) {
      const double seconds = static_cast<double>(now_ns - begin_ns_) / 1e9;
      const auto rows = static_cast<double>(producer_.total_rows());
      progress_.show(now_ns, "loading " + std::string(workload_.name()) + ": " +
                                 decimal(100 * producer_.done(), 0) + " %, " + decimal(rows, 0) + " rows, " +
                                 decimal(rows / seconds, 0) + " rows/s");
    }
    return {};
  }

  const Workload& workload_;
  RowProducer& producer_;
  Progress& progress_;
  std::uint64_t begin_ns_;
};

}  // namespace

Result<LoadReport> wire_load(const Workload& workload, const WireLoadOptions& options, Progress& progress) {
  Result<std::vector<std::size_t>> tables = choose_tables(workload, options.tables);
  if (!tables.ok()) return tables.status();
  Result<std::unique_ptr<Connection>> admin = Connection::open(options.endpoints.front());
  if (!admin.ok()) return admin.status();
  if (Status status = create_tables(**admin, workload, *tables, options); !status.ok()) return status;

  const std::uint64_t begin_ns = steady_now_ns();
  RowProducer producer(workload, *tables, options.rows_per_insert);
  LoadLoop loop(workload, producer, progress);
  for (std::uint32_t i = 0; i < options.connections; ++i) {
    Result<std::unique_ptr<Connection>> connection =
        Connection::open(options.endpoints[i % options.endpoints.size()]);
    if (!connection.ok()) return connection.status();
    loop.loaders.push_back(
        std::make_unique<Loader>(std::move(connection).value(), workload, options.pipeline));
    if (Status status = loop.loaders.back()->start(); !status.ok()) return status;
  }
  if (Status status = loop.run(); !status.ok()) return status;
  // Behind the rows: building is faster than keeping.
  for (const std::size_t table : *tables) {
    const workloads::TableSpec& spec = workload.tables()[table].spec;
    for (const workloads::IndexSpec& index : spec.indexes) {
      const Status status = (*admin)->execute(create_index_sql(spec, index));
      if (!status.ok())
        return Status(status.code(), "index " + index.name + ": " + status.message(), status.hint());
    }
  }
  LoadReport report =
      make_load_report(workload, *tables, producer, static_cast<double>(steady_now_ns() - begin_ns) / 1e9);
  report.mode = "wire";
  if (Status status = verify_loaded(report, **admin); !status.ok()) return status;
  return report;
}

}  // namespace namdb::support
