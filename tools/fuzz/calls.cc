// The target `calls`: requests and replies between compute and memory servers. The first byte of the input
// says which message the others are. Where there is an encoder, a message that is accepted is encoded
// again, and gives the same bytes once it is decoded and encoded once more.
#include <string>

#include "common/base/check.h"
#include "common/calls/batch_calls.h"
#include "common/calls/decider_calls.h"
#include "common/calls/find_calls.h"
#include "common/calls/index_calls.h"
#include "common/calls/index_load_calls.h"
#include "common/calls/journal_calls.h"
#include "common/calls/lock_calls.h"
#include "tools/fuzz/targets.h"

namespace namdb::fuzz {
namespace {

using namespace calls;

constexpr RegionLength kRegion{1 << 20, 1 << 24};
constexpr std::uint64_t kMaxReply_bytes = 1 << 16;
constexpr unsigned kMessages = 18;

// A message with one encoder.
template <typename Decode>
void check_message(std::string_view bytes, Decode decode) {
  const auto message = decode(bytes);
  if (!message) return;
  const std::string once = encode(*message);
  const auto again = decode(std::string_view(once));
  NAMDB_CHECK(again && encode(*again) == once);
}

template <typename Message>
std::string append_all(const std::vector<Message>& messages) {
  std::string bytes;
  for (const Message& message : messages) append(bytes, message);
  return bytes;
}

// A list of items.
template <typename Decode>
void check_items(std::string_view bytes, Decode decode) {
  const auto items = decode(bytes);
  if (!items) return;
  const std::string once = append_all(*items);
  const auto again = decode(std::string_view(once));
  NAMDB_CHECK(again && append_all(*again) == once);
}

void read_found(std::string_view reply) {
  while (!reply.empty()) {
    std::optional<FoundPieces> pieces = FoundPieces::take(reply, 64);
    if (!pieces) return;
    (void)pieces->take_bucket(4096);
    (void)pieces->take_bucket(0);
    (void)pieces->take_record(8192);
  }
}

}  // namespace

void run_calls(Bytes input) {
  if (input.empty()) return;
  const std::string_view bytes = as_text(input.subspan(1));
  switch (input[0] % kMessages) {
    case 0:
      return check_items(bytes,
                         [](std::string_view one) { return decode_batch(one, kRegion, kMaxReply_bytes); });
    case 1:
      return check_message(bytes, decode_look);
    case 2:
      return check_message(bytes, decode_look_reply);
    case 3:
      return check_message(bytes, decode_void);
    case 4:
      return check_message(bytes, decode_verdict);
    case 5:
      return check_items(bytes, [](std::string_view one) { return decode_find(one, kRegion); });
    case 6:
      return read_found(bytes);
    case 7:
      return check_items(bytes, decode_index_changes);
    case 8:
      return check_items(bytes, decode_index_results);
    case 9:
      return check_items(bytes, decode_index_verdicts);
    case 10:
      return check_items(bytes, decode_index_doubts);
    case 11:
      return check_message(bytes, decode_index_seek);
    case 12:
      return check_message(bytes, decode_index_seek_result);
    case 13:
      return check_message(bytes, decode_index_load);
    case 14:
      return check_message(bytes, decode_open_journal);
    case 15:
      return check_message(bytes, decode_flush);
    case 16:
      return check_message(bytes, decode_close_journal);
    default:
      return check_items(bytes,
                         [](std::string_view one) { return decode_lock(one, kRegion, kMaxReply_bytes); });
  }
}

std::vector<std::string> call_inputs() {
  std::vector<std::string> inputs;
  const auto add = [&](char kind, const std::string& bytes) { inputs.push_back(kind + bytes); };
  add(0,
      append_all(std::vector<BatchOperation>{{BatchOperation::Kind::read, 64, 4096},
                                             {BatchOperation::Kind::write, 8, 4096, "12345678"},
                                             {BatchOperation::Kind::compare_and_swap, 8, 8192, {}, 1, 2}}));
  add(1, encode(LookRequest{30}));
  add(2, encode(LookReply{5, 9, {6}, {7, 8}, {{9, 1, {0, 2}}}}));
  add(3, encode(VoidRequest{30, {1, 2}}));
  add(4, encode(VerdictRequest{30, 9, {1, 2}}));
  add(5, append_all(std::vector<FindRequest>{{4096, 7, 64, true}}));
  FoundWriter found;
  const std::string bucket(layout::kBucket_bytes, '\1');
  found.add_bucket(4096, reinterpret_cast<const std::byte*>(bucket.data()));
  found.add_record(8192, 3, reinterpret_cast<const std::byte*>(bucket.data()), 64);
  std::string reply;
  found.finish(reply);
  add(6, reply);
  add(7, append_all(std::vector<IndexChange>{{IndexChange::Kind::add, 5, 4, "a key", true},
                                             {IndexChange::Kind::mark, 5, 0, "another"}}));
  add(8, append_all(std::vector<IndexChangeResult>{{7, true, {"a", "b"}}, {}}));
  add(9, append_all(std::vector<IndexVerdict>{{IndexVerdict::Kind::dead, 5, 7, "a key"}}));
  add(10, append_all(std::vector<IndexDoubt>{{5, 7, "a key"}}));
  add(11, encode(IndexSeek{5, true, 10, "a", "b"}));
  add(12, encode(IndexSeekResult{true, 4096, 8192, {"a", "b"}}));
  add(13, encode(IndexLoad{5, 1, 0, true, {"a", "b"}, 3}));
  add(14, encode(OpenJournalRequest{30}));
  add(15, encode(FlushRequest{30, 128, 7}));
  add(16, encode(CloseJournalRequest{30, 7}));
  add(17, append_all(std::vector<LockRequest>{{4096, layout::HeaderWord(1), layout::HeaderWord(3)}}));
  return inputs;
}

}  // namespace namdb::fuzz
