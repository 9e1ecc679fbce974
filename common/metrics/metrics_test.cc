// The page's text, and the server that gives it out, over real sockets.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <string>
#include <utility>

#include "common/metrics/metric_page.h"
#include "common/metrics/metrics_server.h"
#include "common/metrics/process_metrics.h"
#include "common/reactor/reactor.h"
#include "common/reactor/socket_listener.h"
#include "common/reactor/socket_stream.h"
#include "common/reactor/testing/connect_stream.h"

namespace namdb::metrics {
namespace {

TEST_CASE("a page has each name's samples together, with help and kind once", "[metrics]") {
  MetricPage page;
  page.counter("namdb_commits_total", "Commits.", 3, {{"type", "block"}});
  page.gauge("namdb_free_bytes", "Free memory.", amount(1ULL << 40));
  page.counter("namdb_commits_total", "Ignored.", 4, {{"type", "say \"hi\"\n"}});
  page.info("namdb_build_info", "The version.", {{"version", "1.2"}});
  CHECK(page.text() ==
        "# HELP namdb_commits_total Commits.\n"
        "# TYPE namdb_commits_total counter\n"
        "namdb_commits_total{type=\"block\"} 3\n"
        "namdb_commits_total{type=\"say \\\"hi\\\"\\n\"} 4\n"
        "# HELP namdb_free_bytes Free memory.\n"
        "# TYPE namdb_free_bytes gauge\n"
        "namdb_free_bytes 1099511627776\n"
        "# HELP namdb_build_info The version.\n"
        "# TYPE namdb_build_info gauge\n"
        "namdb_build_info{version=\"1.2\"} 1\n");
}

TEST_CASE("the process says what it takes and when it started", "[metrics]") {
  MetricPage page;
  add_process(page);
  const std::string text = page.text();
  const auto value = [&text](const std::string& name) {
    const std::size_t at = text.find("\n" + name + " ");
    REQUIRE(at != std::string::npos);
    return std::strtod(text.c_str() + at + name.size() + 2, nullptr);
  };
  CHECK(value("process_cpu_seconds_total") >= 0);
  CHECK(value("process_resident_memory_bytes") > 100'000);
  CHECK(value("process_open_fds") >= 3);
  CHECK(value("process_max_fds") >= value("process_open_fds"));
  const auto now = static_cast<double>(std::time(nullptr));
  CHECK(value("process_start_time_seconds") <= now + 2);
  CHECK(value("process_start_time_seconds") > now - 3600);
}

class Scene {
 public:
  explicit Scene(MetricsServerOptions options = {}) {
    auto reactor = reactor::Reactor::create({});
    REQUIRE(reactor.ok());
    reactor_ = std::move(*reactor);
    auto listener = reactor::SocketListener::listen(*reactor_, "127.0.0.1:0");
    REQUIRE(listener.ok());
    server_ = std::make_unique<MetricsServer>(
        *reactor_, std::move(*listener), [this] { return "page " + std::to_string(++pages_) + "\n"; },
        options);
    reactor_->spawn(gate_, server_->serve());
  }
  ~Scene() { reactor_->run_until(end()); }

  // All that the server answers to a client that sends `bytes`.
  std::string ask(std::string bytes) { return reactor_->run_until(talk(std::move(bytes))); }
  int pages() const { return pages_; }
  reactor::Reactor& reactor() { return *reactor_; }
  MetricsServer& server() { return *server_; }

  reactor::Task<std::unique_ptr<reactor::ByteStream>> connect() {
    auto stream = co_await reactor::testing::connect_stream(*reactor_, server_->address());
    NAMDB_CHECK(stream.ok());
    co_return std::move(*stream);
  }
  static reactor::Task<std::string> read_all(reactor::ByteStream* stream) {
    std::string all;
    while (true) {
      char buffer[512];
      const Result<std::size_t> read = co_await stream->read_some(buffer, sizeof buffer);
      if (!read.ok() || *read == 0) co_return all;
      all.append(buffer, *read);
    }
  }

 private:
  reactor::Task<std::string> talk(std::string bytes) {
    const std::unique_ptr<reactor::ByteStream> stream = co_await connect();
    stream->write(bytes);
    std::string all = co_await read_all(stream.get());
    co_return all;
  }
  reactor::Task<void> end() {
    server_->close();
    co_await gate_.close();
  }

  std::unique_ptr<reactor::Reactor> reactor_;
  std::unique_ptr<MetricsServer> server_;
  reactor::Gate gate_;
  int pages_ = 0;
};

TEST_CASE("each GET /metrics makes a page", "[metrics]") {
  Scene scene;
  const std::string first = scene.ask("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
  CHECK(first.starts_with("HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4"));
  CHECK(first.ends_with("Content-Length: 7\r\nConnection: close\r\n\r\npage 1\n"));
  CHECK(scene.ask("GET /metrics?x=1 HTTP/1.0\r\n\r\n").ends_with("page 2\n"));
}

TEST_CASE("other requests are answered without a page", "[metrics]") {
  Scene scene;
  CHECK(scene.ask("GET /health HTTP/1.1\r\n\r\n").ends_with("\r\n\r\nok\n"));
  CHECK(scene.ask("HEAD /health HTTP/1.1\r\n\r\n").ends_with("Connection: close\r\n\r\n"));
  CHECK(scene.ask("GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404 "));
  CHECK(scene.ask("POST /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405 "));
  CHECK(scene.ask("GET /metrics\r\n\r\n").starts_with("HTTP/1.1 400 "));
  CHECK(scene.ask("\x16\x03\x01\r\n\r\n").starts_with("HTTP/1.1 400 "));
  CHECK(scene.pages() == 0);
}

TEST_CASE("a request that is too long is dropped", "[metrics]") {
  Scene scene({.max_request_bytes = 64});
  CHECK(scene.ask("GET /metrics HTTP/1.1\r\nX: " + std::string(100, 'x')).empty());
  CHECK(scene.ask("GET /metrics HTTP/1.1\r\n\r\n").ends_with("page 1\n"));
}

TEST_CASE("a client that says nothing is dropped in time", "[metrics]") {
  Scene scene({.request_timeout_ns = kMillisecond_ns});
  CHECK(scene.ask("").empty());
}

TEST_CASE("clients beyond the most are closed at once", "[metrics]") {
  Scene scene({.max_clients = 1});
  const auto silent = scene.reactor().run_until(scene.connect());
  CHECK(scene.ask("GET /metrics HTTP/1.1\r\n\r\n").empty());
}

TEST_CASE("closing the server ends its silent clients", "[metrics]") {
  Scene scene;
  const auto silent = scene.reactor().run_until(scene.connect());
  scene.server().close();
  CHECK(scene.reactor().run_until(Scene::read_all(silent.get())).empty());
}

}  // namespace
}  // namespace namdb::metrics
