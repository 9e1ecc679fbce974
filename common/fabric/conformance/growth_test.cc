// The contract's guarantees for regions that grow, on transports where they do.
#include <catch2/catch.hpp>

#include "common/fabric/conformance/suite.h"
#include "common/fabric/region_words.h"

namespace namdb::fabric::conformance {
namespace {

using reactor::Task;

constexpr std::uint64_t kEnd = Fixture::kRegion_bytes;
constexpr std::uint64_t kGrown = kEnd + (1U << 20);
constexpr std::uint64_t kAddress_word = 8;

Task<void> grow(ServerFabric* server, std::size_t length_bytes) {
  server->grow(length_bytes);
  co_return;
}

// Grows, and then hands out where: to one client, which passes it on through the region.
Task<void> grow_and_tell(ServerFabric* server, reactor::Executor* executor, std::byte* region) {
  for (std::uint64_t length_bytes = kEnd; length_bytes < kGrown; length_bytes += 4096) {
    server->grow(length_bytes + 4096);
    region_word(region + kAddress_word).store(length_bytes, std::memory_order_release);
    co_await executor->yield();
  }
}

Task<void> use_what_was_told(Channel* channel, bool* ok) {
  LocalBuffer buffer(channel->pool(), 64);
  Batch batch;
  std::uint64_t offset = 0;
  while (*ok && offset + 4096 < kGrown) {
    batch.clear();
    batch.read(kAddress_word, buffer.data(), 8);
    channel->post(batch);
    *ok = (co_await batch.done()).ok();
    if (!*ok) break;
    offset = buffer.word();
    if (offset != 0) {
      batch.clear();
      batch.fetch_add(offset + 4088, 1, buffer.data());
      batch.read(offset, buffer.data() + 8, 8);
      channel->post(batch);
      *ok = (co_await batch.done()).ok();
    }
    co_await channel->executor().yield();
  }
}

bool grows(Suite& suite) {
  return suite.fixture().capacity_bytes() > Fixture::kRegion_bytes;
}

}  // namespace

TEST_CASE("READs of what a region may still get find zeros, and nothing else is done there") {
  on_every_transport(1, [](Suite& suite) {
    if (!grows(suite)) return;
    const auto read = [&](std::uint64_t offset) {
      const Status status = suite.post(
          0,
          [&](Batch& batch, LocalBuffer& buffer) {
            for (std::size_t i = 0; i < 4; ++i) buffer.word(i) = 7;
            batch.read(offset, buffer.data(), 32);
          },
          [&](LocalBuffer& buffer) {
            for (std::size_t i = 0; i < 4; ++i) REQUIRE(buffer.word(i) == (offset + 8 * i < kEnd ? 5 : 0));
          });
      REQUIRE(status.ok());
    };
    REQUIRE(suite
                .post(0,
                      [](Batch& batch, LocalBuffer& buffer) {
                        for (std::size_t i = 0; i < 4; ++i) buffer.word(i) = 5;
                        batch.write(kEnd - 32, buffer.data(), 32);
                      })
                .ok());
    read(kEnd - 32);
    read(kEnd - 16);
    read(kEnd);
    read(suite.fixture().capacity_bytes() - 32);
    for (const int kind : {0, 1, 2}) {
      REQUIRE(!suite
                   .post(0,
                         [&](Batch& batch, LocalBuffer& buffer) {
                           if (kind == 0) batch.write(kEnd, buffer.data(), 8);
                           if (kind == 1) batch.compare_and_swap(kEnd, 0, 1, buffer.data());
                           if (kind == 2) batch.fetch_add(kEnd, 1, buffer.data());
                         })
                   .ok());
      suite.disconnect(0);
      REQUIRE(suite.connect(0).ok());
    }
  });
}

TEST_CASE(
    "memory that a region grows by is used by clients that were there before, and by those that come later") {
  on_every_transport(2, [](Suite& suite) {
    if (!grows(suite)) return;
    suite.disconnect(1);
    suite.at(kServer, [&] { return grow(&suite.fixture().server(), kGrown); });
    REQUIRE(suite.connect(1).ok());
    for (const int client : {0, 1}) {
      REQUIRE(
          suite
              .post(
                  client,
                  [](Batch& batch, LocalBuffer& buffer) { batch.fetch_add(kGrown - 8, 1, buffer.data()); },
                  [&](LocalBuffer& buffer) { REQUIRE(buffer.word() == static_cast<std::uint64_t>(client)); })
              .ok());
    }
  });
}

TEST_CASE("a client that learns of an address that was added, however indirectly, can use it at once") {
  on_every_transport(3, [](Suite& suite) {
    if (!grows(suite)) return;
    ServerFabric* server = &suite.fixture().server();
    reactor::Executor* executor = &suite.fixture().executor(kServer);
    std::byte* region = suite.region().data();
    std::vector<Work> work;
    work.push_back({kServer, [=] { return grow_and_tell(server, executor, region); }});
    bool all_ok[3] = {true, true, true};
    for (int client = 0; client < 3; ++client) {
      Channel* channel = suite.channel(client).get();
      bool* mine = &all_ok[client];
      work.push_back({client, [=] { return use_what_was_told(channel, mine); }});
    }
    suite.fixture().run(std::move(work));
    REQUIRE((all_ok[0] && all_ok[1] && all_ok[2]));
  });
}

}  // namespace namdb::fabric::conformance
