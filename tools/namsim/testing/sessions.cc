#include "tools/namsim/testing/sessions.h"

#include <algorithm>
#include <catch2/catch.hpp>

namespace namdb::sim {
namespace {

ClusterOptions options_of(std::string_view protocol, std::string_view stages, txn::ReadLocks read_locks,
                          bool reader_words, txn::LockTime lock_time) {
  ClusterOptions options;
  options.memory_servers = 2;
  options.region_bytes = 64U << 20;
  options.memory.protocol = protocol;
  options.memory.stages = *protocol::StageCode::parse(stages);
  options.worker.read_locks = read_locks;
  options.worker.lock_time = lock_time;
  options.memory.shared_read_locks = reader_words || read_locks == txn::ReadLocks::shared;
  return options;
}

// In a turn of its compute server.
reactor::Task<void> end_session(std::unique_ptr<SqlClient>* client) {
  client->reset();
  co_return;
}

}  // namespace

Sessions::Sessions(std::string_view protocol, std::string_view stages, txn::ReadLocks read_locks,
                   bool reader_words, txn::LockTime lock_time)
    : world_(1), cluster_(world_, options_of(protocol, stages, read_locks, reader_words, lock_time)) {
  for (std::size_t compute = 0; compute < kComputes; ++compute) cluster_.add_compute();
  SqlClient& loader = open(0);
  REQUIRE(done(0, loader, "CREATE TABLE t (id int PRIMARY KEY, g int, h int, v int)"));
  REQUIRE(done(0, loader, "CREATE INDEX by_g ON t (g)"));
  REQUIRE(done(0, loader, "CREATE INDEX by_h ON t USING hash (h)"));
  for (int id = 0; id < 20; ++id) {
    const std::string group = std::to_string(id % 4);
    const std::string row = std::to_string(id) + ", " + group + ", " + group + ", 0";
    REQUIRE(done(0, loader, "INSERT INTO t VALUES (" + row + ")"));
  }
  // Everything is installed, and no compute server's clock is behind it.
  world_.run_for(20 * kMillisecond_ns);
}

SqlClient& Sessions::open(std::size_t compute) {
  clients_.emplace_back(compute, std::make_unique<SqlClient>(cluster_.worker(compute), procedures_));
  return *clients_.back().second;
}

SqlAnswer Sessions::ask(std::size_t compute, SqlClient& client, const std::string& text) {
  const std::uint64_t began_ns = world_.now_ns();
  SqlAnswer answer = world_.run(cluster_.node(compute), client.run(text));
  took_ns_ = world_.now_ns() - began_ns;
  return answer;
}

bool Sessions::done(std::size_t compute, SqlClient& client, const std::string& text) {
  const Status status = run(compute, client, text);
  if (!status.ok()) UNSCOPED_INFO(text << ": " << status.to_string());
  return status.ok();
}

void Sessions::leave(SqlClient& client) {
  const auto its =
      std::ranges::find_if(clients_, [&client](const auto& each) { return each.second.get() == &client; });
  REQUIRE(its != clients_.end());
  world_.run(cluster_.node(its->first), end_session(&its->second));
  clients_.erase(its);
}

void Sessions::kill(std::size_t compute) {
  cluster_.kill_compute(compute);
  for (auto& [its_compute, client] : clients_) {
    if (its_compute == compute) fabric::sim::SimWorld::bury(std::move(client));
  }
}

}  // namespace namdb::sim
