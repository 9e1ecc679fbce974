#include "memory/journals/disk_log_sink.h"

namespace namdb::memory {
namespace {

Log::Urgency urgency_of(RecordKind kind) {
  switch (kind) {
    case RecordKind::voided:
    case RecordKind::verdict:
    case RecordKind::through:
    case RecordKind::closed:
      return Log::Urgency::deciding;
    case RecordKind::entry:
    case RecordKind::grants:  // no entry goes into the log before what was noted of grants
    case RecordKind::block:
      return Log::Urgency::urgent;
    case RecordKind::control:
    case RecordKind::table:
      return Log::Urgency::ordinary;
  }
  return Log::Urgency::ordinary;
}

}  // namespace

reactor::Task<Result<LogSink::Appended>> DiskLogSink::append(RecordKind kind, std::span<const std::byte> head,
                                                             std::span<const std::byte> body) {
  const auto appended = co_await log_.append(static_cast<std::uint16_t>(kind), head, body, urgency_of(kind));
  if (!appended.ok()) co_return Result<Appended>(appended.status());
  co_return Result<Appended>(Appended{appended->begin, appended->end});
}

}  // namespace namdb::memory
