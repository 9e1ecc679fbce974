#include "common/calls/batch_calls.h"

#include <catch2/catch.hpp>

namespace namdb::calls {
namespace batch_calls_test {

constexpr RegionLength kRegion{4096, 8192};
constexpr std::uint64_t kReply_bytes = 1024;

std::string three() {
  std::string request;
  append(request, {.kind = BatchOperation::Kind::compare_and_swap,
                   .length_bytes = 8,
                   .offset = 64,
                   .bytes = {},
                   .expected = 5,
                   .desired = 7});
  append(request, {.kind = BatchOperation::Kind::read, .length_bytes = 48, .offset = 72, .bytes = {}});
  append(
      request,
      {.kind = BatchOperation::Kind::write, .length_bytes = 16, .offset = 4080, .bytes = "0123456789abcdef"});
  return request;
}

TEST_CASE("operations of a stage come out as they went in", "[calls]") {
  const std::string request = three();
  const auto operations = decode_batch(request, kRegion, kReply_bytes);
  REQUIRE(operations.has_value());
  REQUIRE(operations->size() == 3);
  CHECK((*operations)[0].expected == 5);
  CHECK((*operations)[0].desired == 7);
  CHECK((*operations)[0].offset == 64);
  CHECK((*operations)[1].kind == BatchOperation::Kind::read);
  CHECK((*operations)[1].length_bytes == 48);
  CHECK((*operations)[2].bytes == "0123456789abcdef");
  std::size_t bytes = 0;
  for (const BatchOperation& operation : *operations) bytes += operation.request_bytes();
  CHECK(bytes == request.size());
}

TEST_CASE("a malformed list of operations, or one beyond the region, is refused", "[calls]") {
  const std::string request = three();
  for (std::size_t length = 0; length < request.size(); ++length) {
    const auto cut = decode_batch(std::string_view(request).substr(0, length), kRegion, kReply_bytes);
    // Whole operations at the front are a request of their own.
    CHECK(cut.has_value() == (length == 32 || length == 48));
  }
  CHECK_FALSE(decode_batch(request, {4088, 4088}, kReply_bytes));
  CHECK_FALSE(decode_batch(request, kRegion, 48));
  const auto refused = [](BatchOperation operation) {
    std::string bytes;
    append(bytes, operation);
    return !decode_batch(bytes, kRegion, kReply_bytes).has_value();
  };
  // Memory between length and limit may be READ, also by a compare_and_swap that expects a value that cannot
  // be there. Nothing else may be done there.
  CHECK_FALSE(refused({.kind = BatchOperation::Kind::compare_and_swap,
                       .length_bytes = 8,
                       .offset = 4096,
                       .bytes = {},
                       .expected = 5,
                       .desired = 5}));
  CHECK(refused({.kind = BatchOperation::Kind::compare_and_swap,
                 .length_bytes = 8,
                 .offset = 8192,
                 .bytes = {},
                 .expected = 5,
                 .desired = 5}));
  CHECK(
      refused({.kind = BatchOperation::Kind::write, .length_bytes = 8, .offset = 4096, .bytes = "01234567"}));
  CHECK_FALSE(refused({.kind = BatchOperation::Kind::read, .length_bytes = 16, .offset = 4088, .bytes = {}}));
  CHECK(refused({.kind = BatchOperation::Kind::read, .length_bytes = 16, .offset = 8184, .bytes = {}}));
  CHECK(refused(
      {.kind = BatchOperation::Kind::compare_and_swap, .length_bytes = 8, .offset = 4096, .bytes = {}}));
  CHECK(refused({.kind = BatchOperation::Kind::read, .length_bytes = 0, .offset = 0, .bytes = {}}));
  CHECK(refused({.kind = BatchOperation::Kind::read, .length_bytes = 12, .offset = 0, .bytes = {}}));
  CHECK(refused({.kind = BatchOperation::Kind::read, .length_bytes = 8, .offset = 4, .bytes = {}}));
  CHECK(refused(
      {.kind = BatchOperation::Kind::read, .length_bytes = 8, .offset = ~std::uint64_t{7}, .bytes = {}}));
  CHECK(refused(
      {.kind = BatchOperation::Kind::compare_and_swap, .length_bytes = 16, .offset = 0, .bytes = {}}));
  CHECK(refused({.kind = static_cast<BatchOperation::Kind>(9), .length_bytes = 8, .offset = 0, .bytes = {}}));
}

}  // namespace batch_calls_test
}  // namespace namdb::calls
