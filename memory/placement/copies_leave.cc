// The primary gives its region to a copy in sync: LEAVE (common/placement/follow_calls.h).
#include <utility>

#include "memory/placement/copies.h"

namespace namdb::memory {

using placement::Configuration;

Result<std::string> Copies::heir(const std::string& to) const {
  std::string found;
  LogPosition most = 0;
  for (const auto& [address, copy] : copies_) {
    if (!listed(address) || !fit(copy) || (!to.empty() && address != to)) continue;
    if (!found.empty() && copy.acknowledged <= most) continue;
    found = address;
    most = copy.acknowledged;
  }
  if (!found.empty()) return found;
  return Status(ErrorCode::object_not_in_prerequisite_state,
                to.empty() ? "the region has no copy in sync" : "there is no copy in sync at " + to,
                "add a copy, and wait until it is in sync");
}

reactor::Task<Status> Copies::leave(placement::LeaveRequest request, Gone gone) {
  if (deposed_ || gate_.closing() || switching_) co_return region_ends();
  const auto to = heir(request.to);
  if (!to.ok()) co_return to.status();
  gate_.enter();
  switching_ = true;
  std::string address = *to;
  const Status status = co_await give_to(std::move(address), std::move(gone));
  if (!deposed_) log_.resume();
  switching_ = false;
  gate_.leave(executor_);
  co_return status;
}

reactor::Task<Status> Copies::give_to(std::string address, Gone gone) {
  const std::uint64_t until_ns = executor_.now_ns() + options_.switch_ns;
  const auto pause = co_await log_.pause(until_ns + options_.switch_ns);
  if (!pause.ok()) co_return pause.status();
  const Copy& copy = copies_[address];
  while (copy.acknowledged < pause->position && fit(copy) && !gone() && !deposed_ && !gate_.closing() &&
         executor_.now_ns() < until_ns)
    co_await leases_.wait_until(executor_.now_ns() + kCallerLook_ns);
  if (deposed_ || gate_.closing() || open_change_) co_return region_ends();
  if (!told_.empty()) co_return Status(ErrorCode::object_not_in_prerequisite_state, told_);
  if (copy.acknowledged < pause->position || !listed(address)) {
    co_return Status(ErrorCode::object_not_in_prerequisite_state,
                     "the copy at " + address + " has not come to the end of the log in time");
  }
  Configuration next = stored_.configuration;
  next.set(server_.options.server_id, {place().number + 1, address, {}});
  open_change_ = stored_.revision;
  given_ = next.place(server_.options.server_id);
  const auto given = co_await replace_until_known(stored_.revision, &next, std::move(gone));
  if (!given.ok()) {
    co_return Status(given.status().code(),
                     "nobody knows yet whether the region is given away: " + given.status().message());
  }
  open_change_.reset();
  if (*given) {
    co_await depose(std::move(next), PlaceState::departed);
    co_return Status();
  }
  revision_is_old_ = true;
  co_return Status(ErrorCode::object_not_in_prerequisite_state, "the configuration has changed meanwhile",
                   "try again");
}

// Of all tries at one revision one succeeds at most, so it may be tried again until an answer comes.
reactor::Task<Result<bool>> Copies::replace_until_known(std::uint64_t revision, const Configuration* next,
                                                        Gone gone) {
  while (true) {
    Configuration changed = *next;
    const auto replaced = co_await store_.replace(revision, std::move(changed));
    if (replaced.ok() && *replaced) co_return true;
    Status status = replaced.status();
    if (replaced.ok()) {
      // Perhaps by an earlier try.
      const auto read = co_await store_.read();
      const std::uint16_t region = server_.options.server_id;
      if (read.ok()) {
        co_return region < read->configuration.regions() &&
            read->configuration.place(region) == next->place(region);
      }
      status = read.status();
    }
    if (status.code() != ErrorCode::connection_failure || gone() || gate_.closing()) co_return status;
    co_await leases_.wait_until(executor_.now_ns() + kCallerLook_ns);
  }
}

}  // namespace namdb::memory
