#include "tools/fuzz/server_run.h"

#include <utility>

#include "common/base/check.h"

namespace namdb::fuzz {
namespace {

using pgwire::testing::Received;

// Ordinary inputs take a few. Statements that go on for ever fill all of them with work.
constexpr std::uint64_t kTurns = 40;
// From a cancel request to the end of the statement. A back-off or two may be among them.
constexpr std::uint64_t kTurnsToCancel = 500;
constexpr std::uint64_t kTurnsToStop = 20'000;
constexpr std::uint32_t kSecret = 7;
constexpr std::int64_t kNow_us = 800'000'000'000'000;
// All that a server may send.
constexpr std::string_view kAnswers = "RSKZTDCEINtns123GHWdcvA";

}  // namespace

ServerRun::ServerRun(Scene& scene, pgwire::Options options)
    : scene_(scene), process_(std::move(options), [] { return kSecret; }) {
  server_ =
      std::make_unique<pgwire::Server>(scene.engine, scene.procedures, process_, [] { return kNow_us; });
}

ServerRun::~ServerRun() {
  reactor::Gate stops;
  scene_.executor.spawn(stops, server_->stop());
  NAMDB_CHECK(scene_.executor.run_until([&] { return stops.count() == 0; }, kTurnsToStop));
  server_.reset();
  NAMDB_CHECK(scene_.engine.open_transactions() == 0);
  NAMDB_CHECK(process_.client_memory().used_bytes() == 0);
}

void ServerRun::cancel_statements() {
  for (const sql::SessionActivity& session : process_.sessions())
    process_.cancel(session.process_id, kSecret);
}

ServerRun::Client::Client(ServerRun& run, Origin origin, std::size_t read_limit)
    : run_(run), pipe_(std::make_shared<pgwire::testing::Pipe>(run.scene_.executor)) {
  pipe_->local = origin == Origin::local;
  if (origin == Origin::remote) pipe_->peer = "192.0.2.7:4000";
  pipe_->read_limit = read_limit;
  run.server_->adopt(std::make_unique<pgwire::testing::MemoryStream>(pipe_));
}

ServerRun::Client::Client(ServerRun& run, std::string_view user) : Client(run, Origin::local) {
  send(pgwire::testing::startup({{"user", user}, {"database", "namdb"}}), true);
  NAMDB_CHECK(receive().back().type == 'Z');
}

void ServerRun::Client::send(std::string_view bytes, bool patient) {
  if (!open()) return;
  pipe_->to_server += bytes;
  pipe_->arrived.notify_all();
  SteppedExecutor& executor = run_.scene_.executor;
  const auto done = [&] { return idle(); };
  if (executor.run_until(done, kTurns)) return;
  run_.cancel_statements();
  if (!patient) {
    pipe_->client_closed = true;
    pipe_->arrived.notify_all();
  }
  // A statement that ignores its end, or one that waits for what never comes.
  NAMDB_CHECK(executor.run_until(done, kTurnsToCancel));
}

std::vector<Received> ServerRun::Client::receive() {
  std::vector<Received> messages = pgwire::testing::take_messages(pipe_->to_client);
  NAMDB_CHECK(pipe_->to_client.empty());
  for (const Received& received : messages)
    NAMDB_CHECK(kAnswers.find(received.type) != std::string_view::npos);
  return messages;
}

}  // namespace namdb::fuzz
