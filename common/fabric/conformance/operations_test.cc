// The contract's guarantees for one-sided operations: atomicity, order, fence, completion.
#include <catch2/catch.hpp>

#include <array>
#include <cstring>

#include "common/fabric/conformance/suite.h"
#include "common/fabric/region_words.h"

namespace namdb::fabric::conformance {
namespace {

using reactor::Task;

constexpr int kRounds = 100;

// Both halves of each word are equal, whatever else is torn.
Task<void> write_halves(Channel* channel, int rounds) {
  LocalBuffer buffer(channel->pool(), 256);
  Batch batch;
  for (int i = 1; i <= rounds; ++i) {
    for (std::size_t j = 0; j < 32; ++j) buffer.word(j) = static_cast<std::uint64_t>(i) * 0x1'0000'0001;
    batch.clear();
    batch.write(0, buffer.data(), 256);
    channel->post(batch);
    co_await batch.done();
    co_await channel->executor().yield();
  }
}

Task<void> read_halves(Channel* channel, int rounds, int* torn) {
  LocalBuffer buffer(channel->pool(), 256);
  Batch batch;
  for (int i = 0; i < rounds; ++i) {
    batch.clear();
    batch.read(0, buffer.data(), 256);
    channel->post(batch);
    co_await batch.done();
    for (std::size_t j = 0; j < 32; ++j) *torn += (buffer.word(j) >> 32) != (buffer.word(j) & 0xffff'ffff);
    co_await channel->executor().yield();
  }
}

// First the payload, then the flag, in one batch.
Task<void> write_then_flag(Channel* channel, int rounds) {
  LocalBuffer buffer(channel->pool(), 512);
  Batch batch;
  for (int i = 1; i <= rounds; ++i) {
    for (std::size_t j = 0; j < 33; ++j) buffer.word(j) = static_cast<std::uint64_t>(i);
    batch.clear();
    batch.write(1024, buffer.data(), 128);
    batch.write(2048, buffer.data() + 128, 128);
    batch.write(0, buffer.data() + 256, 8);
    channel->post(batch);
    co_await batch.done();
    co_await channel->executor().yield();
  }
}

Task<void> read_flag_then(Channel* channel, int rounds, int* violations) {
  LocalBuffer buffer(channel->pool(), 512);
  Batch batch;
  for (int i = 0; i < rounds; ++i) {
    batch.clear();
    batch.read(0, buffer.data() + 256, 8);
    channel->post(batch);
    co_await batch.done();
    batch.clear();
    batch.read(1024, buffer.data(), 128);
    batch.read(2048, buffer.data() + 128, 128);
    channel->post(batch);
    co_await batch.done();
    for (std::size_t j = 0; j < 32; ++j) *violations += buffer.word(j) < buffer.word(32);
    co_await channel->executor().yield();
  }
}

Task<void> add_ones(Channel* channel, int rounds, bool compare_and_swap) {
  LocalBuffer buffer(channel->pool(), 64);
  Batch batch;
  std::uint64_t expected = 0;
  for (int added = 0; added < rounds;) {
    batch.clear();
    if (compare_and_swap) {
      batch.compare_and_swap(64, expected, expected + 1, buffer.data());
    } else {
      batch.fetch_add(64, 1, buffer.data());
    }
    channel->post(batch);
    co_await batch.done();
    const bool swapped = buffer.word() == expected;
    if (!compare_and_swap || swapped) ++added;
    expected = buffer.word() + (swapped ? 1 : 0);
    co_await channel->executor().yield();
  }
}

}  // namespace

TEST_CASE("an aligned word is never torn") {
  on_every_transport(2, [](Suite& suite) {
    int torn = 0;
    suite.all_clients([&](int client) {
      Channel* channel = suite.channel(client).get();
      return client == 0 ? write_halves(channel, kRounds) : read_halves(channel, kRounds, &torn);
    });
    REQUIRE(torn == 0);
    REQUIRE(suite.word(31) == kRounds * 0x1'0000'0001UL);
  });
}

TEST_CASE("WRITEs of a channel take effect in posting order") {
  on_every_transport(2, [](Suite& suite) {
    int violations = 0;
    suite.all_clients([&](int client) {
      Channel* channel = suite.channel(client).get();
      return client == 0 ? write_then_flag(channel, kRounds) : read_flag_then(channel, kRounds, &violations);
    });
    REQUIRE(violations == 0);
  });
}

TEST_CASE("the last of several WRITEs to a place stays") {
  on_every_transport(1, [](Suite& suite) {
    const Status status = suite.post(0, [](Batch& batch, LocalBuffer& buffer) {
      for (std::size_t i = 0; i < 16; ++i) {
        for (std::size_t j = 0; j < 4; ++j) buffer.word(4 * i + j) = i;
        batch.write(8, buffer.data() + 32 * i, 32);
      }
    });
    REQUIRE(status.ok());
    for (std::size_t j = 0; j < 4; ++j) REQUIRE(suite.word(1 + j) == 15);
    REQUIRE(suite.word(0) == 0);
    REQUIRE(suite.word(5) == 0);
  });
}

TEST_CASE("a READ sees every earlier WRITE, CAS and FETCH-ADD of its channel") {
  on_every_transport(1, [](Suite& suite) {
    for (std::uint64_t round = 0; round < 10; ++round) {
      const Status status = suite.post(
          0,
          [&](Batch& batch, LocalBuffer& buffer) {
            buffer.word(0) = 1000 + round;
            buffer.word(1) = 2000 + round;
            batch.write(0, buffer.data(), 16);
            batch.fetch_add(16, 5, buffer.data() + 64);
            batch.compare_and_swap(24, round, round + 1, buffer.data() + 72);
            batch.read(0, buffer.data() + 128, 32);
            batch.read(24, buffer.data() + 256, 8);
          },
          [&](LocalBuffer& buffer) {
            // Only compared here: assertions are for the test's own thread.
            buffer.word(0) = buffer.word(16) == 1000 + round && buffer.word(17) == 2000 + round &&
                             buffer.word(18) == 5 * (round + 1) && buffer.word(19) == round + 1 &&
                             buffer.word(32) == round + 1 && buffer.word(8) == 5 * round &&
                             buffer.word(9) == round;
            NAMDB_CHECK(buffer.word(0) == 1);
          });
      REQUIRE(status.ok());
    }
  });
}

TEST_CASE("CAS and FETCH-ADD of a channel are ordered among themselves, and give the word that was there") {
  on_every_transport(1, [](Suite& suite) {
    std::array<std::uint64_t, 6> old{};
    const Status status = suite.post(
        0,
        [](Batch& batch, LocalBuffer& buffer) {
          batch.fetch_add(80, 3, buffer.data());
          batch.compare_and_swap(80, 3, 10, buffer.data() + 8);
          batch.fetch_add(80, 1, buffer.data() + 16);
          batch.compare_and_swap(80, 3, 20, buffer.data() + 24);  // does not match
          batch.fetch_add(80, ~std::uint64_t{0}, buffer.data() + 32);
          batch.compare_and_swap(80, 10, 30, buffer.data() + 40);
        },
        [&](LocalBuffer& buffer) { std::memcpy(old.data(), buffer.data(), sizeof old); });
    REQUIRE(status.ok());
    REQUIRE(old == std::array<std::uint64_t, 6>{0, 3, 10, 11, 11, 10});
    REQUIRE(suite.word(10) == 30);
  });
}

TEST_CASE("CAS and FETCH-ADD are atomic among all channels, the server's own included") {
  on_every_transport(3, [](Suite& suite) {
    for (const bool compare_and_swap : {false, true}) {
      const std::uint64_t before = suite.word(8);
      std::vector<Work> work;
      for (int i = 0; i < 3; ++i) {
        work.push_back({i, [&, i] { return add_ones(suite.channel(i).get(), kRounds, compare_and_swap); }});
      }
      work.push_back({kServer, [&] {
                        return add_ones(&suite.fixture().server().loopback(), kRounds, compare_and_swap);
                      }});
      suite.fixture().run(std::move(work));
      REQUIRE(suite.word(8) == before + 4 * kRounds);
    }
  });
}

TEST_CASE("a fenced operation waits for all earlier READs and atomics") {
  on_every_transport(1, [](Suite& suite) {
    for (std::uint64_t round = 0; round < 10; ++round) {
      std::array<std::uint64_t, 3> seen{};
      const Status status = suite.post(
          0,
          [&](Batch& batch, LocalBuffer& buffer) {
            buffer.word(8) = round + 1;
            batch.read(0, buffer.data(), 8);
            batch.compare_and_swap(8, round, 1'000'000, buffer.data() + 8);
            batch.fetch_add(16, 1'000'000, buffer.data() + 16);
            batch.write(0, buffer.data() + 64, 8, true);
            batch.write(8, buffer.data() + 64, 8, true);
            batch.write(16, buffer.data() + 64, 8, true);
          },
          [&](LocalBuffer& buffer) { std::memcpy(seen.data(), buffer.data(), sizeof seen); });
      REQUIRE(status.ok());
      for (std::size_t i = 0; i < 3; ++i) {
        REQUIRE(seen[i] == round);
        REQUIRE(suite.word(i) == round + 1);
      }
    }
  });
}

TEST_CASE("a completed WRITE is there for everyone who looks afterwards") {
  on_every_transport(2, [](Suite& suite) {
    for (std::uint64_t round = 1; round <= 20; ++round) {
      const int writer = static_cast<int>(round % 2);
      REQUIRE(suite
                  .post(writer,
                        [&](Batch& batch, LocalBuffer& buffer) {
                          buffer.word() = round;
                          batch.write(8 * round, buffer.data(), 8);
                        })
                  .ok());
      REQUIRE(suite.word(round) == round);
      std::uint64_t read = 0;
      REQUIRE(suite
                  .post(
                      1 - writer,
                      [&](Batch& batch, LocalBuffer& buffer) { batch.read(8 * round, buffer.data(), 8); },
                      [&](LocalBuffer& buffer) { read = buffer.word(); })
                  .ok());
      REQUIRE(read == round);
    }
  });
}

namespace {

Task<void> move_big(Channel* channel, bool* equal) {
  LocalBuffer out(channel->pool(), kMaxOperation_bytes);
  LocalBuffer in(channel->pool(), kMaxOperation_bytes);
  for (std::size_t i = 0; i < kMaxOperation_bytes / 8; ++i) out.word(i) = i * 0x9e3779b97f4a7c15;
  Batch batch;
  batch.write(kMaxOperation_bytes, out.data(), kMaxOperation_bytes);
  batch.read(kMaxOperation_bytes, in.data(), kMaxOperation_bytes);
  channel->post(batch);
  co_await batch.done();
  *equal = batch.status().ok() && std::memcmp(in.data(), out.data(), kMaxOperation_bytes) == 0;
}

Task<void> many_batches(Channel* channel, std::size_t count, bool* right) {
  LocalBuffer buffer(channel->pool(), 8 * count);
  std::vector<Batch> batches(count);
  for (std::size_t i = 0; i < count; ++i) {
    buffer.word(i) = i + 7;
    batches[i].write(8 * i, buffer.data() + 8 * i, 8);
    channel->post(batches[i]);
  }
  for (Batch& batch : batches) co_await batch.done();
  Batch all;
  LocalBuffer read(channel->pool(), 8 * count);
  for (std::size_t i = 0; i < count; ++i) all.read(8 * i, read.data() + 8 * i, 8);
  channel->post(all);
  co_await all.done();
  *right = all.status().ok() && std::memcmp(read.data(), buffer.data(), 8 * count) == 0;
}

}  // namespace

TEST_CASE("the largest operations move all their bytes") {
  on_every_transport(1, [](Suite& suite) {
    bool equal = false;
    suite.at(0, [&] { return move_big(suite.channel(0).get(), &equal); });
    REQUIRE(equal);
  });
}

TEST_CASE("many batches are outstanding at the same time, and a batch holds many operations") {
  on_every_transport(1, [](Suite& suite) {
    bool right = false;
    suite.at(0, [&] { return many_batches(suite.channel(0).get(), 500, &right); });
    REQUIRE(right);
  });
}

TEST_CASE("an empty batch completes") {
  on_every_transport(1, [](Suite& suite) { REQUIRE(suite.post(0, [](Batch&, LocalBuffer&) {}).ok()); });
}

TEST_CASE("a batch is used again after its completion") {
  on_every_transport(1, [](Suite& suite) {
    struct Local {
      static Task<void> reuse(Channel* channel, std::uint64_t* sum) {
        LocalBuffer buffer(channel->pool(), 64);
        Batch batch;
        for (int i = 0; i < 10; ++i) {
          batch.clear();
          batch.fetch_add(0, 1, buffer.data());
          channel->post(batch);
          co_await batch.done();
          *sum += buffer.word();
        }
      }
    };
    std::uint64_t sum = 0;
    suite.at(0, [&] { return Local::reuse(suite.channel(0).get(), &sum); });
    REQUIRE(sum == 45);
  });
}

TEST_CASE("operations and bytes are counted per kind") {
  on_every_transport(1, [](Suite& suite) {
    const OperationCounters before = suite.channel(0)->counters();
    REQUIRE(suite
                .post(0,
                      [](Batch& batch, LocalBuffer& buffer) {
                        batch.read(0, buffer.data(), 64);
                        batch.read(0, buffer.data() + 64, 8);
                        batch.write(128, buffer.data() + 128, 32);
                        batch.compare_and_swap(256, 1, 2, buffer.data() + 256);
                        batch.fetch_add(264, 1, buffer.data() + 264);
                      })
                .ok());
    std::string bytes = "twelve bytes";
    REQUIRE(suite.call(0, kEcho, bytes).ok());
    const OperationCounters counted = suite.channel(0)->counters() - before;
    REQUIRE(counted.reads == 2);
    REQUIRE(counted.read_bytes == 72);
    REQUIRE(counted.writes == 1);
    REQUIRE(counted.write_bytes == 32);
    REQUIRE(counted.compare_and_swaps == 1);
    REQUIRE(counted.fetch_adds == 1);
    REQUIRE(counted.batches == 1);
    REQUIRE(counted.calls == 1);
    REQUIRE(counted.call_bytes == 12);
    REQUIRE(counted.one_sided() == 5);
    REQUIRE(counted.bytes() == 72 + 32 + 12 + 16);
  });
}

}  // namespace namdb::fabric::conformance
