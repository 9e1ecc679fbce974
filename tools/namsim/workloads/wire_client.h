// A client of the PostgreSQL protocol on a simulated stream: one question at a time.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/reactor/stream.h"
#include "common/reactor/task.h"

namespace namdb::sim {

struct WireAnswer {
  bool lost = false;     // the connection, before the whole answer came
  std::string sqlstate;  // of the first error; empty if there was none
  std::string message;
  std::string tag;  // of the last command
  std::vector<std::vector<std::optional<std::string>>> rows;
  std::string kinds;  // of the messages, in order

  bool ok() const { return !lost && sqlstate.empty(); }
};

class WireClient {
 public:
  explicit WireClient(std::unique_ptr<reactor::ByteStream> stream) : stream_(std::move(stream)) {}

  // Start-up, to the first ReadyForQuery.
  reactor::Task<WireAnswer> start();
  // One simple query.
  reactor::Task<WireAnswer> query(std::string sql);
  // Through the extended protocol, all of it in one write.
  reactor::Task<WireAnswer> execute(std::string sql, std::vector<std::optional<std::string>> parameters);
  bool lost() const { return lost_; }
  // Cuts the connection off.
  void close() { stream_->close(); }

 private:
  reactor::Task<WireAnswer> ask(std::string bytes);

  std::unique_ptr<reactor::ByteStream> stream_;
  std::string unread_;
  bool lost_ = false;
};

}  // namespace namdb::sim
