#include "compute/cluster/find_set.h"

namespace namdb::txn {

void FindSet::add(layout::ServerId server, const calls::FindRequest& lookup, calls::FoundPieces* found) {
  *found = {};
  std::string& request = calls_.request(server);
  if (request.size() + calls::FindRequest::kEncoded_bytes > fabric::kMaxCall_bytes) return;
  append(request, lookup);
  asked_.push_back({server, lookup.record_bytes, found});
}

reactor::Task<Status> FindSet::finish(fabric::OperationCounters& counters) {
  Status status = co_await calls_.finish(counters);
  if (!status.ok()) calls_.give_up();
  std::vector<std::string_view> replies;
  for (std::size_t server = 0; server < calls_.size(); ++server)
    replies.push_back(calls_.reply(static_cast<layout::ServerId>(server)));
  for (const Asked& asked : asked_) {
    if (!status.ok()) break;
    const auto found = calls::FoundPieces::take(replies[asked.server], asked.record_bytes);
    if (found) {
      *asked.found = *found;
    } else {
      status = Status(ErrorCode::protocol_violation, "memory server sent a reply that cannot be read");
    }
  }
  asked_.clear();
  co_return status;
}

}  // namespace namdb::txn
