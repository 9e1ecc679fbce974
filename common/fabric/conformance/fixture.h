// A transport as the conformance suite uses it: a server with a region and some clients, wherever they run. A
// transport is tested by adding a factory of its fixture to the suite's list (transports.cc).
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/fabric/fabric.h"

namespace namdb::fabric::conformance {

// Makes the task on the thread where it runs. All objects that it names outlive the run.
using Job = std::function<reactor::Task<void>()>;

inline constexpr int kServer = -1;
struct Work {
  int place;  // the index of a client, or kServer
  Job job;
};

class Fixture {
 public:
  static constexpr std::size_t kRegion_bytes = 4U << 20;
  static constexpr std::size_t kCapacity_bytes = 6U << 20;

  virtual ~Fixture() = default;
  // Zeroed, kRegion_bytes. The test's own thread touches it with region_word() only.
  virtual std::span<std::byte> region() = 0;
  // kCapacity_bytes, which are there, or kRegion_bytes where regions do not grow.
  virtual std::size_t capacity_bytes() = 0;
  // The server listens at address(); nothing at nowhere().
  virtual std::string address() = 0;
  virtual std::string nowhere() = 0;
  virtual ServerFabric& server() = 0;
  // To be used by work at that client only.
  virtual ClientFabric& client(int index) = 0;
  virtual reactor::Executor& executor(int place) = 0;
  // Runs all of it at the same time, to the end. From the test's own thread.
  virtual void run(std::vector<Work> work) = 0;
};

struct FixtureFactory {
  std::string name;
  // How often each test is run; `run` counts from 0 and serves as a seed.
  int runs;
  // The service belongs to the test, and is called where the server runs.
  std::function<std::unique_ptr<Fixture>(Service& service, int clients, int run)> make;
};

const std::vector<FixtureFactory>& fixture_factories();

}  // namespace namdb::fabric::conformance
