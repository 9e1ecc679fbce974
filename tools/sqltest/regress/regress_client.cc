#include "tools/sqltest/regress/regress_client.h"

#include <libpq-fe.h>
#include <poll.h>

#include <algorithm>

#include "tools/sqltest/libpq_client.h"

namespace namdb::sqltest {
namespace {

using Clock = std::chrono::steady_clock;

struct FinishConnection {
  void operator()(PGconn* connection) const { PQfinish(connection); }
};

class LibpqRegressClient final : public RegressClient {
 public:
  LibpqRegressClient(PGconn* connection, std::chrono::milliseconds patience)
      : connection_(connection), patience_(patience) {}

  RegressAnswer run(const std::string& sql, const std::function<std::string()>& data) override {
    RegressAnswer answer;
    if (PQsendQuery(connection_.get(), sql.c_str()) == 0) lost_ = true;
    Clock::time_point deadline = Clock::now() + patience_;
    while (!lost_) {
      if (!wait(deadline)) {
        if (answer.late) {
          lost_ = true;
          break;
        }
        answer.late = true;
        cancel();
        deadline = Clock::now() + patience_;
        continue;
      }
      PGresult* const result = PQgetResult(connection_.get());
      if (result == nullptr) break;
      const ExecStatusType status = PQresultStatus(result);
      if (status == PGRES_COPY_IN) {
        PQclear(result);
        send_data(data());
      } else if (status == PGRES_COPY_OUT) {
        PQclear(result);
        lines_ = take_lines();
      } else {
        answer.outcomes.push_back(outcome_of_result(connection_.get(), result));
        for (std::string& line : lines_) answer.outcomes.back().rows.push_back({std::move(line)});
        lines_.clear();
      }
      if (PQstatus(connection_.get()) != CONNECTION_OK) lost_ = true;
    }
    if (lost_) {
      Outcome& outcome = answer.outcomes.emplace_back();
      outcome.sqlstate = "-----";
      outcome.message = "the connection is lost";
    }
    return answer;
  }

  bool in_block() const override { return PQtransactionStatus(connection_.get()) == PQTRANS_INTRANS; }
  bool block_failed() const override { return PQtransactionStatus(connection_.get()) == PQTRANS_INERROR; }
  bool lost() const override { return lost_; }

 private:
  // False: the time is over.
  bool wait(Clock::time_point deadline) {
    while (PQisBusy(connection_.get()) != 0) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
      pollfd socket{PQsocket(connection_.get()), POLLIN, 0};
      if (::poll(&socket, 1, std::max(0, static_cast<int>(left.count()))) == 0) return false;
      if (PQconsumeInput(connection_.get()) == 0) {
        lost_ = true;
        return true;
      }
    }
    return true;
  }

  void cancel() {
    PGcancel* const request = PQgetCancel(connection_.get());
    char why[256];
    PQcancel(request, why, sizeof why);
    PQfreeCancel(request);
  }

  void send_data(const std::string& data) {
    if (PQputCopyData(connection_.get(), data.data(), static_cast<int>(data.size())) < 0 ||
        PQputCopyEnd(connection_.get(), nullptr) < 0)
      lost_ = true;
  }

  std::vector<std::string> take_lines() {
    std::vector<std::string> lines;
    char* line = nullptr;
    int size = 0;
    while ((size = PQgetCopyData(connection_.get(), &line, 0)) > 0) {
      lines.emplace_back(line, static_cast<std::size_t>(size));
      PQfreemem(line);
    }
    return lines;
  }

  std::unique_ptr<PGconn, FinishConnection> connection_;
  std::chrono::milliseconds patience_;
  std::vector<std::string> lines_;
  bool lost_ = false;
};

}  // namespace

std::string RegressAnswer::sqlstate() const {
  for (const Outcome& outcome : outcomes) {
    if (!outcome.sqlstate.empty()) return outcome.sqlstate;
  }
  return "";
}

RegressAnswer RegressClient::run(const std::string& sql) {
  return run(sql, [] { return std::string(); });
}

std::unique_ptr<RegressClient> connect_regress_client(const std::string& connection,
                                                      std::chrono::milliseconds patience, std::string& why) {
  PGconn* const handle = PQconnectdb(connection.c_str());
  if (PQstatus(handle) == CONNECTION_OK) {
    PQsetNoticeProcessor(handle, [](void*, const char*) {}, nullptr);
    return std::make_unique<LibpqRegressClient>(handle, patience);
  }
  why = PQerrorMessage(handle);
  PQfinish(handle);
  return nullptr;
}

}  // namespace namdb::sqltest
