// pgwire_responder: the whole SQL side over the test engine in one map, without a memory server. For trying
// clients, and for measuring what the wire protocol and SQL cost by themselves.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "common/base/crash_handler.h"
#include "common/reactor/reactor.h"
#include "common/reactor/signals.h"
#include "common/reactor/socket_listener.h"
#include "compute/pgwire/server.h"
#include "compute/procedure/testing/procedures.h"
#include "compute/sql/testing/fake_engine.h"

namespace {

using namdb::reactor::Reactor;
using namdb::reactor::Task;

Task<void> wait_and_stop(namdb::reactor::Signals& signals, namdb::pgwire::Server& server) {
  const namdb::Result<int> signal = co_await signals.next();
  if (signal.ok()) std::puts("stopping");
  co_await server.stop();
}

Task<void> run(Reactor& reactor, namdb::reactor::StreamListener& listener, namdb::reactor::Signals& signals,
               namdb::pgwire::Server& server) {
  namdb::reactor::Gate gate;
  reactor.spawn(gate, server.serve(listener));
  co_await wait_and_stop(signals, server);
  co_await gate.close();
}

}  // namespace

int main(int argc, char** argv) {
  namdb::install_crash_handler(argv[0]);
  const std::string address = argc > 1 ? argv[1] : "127.0.0.1:5499";
  auto reactor = Reactor::create();
  if (!reactor.ok()) return std::fprintf(stderr, "%s\n", reactor.status().message().c_str()), 3;
  {
    namdb::reactor::Signals signals(**reactor, {SIGINT, SIGTERM});
    auto listener = namdb::reactor::SocketListener::listen(**reactor, address);
    if (!listener.ok()) return std::fprintf(stderr, "%s\n", listener.status().message().c_str()), 3;
    namdb::sql::testing::FakeEngine engine(**reactor);
    namdb::procedure::ProcedureRegistry procedures;
    namdb::sqltest::add_test_procedures(procedures);
    namdb::pgwire::ProcessState process({}, [] { return static_cast<std::uint32_t>(std::rand()); });
    namdb::pgwire::Server server(engine, procedures, process, nullptr);
    std::printf("ready at %s\n", (*listener)->address().c_str());
    std::fflush(stdout);
    (*reactor)->run_until(run(**reactor, **listener, signals, server));
  }
  return 0;
}
