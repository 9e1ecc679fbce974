#include "compute/worker/successor_search.h"

#include <string>
#include <utility>
#include <vector>

#include "compute/worker/connection.h"

namespace namdb::compute {

bool SuccessorSearch::needed() const {
  const CurrentConnection& current = upkeep_.current;
  if (upkeep_.wake_ups.stopping() || current.none()) return false;
  const txn::Cluster& cluster = current.get()->cluster;
  return current.end_awaited() || !cluster.whole().ok() || upkeep_.finder.reaches_old(cluster);
}

void SuccessorSearch::begin() {
  if (running_ || !needed()) return;
  running_ = true;
  upkeep_.executor.spawn(upkeep_.tasks, run());
}

reactor::Task<void> SuccessorSearch::run() {
  CurrentConnection& current = upkeep_.current;
  const reactor::Executor& executor = upkeep_.executor;
  std::uint64_t began_ns = executor.now_ns();
  while (needed()) {
    const std::vector<std::string> addresses = upkeep_.finder.addresses();
    const std::shared_ptr<Connection> earlier = current.get();
    const bool awaited = current.end_awaited();
    const bool taken = co_await attempt(earlier);
    if (!taken && current.end_awaited() && current.get() == earlier) {
      if (!awaited) continue;  // since a moment ago
      upkeep_.log(
          "memory servers open the database again; running transactions are failed, connecting again");
      co_await current.lose(/*opens=*/true);
      break;
    }
    // A place that is new is worth as much haste as a loss.
    if (taken || addresses != upkeep_.finder.addresses()) began_ns = executor.now_ns();
    if (needed())
      co_await upkeep_.wake_ups.search_until(executor.now_ns() + upkeep_.attempt_pause_ns(began_ns));
  }
  running_ = false;
}

reactor::Task<bool> SuccessorSearch::attempt(std::shared_ptr<Connection> earlier) {
  const std::shared_ptr<txn::Cluster> cluster(earlier, &earlier->cluster);
  static_cast<void>(co_await upkeep_.finder.find(cluster));
  const bool left = upkeep_.finder.leave_old(*cluster);
  if (left) upkeep_.wake_ups.wake_supervision();
  bool worth_it = left || upkeep_.current.end_awaited() || cluster->has_lost();
  if (!worth_it) {
    std::vector<std::string> addresses = upkeep_.finder.addresses();
    worth_it = co_await cluster->away_returns(std::move(addresses));
  }
  if (!worth_it || upkeep_.wake_ups.stopping()) co_return false;
  auto next = co_await upkeep_.connector.connect();
  if (!next.ok()) co_return false;
  co_return co_await take_over(earlier, std::move(*next));
}

reactor::Task<bool> SuccessorSearch::take_over(std::shared_ptr<Connection> earlier,
                                               std::shared_ptr<Connection> next) {
  CurrentConnection& current = upkeep_.current;
  const bool lost = earlier->cluster.has_lost();
  const bool awaited = current.end_awaited();
  const bool better = awaited || lost || next->cluster.away_count() < earlier->cluster.away_count();
  if (!better || current.get() != earlier || upkeep_.wake_ups.stopping()) {
    co_await end_connection(std::move(next), false);
    co_return false;
  }
  const Status whole = next->cluster.whole();
  upkeep_.log(whole.ok() ? "connected to all memory servers again" : whole.message());
  // Places on a server that was lost must not be used when it is another process.
  upkeep_.locations.clear();
  // A server may have been lost for a moment only: then its clients wait for what is decided once the earlier
  // connection has ended.
  const bool waited_for = awaited || (lost && whole.ok());
  earlier->is_one_of_several = next->is_one_of_several = true;
  upkeep_.earlier.add(current.attachment(),
                      waited_for ? EarlierConnections::kMoment_ns : earlier->cluster.max_transaction_ns());
  current.use(std::move(next));
  upkeep_.wake_ups.wake_supervision();
  co_return true;
}

}  // namespace namdb::compute
