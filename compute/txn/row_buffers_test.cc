#include "compute/txn/row_buffers.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <utility>
#include <vector>

namespace namdb::txn {
namespace row_buffers_test {

TEST_CASE("pieces do not overlap, are aligned, and their blocks return once all of them are given back",
          "[row_buffers]") {
  fabric::LocalPool pool;
  {
    std::vector<RowBuffer> pieces;
    {
      RowBuffers buffers(pool);
      for (std::size_t i = 0; i < 300; ++i) {
        const std::size_t length_bytes = 8 + 40 * i;  // the last ones have buffers of their own
        RowBuffer& piece = pieces.emplace_back(buffers.take(length_bytes));
        REQUIRE(piece.size() == length_bytes);
        REQUIRE(reinterpret_cast<std::uintptr_t>(piece.data()) % 64 == 0);
        REQUIRE(pool.contains(piece.data(), length_bytes));
        std::memset(piece.data(), static_cast<int>(i % 251), length_bytes);
      }
    }
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      CHECK(pieces[i].data()[0] == static_cast<std::byte>(i % 251));
      CHECK(pieces[i].data()[pieces[i].size() - 1] == static_cast<std::byte>(i % 251));
    }
    CHECK(pool.used_bytes() != 0);
  }
  CHECK(pool.used_bytes() == 0);
}

TEST_CASE("pieces that are expected take one block, as far as a block is long", "[row_buffers]") {
  fabric::LocalPool pool;
  RowBuffers buffers(pool);
  std::vector<RowBuffer> pieces;
  buffers.expect(30 * RowBuffers::piece_bytes(200));
  pieces.push_back(buffers.take(200));
  const std::size_t used_bytes = pool.used_bytes();
  CHECK(used_bytes == 8U << 10);
  while (pieces.size() < 30) pieces.push_back(buffers.take(200));
  CHECK(pool.used_bytes() == used_bytes);
}

TEST_CASE("a block that is full returns while later ones are in use", "[row_buffers]") {
  fabric::LocalPool pool;
  RowBuffers buffers(pool);
  std::vector<RowBuffer> pieces;
  for (int i = 0; i < 1000; ++i) pieces.push_back(buffers.take(256));
  const std::size_t used_bytes = pool.used_bytes();
  CHECK(used_bytes >= 1000 * 256);
  RowBuffer last = std::move(pieces.back());
  pieces.clear();
  CHECK(pool.used_bytes() <= 16U << 10);
  last = RowBuffer();
  RowBuffer next = buffers.take(64);  // of the block that is there
  CHECK(pool.used_bytes() <= 16U << 10);
  next.reset();
  CHECK_FALSE(next);
}

}  // namespace row_buffers_test
}  // namespace namdb::txn
