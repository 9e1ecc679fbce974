#include "common/calls/batch_calls.h"

#include "common/calls/word_stream.h"

namespace namdb::calls {
namespace {

constexpr std::uint64_t kLength_mask = (1U << 24) - 1;

}  // namespace

void append(std::string& request, const BatchOperation& operation) {
  append_word(request,
              (std::uint64_t{static_cast<std::uint8_t>(operation.kind)} << 56) | operation.length_bytes);
  append_word(request, operation.offset);
  if (operation.kind == BatchOperation::Kind::write) request.append(operation.bytes);
  if (operation.kind == BatchOperation::Kind::compare_and_swap) {
    append_word(request, operation.expected);
    append_word(request, operation.desired);
  }
}

std::optional<std::vector<BatchOperation>> decode_batch(std::string_view request, const RegionLength& region,
                                                        std::uint64_t max_reply_bytes) {
  std::vector<BatchOperation> operations;
  std::uint64_t reply_bytes = 0;
  while (!request.empty()) {
    BatchOperation& operation = operations.emplace_back();
    std::uint64_t head = 0;
    if (!take_word(request, head) || !take_word(request, operation.offset)) return std::nullopt;
    if ((head & ~(std::uint64_t{0xff} << 56) & ~kLength_mask) != 0) return std::nullopt;
    operation.kind = static_cast<BatchOperation::Kind>(head >> 56);
    operation.length_bytes = static_cast<std::uint32_t>(head & kLength_mask);
    const std::uint64_t end =
        operation.kind == BatchOperation::Kind::write ? region.region_bytes : region.limit_bytes;
    if (operation.length_bytes == 0 || operation.length_bytes % 8 != 0 || operation.offset % 8 != 0 ||
        operation.length_bytes > end || operation.offset > end - operation.length_bytes) {
      return std::nullopt;
    }
    switch (operation.kind) {
      case BatchOperation::Kind::read:
        break;
      case BatchOperation::Kind::write:
        if (request.size() < operation.length_bytes) return std::nullopt;
        operation.bytes = request.substr(0, operation.length_bytes);
        request.remove_prefix(operation.length_bytes);
        break;
      case BatchOperation::Kind::compare_and_swap:
        if (operation.length_bytes != 8 || !take_word(request, operation.expected) ||
            !take_word(request, operation.desired) ||
            (operation.expected == 0 && operation.offset >= region.region_bytes)) {
          return std::nullopt;
        }
        break;
      default:
        return std::nullopt;
    }
    reply_bytes += operation.reply_bytes();
    if (reply_bytes > max_reply_bytes) return std::nullopt;
  }
  if (operations.empty()) return std::nullopt;
  return operations;
}

}  // namespace namdb::calls
