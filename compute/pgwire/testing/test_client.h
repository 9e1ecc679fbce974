// A server over the test engine, and clients that a test drives.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "compute/pgwire/server.h"
#include "compute/pgwire/testing/memory_stream.h"
#include "compute/procedure/testing/procedures.h"
#include "compute/sql/testing/fake_engine.h"

namespace namdb::pgwire::testing {

struct World {
  explicit World(Options options = {})
      : engine(executor),
        process(
            options, [this] { return next_secret++; },
            [this](const std::string& line) { log.push_back(line); }) {
    sqltest::add_test_procedures(procedures);
    start();
  }
  ~World() { stop(); }
  // Also after a stop(): a new server on the same data.
  void start() {
    stop();
    server = std::make_unique<Server>(
        engine, procedures, process, [this] { return wall_us += wall_step_us; }, Server::Post(), planning);
    stopping = false;
  }
  void begin_stop() {
    if (server == nullptr || std::exchange(stopping, true)) return;
    executor.spawn(stops, server->stop());
    executor.run_ready();
  }
  void stop() {
    begin_stop();
    executor.run_until([&] { return stops.count() == 0; });
  }

  // In the place of the one with that name, if there is one.
  void set_role(const std::string& name, storage::Role role) {
    role.name = name;
    const storage::RolesRef roles = engine.cached_roles();
    if (const storage::Role* known = roles->find(name)) role.id = known->id;
    reactor::Gate gate;
    executor.spawn(gate, make_role(roles->version(), std::move(role)));
    executor.run_until([&] { return gate.count() == 0; });
  }
  reactor::Task<void> make_role(std::uint64_t version, storage::Role role) {
    txn::RoleChange change;
    change.version = version;
    change.roles.push_back(std::move(role));
    const Status status = co_await engine.change_roles(std::move(change));
    NAMDB_CHECK(status.ok());
  }

  std::vector<std::string> log;            // of clients that were not let in
  sql::PlanningQueue* planning = nullptr;  // of the next server
  bool stopping = false;
  sql::testing::ManualExecutor executor;
  reactor::Gate stops;
  sql::testing::FakeEngine engine;
  procedure::ProcedureRegistry procedures;
  std::uint32_t next_secret = 1000;
  std::int64_t wall_us = 0;       // the wall clock, in µs since 2000-01-01
  std::int64_t wall_step_us = 0;  // by which each look at it moves it
  ProcessState process;
  std::unique_ptr<Server> server;
};

class TestClient {
 public:
  explicit TestClient(World& world) : world_(world), pipe_(std::make_shared<Pipe>(world.executor)) {}
  // Connects and reads up to ReadyForQuery.
  static TestClient ready(World& world) {
    TestClient client(world);
    client.connect();
    client.send(startup({{"user", "tester"}, {"database", "namdb"}}));
    NAMDB_CHECK(kinds(client.receive()).back() == 'Z');
    return client;
  }

  void connect() { world_.server->adopt(std::make_unique<MemoryStream>(pipe_)); }
  void send(const std::string& bytes) {
    pipe_->to_server += bytes;
    pipe_->arrived.notify_all();
    world_.executor.run_ready();
  }
  std::vector<Received> receive() { return take_messages(pipe_->to_client); }
  std::vector<Received> ask(const std::string& bytes) {
    send(bytes);
    return receive();
  }
  void vanish() {
    pipe_->client_closed = true;
    pipe_->arrived.notify_all();
    world_.executor.run_ready();
  }
  Pipe& pipe() { return *pipe_; }

 private:
  World& world_;
  std::shared_ptr<Pipe> pipe_;
};

inline const Received* find_error(const std::vector<Received>& messages) {
  for (const Received& received : messages) {
    if (received.type == 'E') return &received;
  }
  return nullptr;
}

inline std::string sqlstate(const std::vector<Received>& messages) {
  const Received* error = find_error(messages);
  return error == nullptr ? "" : error->field('C');
}

}  // namespace namdb::pgwire::testing
