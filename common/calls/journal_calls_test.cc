#include "common/calls/journal_calls.h"

#include <catch2/catch.hpp>
#include <vector>

#include "common/base/random.h"
#include "common/calls/word_stream.h"
#include "common/layout/stamp.h"

namespace namdb::calls {
namespace {

constexpr std::uint64_t kJournalRegion_bytes = 1U << 20;

std::string journal_words(const std::vector<std::uint64_t>& words) {
  std::string bytes;
  for (const std::uint64_t word : words) append_word(bytes, word);
  return bytes;
}

}  // namespace

TEST_CASE("journal calls have the bytes that their contract says", "[calls]") {
  CHECK(encode(OpenJournalRequest{20}) == journal_words({20}));
  CHECK(encode(OpenJournalReply{4096, 65536, 128}) == journal_words({4096, 65536, 128}));
  CHECK(encode(FlushRequest{20, 640, 7}) == journal_words({20, 640, 7}));
  CHECK(encode(FlushReply{640, 64, true}) == journal_words({640, 64, 1}));
  CHECK(encode(FlushReply{640, 64, false}) == journal_words({640, 64, 0}));
  CHECK(encode(CloseJournalRequest{20, 7}) == journal_words({20, 7}));
  const std::string little_endian("\x14\0\0\0\0\0\0\0", 8);
  CHECK(encode(OpenJournalRequest{20}) == little_endian);
}

TEST_CASE("journal calls come out as they went in", "[calls]") {
  const auto open = decode_open_journal(encode(OpenJournalRequest{layout::kMaxSlot}));
  REQUIRE(open.has_value());
  CHECK(open->slot == layout::kMaxSlot);
  const auto opened =
      decode_open_journal_reply(encode(OpenJournalReply{4096, 65536, 128}), kJournalRegion_bytes);
  REQUIRE(opened.has_value());
  CHECK(opened->ring_offset == 4096);
  CHECK(opened->ring_bytes == 65536);
  CHECK(opened->position == 128);
  const auto flush = decode_flush(encode(FlushRequest{20, 640, layout::kMaxCounter}));
  REQUIRE(flush.has_value());
  CHECK(flush->slot == 20);
  CHECK(flush->position == 640);
  CHECK(flush->through == layout::kMaxCounter);
  const auto flushed = decode_flush_reply(encode(FlushReply{640, 64, true}));
  REQUIRE(flushed.has_value());
  CHECK(flushed->durable_position == 640);
  CHECK(flushed->freed_position == 64);
  CHECK(flushed->log_full);
  const auto close = decode_close_journal(encode(CloseJournalRequest{20, 7}));
  REQUIRE(close.has_value());
  CHECK(close->slot == 20);
  CHECK(close->through == 7);
}

TEST_CASE("a journal call that is too short or too long is refused", "[calls]") {
  const auto refused_at = [](std::string_view bytes, auto decode) {
    for (std::size_t length = 0; length < bytes.size(); ++length) {
      if (decode(bytes.substr(0, length))) return false;
    }
    return !decode(std::string(bytes) + std::string(1, '\0')) &&
           !decode(std::string(bytes) + journal_words({0}));
  };
  CHECK(refused_at(encode(OpenJournalRequest{20}), decode_open_journal));
  CHECK(refused_at(encode(FlushRequest{20, 640, 7}), decode_flush));
  CHECK(refused_at(encode(CloseJournalRequest{20, 7}), decode_close_journal));
  CHECK(refused_at(encode(FlushReply{640, 64, true}), decode_flush_reply));
  CHECK(refused_at(encode(OpenJournalReply{4096, 65536, 128}), [](std::string_view bytes) {
    return decode_open_journal_reply(bytes, kJournalRegion_bytes);
  }));
}

TEST_CASE("a journal call with a slot, position or counter that cannot be is refused", "[calls]") {
  const std::uint64_t slots[] = {0, layout::kFirstLeasedSlot - 1, std::uint64_t{layout::kMaxSlot} + 1,
                                 (std::uint64_t{1} << 32) + 20};
  for (const std::uint64_t slot : slots) {
    CHECK_FALSE(decode_open_journal(journal_words({slot})));
    CHECK_FALSE(decode_flush(journal_words({slot, 640, 7})));
    CHECK_FALSE(decode_close_journal(journal_words({slot, 7})));
  }
  const std::uint64_t positions[] = {1, 63, 65, ~std::uint64_t{63}};
  for (const std::uint64_t position : positions) {
    CHECK_FALSE(decode_flush(journal_words({20, position, 7})));
    CHECK_FALSE(decode_flush_reply(journal_words({position, 0, 0})));
    CHECK_FALSE(decode_flush_reply(journal_words({640, position, 0})));
  }
  const std::uint64_t beyond = std::uint64_t{1} << 32;
  CHECK_FALSE(decode_flush(journal_words({20, 640, beyond})));
  CHECK_FALSE(decode_close_journal(journal_words({20, beyond})));
}

TEST_CASE("a reply that contradicts itself is refused", "[calls]") {
  CHECK_FALSE(decode_flush_reply(journal_words({64, 128, 0})));  // freed, and not durable
  CHECK_FALSE(decode_flush_reply(journal_words({64, 64, 2})));
  const auto open = [](std::vector<std::uint64_t> words) {
    return decode_open_journal_reply(journal_words(words), kJournalRegion_bytes).has_value();
  };
  CHECK(open({kJournalRegion_bytes - 4096, 4096, 0}));
  CHECK_FALSE(open({kJournalRegion_bytes - 4096 + 64, 4096, 0}));
  CHECK_FALSE(open({~std::uint64_t{4095}, 8192, 0}));
  CHECK_FALSE(open({4096, ~std::uint64_t{63}, 0}));
  CHECK_FALSE(open({4096 + 8, 4096, 0}));
  CHECK_FALSE(open({4096, 4096 + 8, 0}));
  CHECK_FALSE(open({0, 4096, 0}));
  CHECK_FALSE(open({4096, 0, 0}));
}

TEST_CASE("no bytes make a decoder of journal calls read outside of them", "[calls]") {
  Random random(7);
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes(random.below(40), '\0');
    for (char& byte : bytes) byte = static_cast<char>(random.below(256));
    const std::string copy = bytes;  // no spare capacity behind it
    (void)decode_open_journal(copy);
    (void)decode_flush(copy);
    (void)decode_close_journal(copy);
    (void)decode_flush_reply(copy);
    (void)decode_open_journal_reply(copy, kJournalRegion_bytes);
  }
}

}  // namespace namdb::calls
