#include "common/calls/decider_calls.h"

#include <catch2/catch.hpp>
#include <initializer_list>
#include <utility>

#include "common/calls/word_stream.h"

namespace namdb::calls {
namespace {

constexpr std::uint64_t kNoFinalCounter = ~std::uint64_t{0};

std::string decider_words(std::initializer_list<std::uint64_t> words) {
  std::string bytes;
  for (const std::uint64_t word : words) append_word(bytes, word);
  return bytes;
}

const LookReply kLookReply{.through = 7,
                           .final_counter = std::nullopt,
                           .voids = {9},
                           .commits = {8, 11},
                           .entries = {{8, 1, {0, 2}}, {9, 1, {2}}, {11, 3, {0, 1, 2, 5, 700}}}};

// One word of a good message has another value.
std::string with_changed_word(std::string bytes, std::size_t index, std::uint64_t word) {
  std::string changed = bytes.substr(0, 8 * index);
  append_word(changed, word);
  return changed + bytes.substr(8 * index + 8);
}

template <typename Decode>
void check_shorter_ones(const std::string& bytes, Decode decode) {
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    INFO("the first " << length << " bytes");
    CHECK_FALSE(decode(std::string_view(bytes).substr(0, length)));
  }
}

}  // namespace

TEST_CASE("the decider's calls have their documented bytes", "[calls]") {
  CHECK(encode(LookRequest{20}) == decider_words({20}));
  CHECK(encode(kLookReply) == decider_words({7, kNoFinalCounter, 1, 9, 2, 8, 11, 3,  //
                                             8 | 1ULL << 32, 2, 2 << 16,             //
                                             9 | 1ULL << 32, 1, 2,                   //
                                             11 | 3ULL << 32, 5, 0x0005'0002'0001'0000, 700}));
  CHECK(encode(LookReply{.through = 3, .final_counter = 5}) == decider_words({3, 5, 0, 0, 0}));
  CHECK(encode(VoidRequest{20, {4, 6}}) == decider_words({20, 4, 6}));
  CHECK(encode(VerdictRequest{20, std::nullopt, {4, 6}}) == decider_words({20, kNoFinalCounter, 4, 6}));
  CHECK(encode(VerdictRequest{20, 6, {}}) == decider_words({20, 6}));
}

TEST_CASE("the decider's calls come out as they went in", "[calls]") {
  CHECK(decode_look(encode(LookRequest{20}))->slot == 20);
  CHECK(decode_look_reply(encode(kLookReply)) == kLookReply);
  CHECK(decode_look_reply(encode(LookReply())) == LookReply());
  const LookReply closed{.through = 3, .final_counter = 5};
  CHECK(decode_look_reply(encode(closed)) == closed);
  const auto voids = decode_void(encode(VoidRequest{20, {4, 6}}));
  REQUIRE(voids);
  CHECK(voids->slot == 20);
  CHECK(voids->counters == std::vector<std::uint32_t>{4, 6});
  const auto verdict = decode_verdict(encode(VerdictRequest{20, 6, {4, 6}}));
  REQUIRE(verdict);
  CHECK(verdict->slot == 20);
  CHECK(verdict->final_counter == 6);
  CHECK(verdict->commits == std::vector<std::uint32_t>{4, 6});
  CHECK_FALSE(decode_verdict(encode(VerdictRequest{20, std::nullopt, {4}}))->final_counter);
}

TEST_CASE("malformed bytes of the decider's calls are refused", "[calls]") {
  check_shorter_ones(encode(LookRequest{20}), [](auto bytes) { return decode_look(bytes).has_value(); });
  const std::string reply = encode(kLookReply);
  check_shorter_ones(reply, [](auto bytes) { return decode_look_reply(bytes).has_value(); });
  check_shorter_ones(encode(VoidRequest{20, {4}}), [](auto bytes) { return decode_void(bytes).has_value(); });
  check_shorter_ones(encode(VerdictRequest{20, std::nullopt, {4}}),
                     [](auto bytes) { return decode_verdict(bytes).has_value(); });
  CHECK_FALSE(decode_look(encode(LookRequest{20}) + std::string(8, '\0')));
  CHECK_FALSE(decode_look_reply(reply + std::string(8, '\0')));
  CHECK_FALSE(decode_void(encode(VoidRequest{20, {4}}) + "x"));
  CHECK_FALSE(decode_verdict(encode(VerdictRequest{20, 6, {4}}) + "x"));

  // No slot that can be leased; no counter; counters that do not ascend.
  for (const unsigned long long slot : {0ULL, 15ULL, 1ULL << 29, 1ULL << 40}) {
    CHECK_FALSE(decode_look(decider_words({slot})));
    CHECK_FALSE(decode_void(decider_words({slot, 4})));
    CHECK_FALSE(decode_verdict(decider_words({slot, 4})));
  }
  CHECK_FALSE(decode_void(decider_words({20, 1ULL << 32})));
  CHECK_FALSE(decode_void(decider_words({20, 4, 4})));
  CHECK_FALSE(decode_verdict(decider_words({20, 1ULL << 32})));
  CHECK_FALSE(decode_verdict(decider_words({20, 9, 6, 5})));
  CHECK_FALSE(decode_verdict(decider_words({20, 5, 6})));  // above the final counter

  // The words of the reply are through, final counter, 1 void, 2 commits, 3 entries.
  const std::vector<std::pair<std::size_t, std::uint64_t>> wrong = {
      {0, 1ULL << 32},  // through
      {1, 1ULL << 32},  // final counter
      {2, 1ULL << 61},  // more counters than there are bytes
      {4, ~std::uint64_t{0}},
      {6, 8},  // commits do not ascend
      {7, 2},
      {7, 1ULL << 60},
      {8, 9 | 1ULL << 32},  // two entries of one counter
      {9, 0},
      {9, 0x10001},  // regions
      {9, 1},
      {10, 0},            // padding that is not 0; twice region 0
      {10, 2 | 1 << 16},  // regions do not ascend
  };
  for (const auto& [index, word] : wrong) {
    INFO("word " << index << " is " << word);
    CHECK_FALSE(decode_look_reply(with_changed_word(reply, index, word)));
  }
}

}  // namespace namdb::calls
