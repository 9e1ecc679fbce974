#include "common/fabric/patient_client.h"

#include <algorithm>
#include <utility>

namespace namdb::fabric {

struct PatientClient::Attempt {
  Result<std::unique_ptr<Channel>> channel = Status(ErrorCode::connection_failure, "");
  std::string welcome;
  bool ended = false;
  bool late = false;
};

reactor::Task<Result<std::unique_ptr<Channel>>> PatientClient::connect(std::string address, std::string hello,
                                                                       std::string* welcome) {
  Host& host = hosts_.try_emplace(address, Host{patience_ns_}).first->second;
  if (host.late != 0) co_return Status(ErrorCode::connection_failure, address + " does not answer");
  const auto attempt = std::make_shared<Attempt>();
  ++running_;
  executor_.spawn(gate_, run(attempt, address, std::move(hello)));
  const std::uint64_t began_ns = executor_.now_ns();
  const std::uint64_t deadline_ns = began_ns + host.patience_ns;
  const std::uint64_t given_up = host.given_up;
  while (!attempt->ended && host.given_up == given_up && executor_.now_ns() < deadline_ns)
    co_await changed_.wait_until(deadline_ns);
  if (!attempt->ended) {
    attempt->late = true;
    ++host.late;
    const std::uint64_t waited_ns = executor_.now_ns() - began_ns;
    co_return Status(ErrorCode::connection_failure, address + " has not answered within " +
                                                        std::to_string(waited_ns / kMillisecond_ns) + " ms");
  }
  if (attempt->channel.ok() && welcome != nullptr) *welcome = std::move(attempt->welcome);
  co_return std::move(attempt->channel);
}

reactor::Task<void> PatientClient::run(std::shared_ptr<Attempt> attempt, std::string address,
                                       std::string hello) {
  attempt->channel = co_await inner_.connect(address, std::move(hello), &attempt->welcome);
  attempt->ended = true;
  if (attempt->late) {
    Host& host = hosts_.at(address);
    --host.late;
    if (attempt->channel.ok()) host.patience_ns = std::min(2 * host.patience_ns, kLongest_ns);
    attempt->channel = Status(ErrorCode::connection_failure, "");
  }
  --running_;
  changed_.notify_all();
}

void PatientClient::give_up(const std::string& address) {
  const auto host = hosts_.find(address);
  if (host == hosts_.end()) return;
  ++host->second.given_up;
  changed_.notify_all();
}

reactor::Task<void> PatientClient::settle() {
  while (running_ != 0) co_await changed_.wait();
}

}  // namespace namdb::fabric
