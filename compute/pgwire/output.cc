#include "compute/pgwire/output.h"

namespace namdb::pgwire {

void Output::flush() {
  if (buffer_.empty()) return;
  stream_->write(buffer_);
  flushed_bytes_ += buffer_.size();
  buffer_.clear();
  if (buffer_.capacity() > 4 * kFlush_bytes) buffer_.shrink_to_fit();
}

void Output::begin_rows(std::span<const sql::ResultColumn> columns, const absl::TimeZone& zone) {
  columns_ = columns;
  zone_ = zone;
  if (binary_) {
    binary_formats_.assign(columns.size(), 1);
    formats_ = binary_formats_;
  }
  if (describe_rows_) writer().row_description(columns, formats_);
}

reactor::Task<Status> Output::relieve() {
  flush();
  if (stream_->unsent_bytes() > kUnsent_bytes) co_return co_await stream_->drain(kUnsent_bytes / 2);
  if (stream_->closed()) co_return Status(ErrorCode::connection_failure, "the client is gone");
  co_return Status();
}

bool Output::rewind(std::uint64_t position) {
  if (position < flushed_bytes_) return false;
  buffer_.resize(position - flushed_bytes_);
  return true;
}

sql::CopySource* Output::begin_copy_in(std::size_t columns, bool binary) {
  if (copy_source_ == nullptr) return nullptr;
  writer().copy_response('G', columns, binary);
  // The client sends nothing before it has this.
  flush();
  return copy_source_;
}

void Output::complete(const sql::Completion& completion) {
  if (completion.suspended) {
    writer().portal_suspended();
  } else if (completion.tag.empty()) {
    writer().empty_query();
  } else {
    writer().command_complete(completion);
  }
}

}  // namespace namdb::pgwire
