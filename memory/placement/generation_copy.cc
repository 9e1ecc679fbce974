#include "memory/placement/generation_copy.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace namdb::memory {

using placement::FilesReply;
using placement::Part;

namespace {

// Behind the names of all files.
const std::string kBehindAll = "\x7f";

Status nonsense() {
  return Status(ErrorCode::protocol_violation, "the primary answered nonsense");
}

Status copy_stopped() {
  return Status(ErrorCode::admin_shutdown, "the copy of a checkpoint was stopped");
}

}  // namespace

reactor::Task<Result<FilesReply>> GenerationCopy::files(std::string after) {
  const placement::FilesRequest request{Part::checkpoint, std::move(after)};
  const auto bytes = co_await call_(placement::kFilesMethod, encode(request));
  if (!bytes.ok()) co_return bytes.status();
  auto reply = placement::decode_files_reply(*bytes);
  if (!reply) co_return nonsense();
  co_return std::move(*reply);
}

reactor::Task<Status> GenerationCopy::read(std::string name, std::uint64_t length, PageBuffer* file) {
  if (length == 0 || length > kMaxChunk_bytes + kDiskPage_bytes || length % kDiskPage_bytes != 0)
    co_return nonsense();
  *file = PageBuffer(length);
  for (std::uint64_t at = 0; at < length;) {
    const auto piece = static_cast<std::uint32_t>(std::min<std::uint64_t>(piece_bytes_, length - at));
    const placement::ReadFileRequest request{Part::checkpoint, name, at, piece};
    const auto bytes = co_await call_(placement::kReadFileMethod, encode(request));
    if (stopping_) co_return copy_stopped();
    if (!bytes.ok()) co_return bytes.status();
    if (bytes->size() != piece) co_return nonsense();
    std::memcpy(file->data() + at, bytes->data(), piece);
    at += piece;
    copied_bytes_ += piece;
  }
  co_return Status();
}

reactor::Task<Result<LogPosition>> GenerationCopy::look() {
  manifest_.reset();
  placement::FileFacts newest;
  std::string after;
  for (bool more = true; more;) {
    std::string behind = after;
    const auto reply = co_await files(std::move(behind));
    if (!reply.ok()) co_return reply.status();
    for (const placement::FileFacts& file : reply->files) {
      if (file.name <= after) co_return nonsense();
      if (manifest_generation(file.name)) newest = file;
      after = file.name;
    }
    more = reply->more;
  }
  if (newest.name.empty())
    co_return Status(ErrorCode::cannot_connect_now, "the primary has no checkpoint yet");
  const Status status = co_await read(newest.name, newest.length_bytes, &manifest_file_);
  if (!status.ok()) co_return status;
  auto manifest = read_manifest(newest.name, manifest_file_.span());
  if (!manifest.ok()) co_return nonsense();
  manifest_ = std::move(*manifest);
  co_return manifest_->redo_from;
}

void GenerationCopy::start(std::function<void(const Status&)> ended) {
  running_ = true;
  executor_.spawn(gate_, run(std::move(ended)));
}

reactor::Task<void> GenerationCopy::stop() {
  stopping_ = true;
  changed_.notify_all();
  while (running_) co_await changed_.wait();
  stopping_ = false;
}

reactor::Task<void> GenerationCopy::run(std::function<void(const Status&)> ended) {
  const Status status = co_await copy();
  manifest_.reset();
  running_ = false;
  ended(status);
  changed_.notify_all();
}

reactor::Task<Status> GenerationCopy::copy() {
  if (!manifest_) {
    const auto found = co_await look();
    if (!found.ok()) co_return found.status();
  }
  Log* const log = folder_.log();
  if (log == nullptr || manifest_->identity != log->identity()) co_return nonsense();
  if (manifest_->generation <= folder_.generation()) co_return Status();
  // All that the generation needs is durable there, up to here.
  const auto end = co_await files(kBehindAll);
  if (!end.ok()) co_return end.status();
  const std::uint64_t log_id = manifest_->identity.log_id;
  total_bytes_ = copied_bytes_;
  for (const ChunkRef& chunk : manifest_->chunks) {
    if (!folder_.has_chunk(chunk)) total_bytes_ += whole_pages(kChunkHeader_bytes + chunk.payload_bytes);
  }
  for (const ChunkRef& chunk : manifest_->chunks) {
    if (stopping_) co_return copy_stopped();
    if (folder_.has_chunk(chunk)) continue;
    PageBuffer file;
    const std::uint64_t length = whole_pages(kChunkHeader_bytes + chunk.payload_bytes);
    std::string name = chunk_name(chunk.key, chunk.generation);
    if (Status status = co_await read(std::move(name), length, &file); !status.ok()) co_return status;
    if (Status status = co_await folder_.put_chunk(log_id, chunk, &file); !status.ok()) co_return status;
  }
  while (log->durable() < end->position && !stopping_) co_await changed_.wait();
  if (stopping_) co_return copy_stopped();
  if (!log->segment_with(manifest_->redo_from))
    co_return Status(ErrorCode::corrupt_data, "the copy of the log begins behind the checkpoint");
  Manifest manifest = *manifest_;
  Status status = co_await folder_.put_generation(std::move(manifest), &manifest_file_);
  if (!status.ok()) co_return status;
  co_return co_await folder_.trim_log();
}

}  // namespace namdb::memory
