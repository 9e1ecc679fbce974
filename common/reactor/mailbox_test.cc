#include "common/reactor/mailbox.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <memory>
#include <thread>
#include <vector>

#include "common/reactor/reactor.h"

namespace namdb::reactor {
namespace {

std::unique_ptr<Reactor> make_reactor(std::uint64_t spin_ns) {
  ReactorOptions options;
  options.spin_ns = spin_ns;
  auto reactor = Reactor::create(options);
  REQUIRE(reactor.ok());
  return std::move(*reactor);
}

// Numbers that go to the other reactor one after another and come back squared; then home stops.
struct Squares {
  Reactor& home;
  Reactor& other;
  long left;
  long sum = 0;

  void send_next() {
    if (left-- == 0) return home.stop();
    other.mailbox().post([this, value = left] {
      home.mailbox().post([this, square = value * value] {
        sum += square;
        send_next();
      });
    });
  }
};

TEST_CASE("two reactors on two threads answer each other, asleep or spinning") {
  for (const std::uint64_t spin_ns : {std::uint64_t{0}, 5 * kMicrosecond_ns, kMillisecond_ns}) {
    auto home = make_reactor(spin_ns);
    auto other = make_reactor(spin_ns);
    std::thread thread([&other] { other->run(); });
    Squares squares{.home = *home, .other = *other, .left = 2000};
    home->mailbox().post([&squares] { squares.send_next(); });
    home->run();
    CHECK(squares.sum == 1999L * 2000 * 3999 / 6);
    other->stop();
    thread.join();
  }
}

TEST_CASE("messages of each sender arrive in its order, none is lost") {
  constexpr int kSenders = 3;
  constexpr int kMessages = 20'000;
  auto receiver = make_reactor(0);
  std::vector<int> next(kSenders, 0);
  bool in_order = true;
  int total = 0;
  std::vector<std::thread> senders;
  for (int sender = 0; sender < kSenders; ++sender) {
    senders.emplace_back([&, sender] {
      for (int i = 0; i < kMessages; ++i) {
        receiver->mailbox().post([&, sender, i] {
          in_order = in_order && next[static_cast<std::size_t>(sender)]++ == i;
          if (++total == kSenders * kMessages) receiver->stop();
        });
      }
    });
  }
  receiver->run();
  for (std::thread& sender : senders) sender.join();
  CHECK(in_order);
  CHECK(total == kSenders * kMessages);
}

TEST_CASE("stop() from another thread ends a sleeping reactor") {
  auto reactor = make_reactor(0);
  std::thread thread([&reactor] { reactor->stop(); });
  reactor->run();
  thread.join();
}

TEST_CASE("messages that were never run are dropped with the mailbox") {
  auto token = std::make_shared<int>(1);
  {
    auto reactor = make_reactor(0);
    reactor->mailbox().post([token] { FAIL("must not run"); });
    CHECK(token.use_count() == 2);
  }
  CHECK(token.use_count() == 1);
}

}  // namespace
}  // namespace namdb::reactor
