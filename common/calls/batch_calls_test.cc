#include "common/calls/batch_calls.h"

#include <catch2/catch.hpp>

#include "common/layout/stamp.h"

namespace namdb::calls {
namespace batch_calls_test {

constexpr RegionLength kRegion{4096, 8192};
constexpr std::uint64_t kReply_bytes = 1024;
constexpr std::uint64_t kLockWord = layout::HeaderWord(layout::Stamp{20, 4}, false, true).value();

std::string encoded(const BatchOperation& operation) {
  std::string bytes;
  append(bytes, operation);
  return bytes;
}

std::string stage() {
  std::string request;
  append(request, {.kind = BatchOperation::Kind::compare_and_swap,
                   .length_bytes = 8,
                   .offset = 64,
                   .bytes = {},
                   .expected = 5,
                   .desired = 7});
  append(request, {.kind = BatchOperation::Kind::fenced_read, .length_bytes = 8, .offset = 72, .bytes = {}});
  append(request, {.kind = BatchOperation::Kind::read, .length_bytes = 48, .offset = 72, .bytes = {}});
  append(
      request,
      {.kind = BatchOperation::Kind::write, .length_bytes = 16, .offset = 4080, .bytes = "0123456789abcdef"});
  append(request, {.kind = BatchOperation::Kind::install, .length_bytes = 96, .offset = 4000, .bytes = {}});
  append(request, {.kind = BatchOperation::Kind::lock,
                   .length_bytes = 64,
                   .offset = 128,
                   .bytes = {},
                   .expected = BatchOperation::record_of(7, 3, 0xff),
                   .desired = kLockWord});
  append(request, {.kind = BatchOperation::Kind::lock_another,
                   .length_bytes = 8,
                   .offset = 256,
                   .bytes = {},
                   .expected = BatchOperation::record_of(8, 1, 0xffff)});
  return request;
}

TEST_CASE("operations of a stage come out as they went in", "[calls]") {
  const std::string request = stage();
  const auto operations = decode_batch(request, kRegion, kReply_bytes);
  REQUIRE(operations.has_value());
  REQUIRE(operations->size() == 7);
  CHECK((*operations)[0].expected == 5);
  CHECK((*operations)[0].desired == 7);
  CHECK((*operations)[0].offset == 64);
  CHECK((*operations)[1].kind == BatchOperation::Kind::fenced_read);
  CHECK((*operations)[2].kind == BatchOperation::Kind::read);
  CHECK((*operations)[2].length_bytes == 48);
  CHECK((*operations)[3].bytes == "0123456789abcdef");
  CHECK((*operations)[4].kind == BatchOperation::Kind::install);
  CHECK((*operations)[4].length_bytes == 96);
  CHECK((*operations)[4].offset == 4000);
  CHECK((*operations)[5].expected == 0x7'0003'00ff);
  CHECK((*operations)[5].desired == kLockWord);
  CHECK((*operations)[5].reply_bytes() == 64);
  CHECK((*operations)[6].kind == BatchOperation::Kind::lock);
  CHECK((*operations)[6].expected == 0x8'0001'ffff);
  CHECK((*operations)[6].desired == kLockWord);
  std::size_t bytes = 0;
  for (const BatchOperation& operation : *operations) bytes += operation.request_bytes();
  CHECK(bytes == request.size() + 8);  // the second lock's word
}

TEST_CASE("the longest operation, and the last place of the largest region, have room in a head", "[calls]") {
  constexpr std::uint64_t kEnd = std::uint64_t{1} << 48;
  const std::uint64_t last = kEnd - BatchOperation::kMost_bytes;
  const std::string request = encoded({.kind = BatchOperation::Kind::read,
                                       .length_bytes = BatchOperation::kMost_bytes,
                                       .offset = last,
                                       .bytes = {}});
  const auto operations = decode_batch(request, {kEnd, kEnd}, BatchOperation::kMost_bytes);
  REQUIRE(operations.has_value());
  CHECK(operations->front().offset == last);
  CHECK(operations->front().length_bytes == BatchOperation::kMost_bytes);
}

TEST_CASE("a malformed list of operations, or one beyond the region, is refused", "[calls]") {
  const std::string request = stage();
  for (std::size_t length = 0; length < request.size(); ++length) {
    const auto cut = decode_batch(std::string_view(request).substr(0, length), kRegion, kReply_bytes);
    // Whole operations at the front are a request of their own.
    CHECK(cut.has_value() ==
          (length == 24 || length == 32 || length == 40 || length == 64 || length == 72 || length == 96));
  }
  CHECK_FALSE(decode_batch(request, {4088, 4088}, kReply_bytes));
  // Replies of 8, 8, 48, 64 and 8 bytes, and 96 bytes to install.
  CHECK(decode_batch(request, kRegion, 232));
  CHECK_FALSE(decode_batch(request, kRegion, 224));
  const auto refused = [](const BatchOperation& operation) {
    return !decode_batch(encoded(operation), kRegion, kReply_bytes).has_value();
  };
  // Memory between length and limit may be READ, also by a compare_and_swap that expects a value that cannot
  // be there. Nothing else may be done there.
  CHECK_FALSE(refused({.kind = BatchOperation::Kind::compare_and_swap,
                       .length_bytes = 8,
                       .offset = 4096,
                       .bytes = {},
                       .expected = 5,
                       .desired = 7}));
  CHECK(refused({.kind = BatchOperation::Kind::compare_and_swap,
                 .length_bytes = 8,
                 .offset = 8192,
                 .bytes = {},
                 .expected = 5,
                 .desired = 7}));
  CHECK_FALSE(
      refused({.kind = BatchOperation::Kind::fenced_read, .length_bytes = 8, .offset = 4096, .bytes = {}}));
  CHECK(
      refused({.kind = BatchOperation::Kind::write, .length_bytes = 8, .offset = 4096, .bytes = "01234567"}));
  CHECK(refused({.kind = BatchOperation::Kind::install, .length_bytes = 64, .offset = 4040, .bytes = {}}));
  CHECK_FALSE(refused({.kind = BatchOperation::Kind::read, .length_bytes = 16, .offset = 4088, .bytes = {}}));
  CHECK(refused({.kind = BatchOperation::Kind::read, .length_bytes = 16, .offset = 8184, .bytes = {}}));
  CHECK(refused(
      {.kind = BatchOperation::Kind::compare_and_swap, .length_bytes = 8, .offset = 4096, .bytes = {}}));
  CHECK(refused(
      {.kind = BatchOperation::Kind::read, .length_bytes = 8, .offset = (1ULL << 48) - 8, .bytes = {}}));
  CHECK(refused(
      {.kind = BatchOperation::Kind::compare_and_swap, .length_bytes = 16, .offset = 0, .bytes = {}}));
  CHECK(refused({.kind = BatchOperation::Kind::fenced_read, .length_bytes = 16, .offset = 0, .bytes = {}}));
  CHECK(refused({.kind = BatchOperation::Kind::lock,
                 .length_bytes = 64,
                 .offset = 128,
                 .bytes = {},
                 .expected = BatchOperation::record_of(7, 3, 0xff),
                 .desired = layout::HeaderWord(layout::Stamp{20, 4}).value()}));
  // Nothing, and a lock without a word before it.
  for (const int kind : {0, 7})
    CHECK(refused(
        {.kind = static_cast<BatchOperation::Kind>(kind), .length_bytes = 8, .offset = 0, .bytes = {}}));
}

}  // namespace batch_calls_test
}  // namespace namdb::calls
