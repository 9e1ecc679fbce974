// FLUSH (common/calls/journal_calls.h): the caller's entries in its journal here become durable
// (memory/journals/journals.h).
#include "common/calls/journal_calls.h"
#include "memory/calls/methods.h"

namespace namdb::memory::handlers {

reactor::Task<Status> flush(Call call) {
  const auto request = calls::decode_flush(call.request);
  if (!request) co_return malformed(call.method);
  const calls::FlushRequest flush = *request;
  const auto flushed = co_await call.caller.server.journals.flush(call.caller.id, flush);
  if (!flushed.ok()) co_return flushed.status();
  call.reply = calls::encode(*flushed);
  co_return Status();
}

}  // namespace namdb::memory::handlers
