#include "common/placement/follow_calls.h"

#include "common/calls/fields.h"

namespace namdb::placement {
namespace {

constexpr std::uint64_t kDiskPage = 4096;

void put_place(std::string& bytes, const LogPlace& place) {
  calls::put(bytes, place.segment);
  calls::put(bytes, place.offset);
  calls::put(bytes, place.position);
  calls::put(bytes, place.sequence);
  calls::put(bytes, place.previous);
}

LogPlace take_place(calls::Fields& fields) {
  LogPlace place;
  place.segment = fields.take<std::uint64_t>();
  place.offset = fields.take<std::uint64_t>();
  place.position = fields.take<std::uint64_t>();
  place.sequence = fields.take<std::uint64_t>();
  place.previous = fields.take<std::uint64_t>();
  return place;
}

void put_mark(std::string& bytes, const BlockMark& mark) {
  calls::put(bytes, mark.sequence);
  calls::put(bytes, mark.checksum);
}

BlockMark take_mark(calls::Fields& fields) {
  BlockMark mark;
  mark.sequence = fields.take<std::uint64_t>();
  mark.checksum = fields.take<std::uint64_t>();
  return mark;
}

bool all_taken(const calls::Fields& fields) {
  return fields.sound() && fields.at_end();
}

}  // namespace

std::string encode(const FollowRequest& request) {
  std::string bytes;
  calls::put(bytes, request.database_id);
  calls::put(bytes, request.server_id);
  calls::put_key(bytes, request.address);
  calls::put(bytes, static_cast<std::uint8_t>(request.has_log));
  calls::put(bytes, static_cast<std::uint8_t>(request.leaves));
  calls::put(bytes, static_cast<std::uint8_t>(request.whole));
  put_place(bytes, request.end);
  calls::put(bytes, request.from);
  calls::put(bytes, static_cast<std::uint16_t>(request.recent.size()));
  for (const BlockMark& mark : request.recent) put_mark(bytes, mark);
  return bytes;
}

std::optional<FollowRequest> decode_follow(std::string_view bytes) {
  calls::Fields fields(bytes);
  FollowRequest request;
  request.database_id = fields.take<std::uint64_t>();
  request.server_id = fields.take<std::uint16_t>();
  request.address = fields.take_key();
  request.has_log = fields.take_flag();
  request.leaves = fields.take_flag();
  request.whole = fields.take_flag();
  request.end = take_place(fields);
  request.from = fields.take<std::uint64_t>();
  const auto marks = fields.take<std::uint16_t>();
  if (marks > kMaxMarks) return std::nullopt;
  for (std::uint16_t i = 0; i < marks && fields.sound(); ++i) request.recent.push_back(take_mark(fields));
  if (!all_taken(fields) || request.address.empty() || request.address.size() > kMaxAddress_bytes ||
      request.end.offset % kDiskPage != 0)
    return std::nullopt;
  return request;
}

std::string encode(const FollowReply& reply) {
  std::string bytes;
  calls::put(bytes, static_cast<std::uint8_t>(reply.answer));
  calls::put(bytes, reply.database_id);
  calls::put(bytes, reply.log_id);
  calls::put(bytes, reply.segment_bytes);
  calls::put(bytes, reply.place.number);
  calls::put_key(bytes, reply.place.address);
  calls::put(bytes, static_cast<std::uint16_t>(reply.place.copies.size()));
  for (const std::string& copy : reply.place.copies) calls::put_key(bytes, copy);
  calls::put(bytes, reply.position);
  calls::put(bytes, reply.generation);
  put_place(bytes, reply.begin);
  put_mark(bytes, reply.mark);
  calls::put(bytes, static_cast<std::uint32_t>(reply.bytes.size()));
  bytes += reply.bytes;
  return bytes;
}

std::optional<FollowReply> decode_follow_reply(std::string_view bytes) {
  calls::Fields fields(bytes);
  FollowReply reply;
  reply.answer = fields.take_kind(FollowAnswer::start_over);
  reply.database_id = fields.take<std::uint64_t>();
  reply.log_id = fields.take<std::uint64_t>();
  reply.segment_bytes = fields.take<std::uint64_t>();
  reply.place.number = fields.take<std::uint64_t>();
  reply.place.address = fields.take_key();
  const auto copies = fields.take<std::uint16_t>();
  if (copies > kMaxCopies) return std::nullopt;
  for (std::uint16_t i = 0; i < copies && fields.sound(); ++i)
    reply.place.copies.emplace_back(fields.take_key());
  reply.position = fields.take<std::uint64_t>();
  reply.generation = fields.take<std::uint64_t>();
  reply.begin = take_place(fields);
  reply.mark = take_mark(fields);
  const auto length = fields.take<std::uint32_t>();
  if (!fields.sound() || length > bytes.size()) return std::nullopt;
  const std::size_t head = encode(reply).size();
  if (bytes.size() != head + length || length % kDiskPage != 0) return std::nullopt;
  reply.bytes = bytes.substr(head);
  // It is kept as a part of a configuration.
  Configuration places(1);
  places.set(0, reply.place);
  if (!Configuration::decode(places.encode())) return std::nullopt;
  return reply;
}

std::string encode(const CopyRequest& request) {
  std::string bytes;
  calls::put(bytes, request.server_id);
  return bytes;
}

std::optional<CopyRequest> decode_copy(std::string_view bytes) {
  calls::Fields fields(bytes);
  CopyRequest request;
  request.server_id = fields.take<std::uint16_t>();
  if (!all_taken(fields)) return std::nullopt;
  return request;
}

std::string encode(const LeaveRequest& request) {
  std::string bytes;
  calls::put_key(bytes, request.to);
  calls::put(bytes, static_cast<std::uint8_t>(request.force));
  return bytes;
}

std::optional<LeaveRequest> decode_leave(std::string_view bytes) {
  calls::Fields fields(bytes);
  LeaveRequest request;
  request.to = fields.take_key();
  request.force = fields.take_flag();
  if (!all_taken(fields) || request.to.size() > kMaxAddress_bytes) return std::nullopt;
  return request;
}

}  // namespace namdb::placement
