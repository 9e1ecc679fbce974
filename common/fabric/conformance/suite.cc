#include "common/fabric/conformance/suite.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "common/fabric/region_words.h"

namespace namdb::fabric::conformance {
namespace {

constexpr std::size_t kBuffer_bytes = 4096;

reactor::Task<void> do_connect(Fixture* fixture, int client, std::string hello, std::string* welcome,
                               std::unique_ptr<Channel>* channel, Status* status) {
  auto connected = co_await fixture->client(client).connect(fixture->address(), std::move(hello), welcome);
  if (connected.ok()) {
    *channel = std::move(*connected);
  } else {
    *status = connected.status();
  }
}

// Where it is read.
reactor::Task<void> set_region(SuiteService* service, std::span<std::byte> region) {
  service->region = region;
  co_return;
}

reactor::Task<void> do_disconnect(std::unique_ptr<Channel>* channel) {
  channel->reset();
  co_return;
}

using Fill = std::function<void(Batch&, LocalBuffer&)>;
using Examine = std::function<void(LocalBuffer&)>;

reactor::Task<void> do_post(Channel* channel, Fill fill, Examine examine, Status* status) {
  LocalBuffer buffer(channel->pool(), kBuffer_bytes);
  Batch batch;
  fill(batch, buffer);
  channel->post(batch);
  co_await batch.done();
  *status = batch.status();
  if (examine) examine(buffer);
}

reactor::Task<void> do_call(Channel* channel, std::uint16_t method, std::string* bytes, Status* status) {
  Call call;
  call.method = method;
  call.request = std::move(*bytes);
  channel->post(call);
  co_await call.done();
  *status = call.status();
  *bytes = std::move(call.reply);
}

reactor::Task<void> do_await_disconnected(reactor::Executor* executor, SuiteService* service,
                                          std::size_t count) {
  while (service->disconnected().size() < count) co_await executor->sleep_for(10 * kMicrosecond_ns);
}

}  // namespace

Result<std::string> SuiteService::on_connect(PeerId peer, std::string_view hello) {
  if (hello == "refuse me") return Status(ErrorCode::fenced, "as you wish");
  if (hello == kOnlyAsks) return "welcome";
  const std::lock_guard lock(mutex_);
  connected_.push_back(peer);
  return "welcome, " + std::string(hello);
}

reactor::Task<Status> SuiteService::on_call(PeerId, std::uint16_t method, std::string_view request,
                                            std::string& reply) {
  switch (method) {
    case kEcho:
      reply = request;
      co_return Status();
    case kReadWord: {
      const std::size_t index = std::stoul(std::string(request));
      reply = std::to_string(region_word(region.data() + 8 * index).load(std::memory_order_acquire));
      co_return Status();
    }
    case kTooLong:
      reply.resize(kMaxCall_bytes + 1);
      co_return Status();
    default:
      co_return Status(ErrorCode::duplicate_key, std::string(request), "a hint");
  }
}

void SuiteService::on_disconnect(PeerId peer) {
  const std::lock_guard lock(mutex_);
  if (std::ranges::find(connected_, peer) != connected_.end()) disconnected_.push_back(peer);
}

std::vector<PeerId> SuiteService::connected() const {
  const std::lock_guard lock(mutex_);
  return connected_;
}

std::vector<PeerId> SuiteService::disconnected() const {
  const std::lock_guard lock(mutex_);
  return disconnected_;
}

Suite::Suite(const FixtureFactory& factory, int clients, int run)
    : fixture_(factory.make(service_, clients, run)), channels_(static_cast<std::size_t>(clients)) {
  at(kServer, [&] { return set_region(&service_, fixture_->region()); });
  for (int i = 0; i < clients; ++i) {
    const Status status = connect(i);
    REQUIRE(status.ok());
  }
}

Suite::~Suite() {
  for (int i = 0; i < clients(); ++i) disconnect(i);
}

std::uint64_t Suite::word(std::size_t index) {
  return region_word(region().data() + 8 * index).load(std::memory_order_acquire);
}

void Suite::all_clients(const std::function<reactor::Task<void>(int client)>& job) {
  std::vector<Work> work;
  for (int i = 0; i < clients(); ++i) work.push_back({i, [&job, i] { return job(i); }});
  fixture_->run(std::move(work));
}

Status Suite::connect(int client, std::string hello, std::string* welcome) {
  Status status;
  at(client, [&] { return do_connect(fixture_.get(), client, hello, welcome, &channel(client), &status); });
  return status;
}

void Suite::disconnect(int client) {
  at(client, [&] { return do_disconnect(&channel(client)); });
}

void Suite::await_disconnected(std::size_t count) {
  at(kServer, [&] { return do_await_disconnected(&fixture_->executor(kServer), &service_, count); });
}

Status Suite::post(int client, const std::function<void(Batch&, LocalBuffer&)>& fill,
                   const std::function<void(LocalBuffer&)>& examine) {
  Status status;
  at(client, [&] { return do_post(channel(client).get(), fill, examine, &status); });
  return status;
}

Status Suite::call(int client, std::uint16_t method, std::string& bytes) {
  Status status;
  at(client, [&] { return do_call(channel(client).get(), method, &bytes, &status); });
  return status;
}

void on_every_transport(int clients, const std::function<void(Suite&)>& test) {
  for (const FixtureFactory& factory : fixture_factories()) {
    for (int run = 0; run < factory.runs; ++run) {
      INFO("transport " << factory.name << ", run " << run);
      Suite suite(factory, clients, run);
      test(suite);
    }
  }
}

}  // namespace namdb::fabric::conformance
