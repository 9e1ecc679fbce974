#include "common/reactor/io_operation.h"

#include <liburing.h>

namespace namdb::reactor {

void IoOperation::await_suspend(std::coroutine_handle<> handle) {
  handle_ = handle;
  io_uring_sqe* submission = ring_.prepare();
  io_uring_prep_rw(fields_.opcode, submission, fields_.descriptor, fields_.address, fields_.length,
                   fields_.offset);
  // The flags of all operations share one place.
  submission->rw_flags = static_cast<decltype(submission->rw_flags)>(fields_.operation_flags);
  ring_.submit(submission, this);
}

void IoOperation::on_completion(std::int32_t result, std::uint32_t /*flags*/) {
  result_ = result;
  executor_.schedule(handle_);
}

}  // namespace namdb::reactor
