#include "common/calls/index_calls.h"

#include "common/calls/fields.h"

namespace namdb::calls {
namespace {

// Beside the kind of an IndexChange.
constexpr std::uint8_t kAhead = 0x80;

template <typename Item, typename TakeItem>
std::optional<std::vector<Item>> take_list(std::string_view bytes, TakeItem take_item) {
  Fields fields(bytes);
  std::vector<Item> items;
  while (!fields.at_end()) items.push_back(take_item(fields));
  if (!fields.sound()) return std::nullopt;
  return items;
}

}  // namespace

void append(std::string& bytes, const IndexChange& change) {
  put(bytes, static_cast<std::uint8_t>(static_cast<std::uint8_t>(change.kind) | (change.ahead ? kAhead : 0)));
  put(bytes, change.index);
  put(bytes, change.declared_bytes);
  put_key(bytes, change.key);
}

void append(std::string& bytes, const IndexChangeResult& result) {
  put(bytes, result.sequence);
  put(bytes, static_cast<std::uint8_t>(result.more_candidates));
  put(bytes, static_cast<std::uint16_t>(result.candidates.size()));
  for (const std::string_view key : result.candidates) put_key(bytes, key);
}

void append(std::string& bytes, const IndexVerdict& verdict) {
  put(bytes, verdict.kind);
  put(bytes, verdict.index);
  put(bytes, verdict.sequence);
  put_key(bytes, verdict.key);
}

void append(std::string& bytes, const IndexDoubt& doubt) {
  put(bytes, doubt.index);
  put(bytes, doubt.sequence);
  put_key(bytes, doubt.key);
}

std::string encode(const IndexSeek& seek) {
  std::string bytes;
  put(bytes, seek.index);
  put(bytes, static_cast<std::uint8_t>(seek.descending));
  put(bytes, seek.limit);
  put_key(bytes, seek.low);
  put(bytes, static_cast<std::uint8_t>(seek.high.has_value()));
  if (seek.high) put_key(bytes, *seek.high);
  return bytes;
}

std::string encode(const IndexSeekResult& result) {
  std::string bytes;
  put(bytes, static_cast<std::uint8_t>(result.more));
  put(bytes, result.leaf_offset);
  put(bytes, result.parent_offset);
  for (const std::string_view key : result.keys) put_key(bytes, key);
  return bytes;
}

std::optional<std::vector<IndexChange>> decode_index_changes(std::string_view bytes) {
  return take_list<IndexChange>(bytes, [](Fields& fields) {
    IndexChange change;
    const auto kind = fields.take<std::uint8_t>();
    change.kind = fields.kind_of(static_cast<std::uint8_t>(kind & ~kAhead), IndexChange::Kind::load);
    change.ahead = (kind & kAhead) != 0;
    change.index = fields.take<std::uint32_t>();
    change.declared_bytes = fields.take<std::uint16_t>();
    change.key = fields.take_key();
    return change;
  });
}

std::optional<std::vector<IndexChangeResult>> decode_index_results(std::string_view bytes) {
  return take_list<IndexChangeResult>(bytes, [](Fields& fields) {
    IndexChangeResult result;
    result.sequence = fields.take<std::uint64_t>();
    result.more_candidates = fields.take_flag();
    for (auto count = fields.take<std::uint16_t>(); count > 0 && fields.sound(); --count) {
      result.candidates.push_back(fields.take_key());
    }
    return result;
  });
}

std::optional<std::vector<IndexVerdict>> decode_index_verdicts(std::string_view bytes) {
  return take_list<IndexVerdict>(bytes, [](Fields& fields) {
    IndexVerdict verdict;
    verdict.kind = fields.take_kind(IndexVerdict::Kind::open);
    verdict.index = fields.take<std::uint32_t>();
    verdict.sequence = fields.take<std::uint64_t>();
    verdict.key = fields.take_key();
    return verdict;
  });
}

std::optional<std::vector<IndexDoubt>> decode_index_doubts(std::string_view bytes) {
  return take_list<IndexDoubt>(bytes, [](Fields& fields) {
    IndexDoubt doubt;
    doubt.index = fields.take<std::uint32_t>();
    doubt.sequence = fields.take<std::uint64_t>();
    doubt.key = fields.take_key();
    return doubt;
  });
}

std::optional<IndexSeek> decode_index_seek(std::string_view bytes) {
  Fields fields(bytes);
  IndexSeek seek;
  seek.index = fields.take<std::uint32_t>();
  seek.descending = fields.take_flag();
  seek.limit = fields.take<std::uint32_t>();
  seek.low = fields.take_key();
  if (fields.take_flag()) seek.high = fields.take_key();
  if (!fields.sound() || !fields.at_end()) return std::nullopt;
  return seek;
}

std::optional<IndexSeekResult> decode_index_seek_result(std::string_view bytes) {
  Fields fields(bytes);
  IndexSeekResult result;
  result.more = fields.take_flag();
  result.leaf_offset = fields.take<std::uint64_t>();
  result.parent_offset = fields.take<std::uint64_t>();
  while (!fields.at_end()) result.keys.push_back(fields.take_key());
  if (!fields.sound()) return std::nullopt;
  return result;
}

}  // namespace namdb::calls
