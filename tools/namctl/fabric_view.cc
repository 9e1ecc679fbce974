#include "tools/namctl/fabric_view.h"

#include <array>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <utility>

#include "proto/control.pb.h"
#include "tools/namctl/compute_connection.h"

namespace namdb::namctl {
namespace {

constexpr std::size_t kLineLength = 110;

// Per commit of a compute server: all operations of its workers, heartbeats included.
constexpr std::array kPerCommit = {"doorbells", "signalled", "requests", "batches", "calls"};

std::uint64_t number(const std::optional<std::string>& text) {
  return text ? std::strtoull(text->c_str(), nullptr, 10) : 0;
}

MemoryFabric view_memory(ControlPlane& control, const std::string& address) {
  MemoryFabric view;
  view.address = address;
  control::FabricReply reply;
  view.status = control.call(address, control::FABRIC, control::FabricRequest(), reply);
  view.server_id = reply.server_id();
  view.fabric = reply.fabric();
  for (const control::FabricFact& fact : reply.facts()) {
    if (fact.text().empty()) {
      view.facts.count(fact.name(), fact.amount());
    } else {
      view.facts.say(fact.name(), fact.text());
    }
  }
  return view;
}

ComputeFabric view_compute(const std::string& address) {
  ComputeFabric view;
  view.address = address;
  ComputeConnection connection(address);
  view.error = connection.error();
  if (!view.error.empty()) return view;
  const auto commits =
      connection.query("SELECT COALESCE(sum(value), 0) FROM namdb_statistics WHERE metric = 'commits'");
  const auto rows = connection.query("SELECT worker, memory_server, name, text, amount FROM namdb_fabric");
  for (const Status& status : {commits.status(), rows.status()}) {
    if (!status.ok()) view.error = status.message();
  }
  if (!view.error.empty()) return view;
  view.commits = number(commits->front().front());
  for (const auto& row : *rows) {
    const auto worker = static_cast<std::uint32_t>(number(row[0]));
    const auto server = static_cast<std::uint32_t>(number(row[1]));
    auto& all = view.connections;
    if (all.empty() || all.back().worker != worker || all.back().memory_server != server) {
      all.push_back({worker, server, {}});
    }
    if (row[3]) {
      all.back().facts.say(row[2].value_or(""), *row[3]);
    } else {
      all.back().facts.count(row[2].value_or(""), number(row[4]));
    }
  }
  return view;
}

nlohmann::json json_of(const fabric::Facts& facts) {
  nlohmann::json json = nlohmann::json::object();
  for (const fabric::Fact& fact : facts.all()) {
    if (fact.text.empty()) {
      json[fact.name] = fact.amount;
    } else {
      json[fact.name] = fact.text;
    }
  }
  return json;
}

// "name value, name value", in lines. Counters that are zero are left out.
void add_lines(const fabric::Facts& facts, std::vector<std::string>& lines) {
  std::string line;
  const auto flush = [&] {
    if (!line.empty()) lines.push_back("    " + line);
    line.clear();
  };
  for (const bool texts : {true, false}) {
    for (const fabric::Fact& fact : facts.all()) {
      if (fact.text.empty() == texts || (!texts && fact.amount == 0)) continue;
      const std::string piece = fact.name + " " + (texts ? fact.text : std::to_string(fact.amount));
      if (line.size() + piece.size() > kLineLength) flush();
      line += (line.empty() ? "" : ", ") + piece;
    }
    flush();
  }
}

}  // namespace

std::uint64_t ComputeFabric::total(const std::string& name) const {
  std::uint64_t sum = 0;
  for (const fabric::ConnectionFacts& connection : connections) {
    for (const fabric::Fact& fact : connection.facts.all()) {
      if (fact.name == name) sum += fact.amount;
    }
  }
  return sum;
}

bool FabricView::all_answer() const {
  bool all = true;
  for (const MemoryFabric& server : memory) all &= server.status.ok();
  for (const ComputeFabric& server : compute) all &= server.error.empty();
  return all;
}

FabricView view_fabric(ControlPlane& control, const ClusterAddress& address) {
  FabricView view;
  // First, so that asking a compute server does not count what asking the memory servers cost.
  for (const std::string& server : address.compute) view.compute.push_back(view_compute(server));
  for (const std::string& server : address.memory) view.memory.push_back(view_memory(control, server));
  return view;
}

nlohmann::json to_json(const FabricView& view) {
  nlohmann::json memory = nlohmann::json::array();
  for (const MemoryFabric& server : view.memory) {
    nlohmann::json entry = {{"address", server.address}, {"up", server.status.ok()}};
    if (server.status.ok()) {
      entry["server_id"] = server.server_id;
      entry["fabric"] = server.fabric;
      entry["facts"] = json_of(server.facts);
    } else {
      entry["error"] = server.status.to_string();
    }
    memory.push_back(std::move(entry));
  }
  nlohmann::json compute = nlohmann::json::array();
  for (const ComputeFabric& server : view.compute) {
    nlohmann::json entry = {{"address", server.address}, {"up", server.error.empty()}};
    if (!server.error.empty()) {
      entry["error"] = server.error;
    } else {
      entry["commits"] = server.commits;
      nlohmann::json connections = nlohmann::json::array();
      for (const fabric::ConnectionFacts& connection : server.connections) {
        connections.push_back({{"worker", connection.worker},
                               {"memory_server", connection.memory_server},
                               {"facts", json_of(connection.facts)}});
      }
      entry["connections"] = std::move(connections);
    }
    compute.push_back(std::move(entry));
  }
  return {{"all_up", view.all_answer()}, {"memory_servers", memory}, {"compute_servers", compute}};
}

std::vector<std::string> to_lines(const FabricView& view) {
  std::vector<std::string> lines;
  for (const MemoryFabric& server : view.memory) {
    if (!server.status.ok()) {
      lines.push_back("memory server " + server.address + ": DOWN, " + server.status.message());
      continue;
    }
    lines.push_back("memory server " + std::to_string(server.server_id) + " at " + server.address + ": " +
                    server.fabric);
    add_lines(server.facts, lines);
  }
  for (const ComputeFabric& server : view.compute) {
    if (!server.error.empty()) {
      lines.push_back("compute server " + server.address + ": DOWN, " + server.error);
      continue;
    }
    lines.push_back("compute server " + server.address + ": " + std::to_string(server.commits) + " commits");
    std::string costs;
    for (const char* name : kPerCommit) {
      const std::uint64_t total = server.total(name);
      if (total == 0 || server.commits == 0) continue;
      std::array<char, 64> text{};
      std::snprintf(text.data(), text.size(), "%s%.2f %s", costs.empty() ? "" : ", ",
                    static_cast<double>(total) / static_cast<double>(server.commits), name);
      costs += text.data();
    }
    if (!costs.empty()) lines.push_back("    for each commit: " + costs);
    for (const fabric::ConnectionFacts& connection : server.connections) {
      lines.push_back("  worker " + std::to_string(connection.worker) + " to memory server " +
                      std::to_string(connection.memory_server));
      add_lines(connection.facts, lines);
    }
  }
  return lines;
}

}  // namespace namdb::namctl
