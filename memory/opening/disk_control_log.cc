#include "memory/opening/disk_control_log.h"

#include <span>
#include <utility>

namespace namdb::memory {

reactor::Task<Result<std::uint64_t>> DiskControlLog::append(ControlRecord kind, std::string bytes,
                                                            Urgency urgency) {
  const std::span<const std::byte> record = std::as_bytes(std::span(bytes.data(), bytes.size()));
  const auto log_urgency = urgency == Urgency::urgent ? Log::Urgency::deciding : Log::Urgency::ordinary;
  const auto appended = co_await log_.append(static_cast<std::uint16_t>(kind), record, log_urgency);
  if (!appended.ok()) co_return appended.status();
  under_way_[appended->end] = appended->begin;
  co_return appended->end;
}

reactor::Task<Status> DiskControlLog::flush(std::uint64_t position) {
  Status status = co_await log_.flush(position);
  if (status.ok()) under_way_.erase(position);
  co_return status;
}

std::optional<LogPosition> DiskControlLog::oldest_under_way() const {
  if (under_way_.empty()) return std::nullopt;
  return under_way_.begin()->second;
}

}  // namespace namdb::memory
