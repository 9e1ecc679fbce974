#include "common/calls/batch_calls.h"

#include "common/calls/word_stream.h"
#include "common/layout/stamp.h"

namespace namdb::calls {
namespace {

constexpr unsigned kKind_shift = 61;
constexpr unsigned kLength_shift = 45;
constexpr std::uint64_t kLength_mask = (1U << 16) - 1;
constexpr std::uint64_t kOffset_mask = (std::uint64_t{1} << kLength_shift) - 1;

std::uint64_t head_of(const BatchOperation& operation) {
  return std::uint64_t{static_cast<std::uint8_t>(operation.kind)} << kKind_shift |
         std::uint64_t{operation.length_bytes / 8 - 1} << kLength_shift | operation.offset / 8;
}

}  // namespace

void append(std::string& request, const BatchOperation& operation) {
  append_word(request, head_of(operation));
  if (operation.kind == BatchOperation::Kind::write) request.append(operation.bytes);
  const bool locks_another = operation.kind == BatchOperation::Kind::lock_another;
  const bool has_words = operation.kind == BatchOperation::Kind::compare_and_swap ||
                         operation.kind == BatchOperation::Kind::lock;
  if (has_words || locks_another) append_word(request, operation.expected);
  if (has_words) append_word(request, operation.desired);
}

std::optional<std::vector<BatchOperation>> decode_batch(std::string_view request, const RegionLength& region,
                                                        std::uint64_t max_reply_bytes) {
  std::vector<BatchOperation> operations;
  std::uint64_t most_bytes = max_reply_bytes;
  std::uint64_t lock_word = 0;
  while (!request.empty()) {
    BatchOperation& operation = operations.emplace_back();
    std::uint64_t head = 0;
    if (!take_word(request, head)) return std::nullopt;
    operation.kind = static_cast<BatchOperation::Kind>(head >> kKind_shift);
    operation.length_bytes = 8 * static_cast<std::uint32_t>((head >> kLength_shift & kLength_mask) + 1);
    operation.offset = 8 * (head & kOffset_mask);
    const bool in_region =
        operation.kind == BatchOperation::Kind::write || operation.kind == BatchOperation::Kind::install;
    const std::uint64_t end = in_region ? region.region_bytes : region.limit_bytes;
    if (operation.length_bytes > end || operation.offset > end - operation.length_bytes) return std::nullopt;
    switch (operation.kind) {
      case BatchOperation::Kind::read:
      case BatchOperation::Kind::install:
        break;
      case BatchOperation::Kind::fenced_read:
        if (operation.length_bytes != 8) return std::nullopt;
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
      case BatchOperation::Kind::lock:
        if (!take_word(request, operation.expected) || !take_word(request, lock_word)) return std::nullopt;
        operation.desired = lock_word;
        if (!layout::HeaderWord(lock_word).locked()) return std::nullopt;
        break;
      case BatchOperation::Kind::lock_another:
        operation.kind = BatchOperation::Kind::lock;
        operation.desired = lock_word;
        if (!take_word(request, operation.expected) || lock_word == 0) return std::nullopt;
        break;
      default:
        return std::nullopt;
    }
    // Entries are copied, too.
    const bool installs = operation.kind == BatchOperation::Kind::install;
    const std::uint32_t bytes = installs ? operation.length_bytes : operation.reply_bytes();
    if (bytes > most_bytes) return std::nullopt;
    most_bytes -= bytes;
  }
  if (operations.empty()) return std::nullopt;
  return operations;
}

}  // namespace namdb::calls
