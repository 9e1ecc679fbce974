#include "common/placement/search.h"

#include <algorithm>
#include <utility>

#include "common/placement/move_calls.h"

namespace namdb::placement {

PlaceSearch::PlaceSearch(reactor::Executor& executor, MakeHello make_hello, Configuration known)
    : executor_(executor),
      make_hello_(std::move(make_hello)),
      places_(std::move(known)),
      changed_(executor) {}

bool PlaceSearch::learn(const Configuration& told) {
  const bool learned = places_.learn(told);
  if (learned && learned_) learned_();
  return learned;
}

reactor::Task<bool> PlaceSearch::ask(fabric::ClientFabric* fabric, std::vector<Host> hosts) {
  const std::uint64_t before = places_.number();
  const auto round = std::make_shared<Round>();
  for (Host& host : hosts) {
    if (host.address.empty() || !asked_.insert(host.address).second) continue;
    ++round->open;
    ++running_;
    executor_.spawn(gate_, ask_host(fabric, round, std::move(host)));
  }
  std::uint64_t deadline_ns = executor_.now_ns() + kPatience_ns;
  bool learned = false;
  while (round->open != 0 && executor_.now_ns() < deadline_ns) {
    co_await changed_.wait_until(deadline_ns);
    if (learned || places_.number() == before) continue;
    learned = true;
    deadline_ns = std::min(deadline_ns, executor_.now_ns() + kLinger_ns);
  }
  round->over = true;
  learn_from(*round);
  co_return places_.number() != before;
}

reactor::Task<void> PlaceSearch::ask_host(fabric::ClientFabric* fabric, std::shared_ptr<Round> round,
                                          Host host) {
  std::string request = places_.encode();
  if (host.call) {
    const auto reply = co_await host.call(std::move(request));
    answered(*round, reply);
  } else {
    std::string hello = make_hello_();
    const auto reply = co_await call_once(&executor_, fabric, host.address, std::move(hello),
                                          kConfigurationMethod, std::move(request), kPatience_ns);
    answered(*round, reply);
  }
  asked_.erase(host.address);
}

void PlaceSearch::answered(Round& round, const Result<std::string>& reply) {
  const auto told = reply.ok() ? Configuration::decode(*reply) : std::nullopt;
  if (told && places_.database_id() != 0) {
    learn(*told);
  } else if (told && !round.over) {
    round.answers.push_back(*told);
  }
  --round.open;
  --running_;
  changed_.notify_all();
}

void PlaceSearch::learn_from(Round& round) {
  std::set<std::uint64_t> databases;
  for (const Configuration& answer : round.answers) {
    if (answer.database_id() != 0) databases.insert(answer.database_id());
  }
  if (databases.size() > 1) return;
  for (const Configuration& answer : round.answers) learn(answer);
}

reactor::Task<void> PlaceSearch::settle() {
  while (running_ != 0) co_await changed_.wait();
}

}  // namespace namdb::placement
