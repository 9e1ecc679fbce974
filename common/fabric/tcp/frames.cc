#include "common/fabric/tcp/frames.h"

#include <bit>

namespace namdb::fabric::tcp {

static_assert(std::endian::native == std::endian::little, "frames are sent as they lie in memory");

namespace {

constexpr std::size_t kHeader_bytes = sizeof(RequestHeader);

const char* refuse_operation(const RequestHeader& header, std::uint64_t region_bytes) {
  if (header.method != 0) return "an operation with a method";
  if (header.length_bytes == 0 || header.length_bytes % 8 != 0) return "a length that is no multiple of 8";
  if (header.length_bytes > kMaxOperation_bytes) return "a length beyond the largest operation";
  if (header.offset % 8 != 0) return "an offset that is no multiple of 8";
  if (header.offset > region_bytes || header.length_bytes > region_bytes - header.offset) {
    return "an offset outside the region";
  }
  return nullptr;
}

}  // namespace

RequestFrame decode_request(std::span<const std::byte> input, std::uint64_t region_bytes,
                            std::uint64_t capacity_bytes, Checksums checksums) {
  using State = RequestFrame::State;
  if (input.size() < kHeader_bytes) return {State::incomplete, {}, kHeader_bytes, nullptr};
  const auto header = load<RequestHeader>(input.data());
  if (checksums == Checksums::both && header.header_checksum != checksum_of_header(header))
    return {State::invalid, header, 0, kDamaged};
  if (header.zero != 0) return {State::invalid, header, 0, "reserved bits that are set"};
  std::size_t frame_bytes = kHeader_bytes;
  const char* reason = nullptr;
  switch (header.kind) {
    case RequestKind::read:
      reason = refuse_operation(header, capacity_bytes);
      break;
    case RequestKind::write:
      reason = refuse_operation(header, region_bytes);
      frame_bytes += header.length_bytes;
      break;
    case RequestKind::compare_and_swap:
      reason = header.length_bytes == 8 ? refuse_operation(header, region_bytes)
                                        : "an atomic of other than 8 bytes";
      frame_bytes += 16;
      break;
    case RequestKind::fetch_add:
      reason = header.length_bytes == 8 ? refuse_operation(header, region_bytes)
                                        : "an atomic of other than 8 bytes";
      frame_bytes += 8;
      break;
    case RequestKind::call:
      if (header.length_bytes > kMaxCall_bytes) reason = "a length beyond the largest call";
      frame_bytes += header.length_bytes;
      break;
    default:
      reason = "an unknown kind of request";
  }
  if (reason != nullptr) return {State::invalid, header, 0, reason};
  const State state = input.size() < frame_bytes ? State::incomplete : State::whole;
  return {state, header, frame_bytes, nullptr};
}

const char* refuse_response(const ResponseHeader& header, Checksums checksums) {
  if (checksums == Checksums::both && header.header_checksum != checksum_of_header(header)) return kDamaged;
  if (header.zero != 0 || header.also_zero != 0) return "reserved bits that are set";
  switch (header.kind) {
    case ResponseKind::results:
      return header.count == 0 ? "results of no operation" : nullptr;
    case ResponseKind::reply:
    case ResponseKind::failure:
      return header.count > kMaxCall_bytes ? "a reply beyond the largest call" : nullptr;
    default:
      return "an unknown kind of response";
  }
}

}  // namespace namdb::fabric::tcp
