#include "common/placement/move_calls.h"

#include "common/calls/fields.h"
#include "common/placement/configuration.h"

namespace namdb::placement {
namespace {

using calls::Fields;
using calls::put;
using calls::put_key;

constexpr std::size_t kMaxError_bytes = 4096;
constexpr std::uint64_t kPage_bytes = 4096;

// Whole, and nothing behind it.
bool taken(const Fields& fields) {
  return fields.sound() && fields.at_end();
}

}  // namespace

std::string_view name_of(Part part) {
  return part == Part::log ? "log" : "checkpoint";
}

std::string encode(const FilesRequest& request) {
  std::string bytes;
  put(bytes, static_cast<std::uint8_t>(request.part));
  put_key(bytes, request.after);
  return bytes;
}

std::optional<FilesRequest> decode_files(std::string_view bytes) {
  Fields fields(bytes);
  FilesRequest request;
  request.part = fields.take_kind(Part::checkpoint);
  request.after = fields.take_key();
  if (!taken(fields)) return std::nullopt;
  return request;
}

std::string encode(const FilesReply& reply) {
  std::string bytes;
  put(bytes, reply.database_id);
  put(bytes, reply.server_id);
  put(bytes, reply.position);
  put(bytes, reply.segment);
  put(bytes, reply.offset);
  put(bytes, static_cast<std::uint8_t>(reply.more));
  for (const FileFacts& file : reply.files) {
    put_key(bytes, file.name);
    put(bytes, file.length_bytes);
  }
  return bytes;
}

std::optional<FilesReply> decode_files_reply(std::string_view bytes) {
  Fields fields(bytes);
  FilesReply reply;
  reply.database_id = fields.take<std::uint64_t>();
  reply.server_id = fields.take<std::uint16_t>();
  reply.position = fields.take<std::uint64_t>();
  reply.segment = fields.take<std::uint64_t>();
  reply.offset = fields.take<std::uint64_t>();
  reply.more = fields.take_flag();
  while (!fields.at_end()) {
    FileFacts file;
    file.name = fields.take_key();
    file.length_bytes = fields.take<std::uint64_t>();
    if (file.length_bytes == 0 || file.length_bytes % kPage_bytes != 0) return std::nullopt;
    reply.files.push_back(std::move(file));
  }
  if (!fields.sound() || reply.offset % kPage_bytes != 0 || (reply.more && reply.files.empty()))
    return std::nullopt;
  return reply;
}

std::string encode(const ReadFileRequest& request) {
  std::string bytes;
  put(bytes, static_cast<std::uint8_t>(request.part));
  put_key(bytes, request.name);
  put(bytes, request.offset);
  put(bytes, request.length_bytes);
  return bytes;
}

std::optional<ReadFileRequest> decode_read_file(std::string_view bytes) {
  Fields fields(bytes);
  ReadFileRequest request;
  request.part = fields.take_kind(Part::checkpoint);
  request.name = fields.take_key();
  request.offset = fields.take<std::uint64_t>();
  request.length_bytes = fields.take<std::uint32_t>();
  if (!taken(fields) || request.offset % kPage_bytes != 0 || request.length_bytes % kPage_bytes != 0 ||
      request.length_bytes == 0)
    return std::nullopt;
  return request;
}

std::string encode(const HandOverRequest& request) {
  std::string bytes;
  put(bytes, request.claim);
  put(bytes, request.position);
  put_key(bytes, request.address);
  return bytes;
}

std::optional<HandOverRequest> decode_hand_over(std::string_view bytes) {
  Fields fields(bytes);
  HandOverRequest request;
  request.claim = fields.take<std::uint64_t>();
  request.position = fields.take<std::uint64_t>();
  request.address = fields.take_key();
  if (!taken(fields) || request.claim == 0 || request.address.empty() ||
      request.address.size() > kMaxAddress_bytes)
    return std::nullopt;
  return request;
}

std::string encode(const MoveRequest& request) {
  std::string bytes;
  put_key(bytes, request.from);
  put_key(bytes, request.address);
  return bytes;
}

std::optional<MoveRequest> decode_move(std::string_view bytes) {
  Fields fields(bytes);
  MoveRequest request;
  request.from = fields.take_key();
  request.address = fields.take_key();
  if (!taken(fields) || request.from.empty() != request.address.empty() ||
      request.from.size() > kMaxAddress_bytes || request.address.size() > kMaxAddress_bytes)
    return std::nullopt;
  return request;
}

std::string encode(const MoveReply& reply) {
  std::string bytes;
  put(bytes, static_cast<std::uint8_t>(reply.state));
  put(bytes, reply.server_id);
  put_key(bytes, reply.from);
  put(bytes, reply.copied_bytes);
  put(bytes, reply.total_bytes);
  put(bytes, reply.duration_ns);
  put(bytes, reply.rounds);
  put_key(bytes, std::string_view(reply.error).substr(0, kMaxError_bytes));
  return bytes;
}

std::optional<MoveReply> decode_move_reply(std::string_view bytes) {
  Fields fields(bytes);
  MoveReply reply;
  reply.state = fields.take_kind(MoveState::in_sync);
  reply.server_id = fields.take<std::uint16_t>();
  reply.from = fields.take_key();
  reply.copied_bytes = fields.take<std::uint64_t>();
  reply.total_bytes = fields.take<std::uint64_t>();
  reply.duration_ns = fields.take<std::uint64_t>();
  reply.rounds = fields.take<std::uint64_t>();
  reply.error = fields.take_key();
  if (!taken(fields)) return std::nullopt;
  return reply;
}

}  // namespace namdb::placement
