// A daemon's page of metrics over HTTP, for Prometheus: GET /metrics gives the page, GET /health "ok".
// Requests are outside input: a client that sends too much, too little or nothing is dropped, and delays no
// other client.
//
// Everything belongs to the executor's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>

#include "common/base/clock.h"
#include "common/reactor/executor.h"
#include "common/reactor/stream.h"
#include "common/reactor/task.h"

namespace namdb::metrics {

struct MetricsServerOptions {
  std::size_t max_request_bytes = 8 << 10;
  std::uint64_t request_timeout_ns = 5 * kSecond_ns;  // from accept to the end of the answer
  std::size_t max_clients = 16;                       // more are closed at once
};

class MetricsServer {
 public:
  // `page` makes the text; it is called in the middle of a turn, and takes little time.
  MetricsServer(reactor::Executor& executor, std::unique_ptr<reactor::StreamListener> listener,
                std::function<std::string()> page, MetricsServerOptions options = {});
  ~MetricsServer();

  const std::string& address() const { return listener_->address(); }
  // Serves until close(). Once.
  reactor::Task<void> serve();
  // Ends serve(), and every connection.
  void close();

 private:
  struct Client;
  reactor::Task<void> answer(std::shared_ptr<Client> client);
  reactor::Task<void> end_in_time(std::shared_ptr<Client> client);

  reactor::Executor& executor_;
  std::unique_ptr<reactor::StreamListener> listener_;
  std::function<std::string()> page_;
  MetricsServerOptions options_;
  reactor::Gate gate_;
  reactor::Event closing_;
  bool closed_ = false;
  std::set<Client*> clients_;
};

}  // namespace namdb::metrics
