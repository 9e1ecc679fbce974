#include "compute/worker/worker_thread.h"

#include <openssl/rand.h>
#include <signal.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>

#include "common/fabric/local_path.h"
#include "common/fabric/registry.h"
#include "common/fabric/shm/transport.h"
#include "common/fabric/tcp/transport.h"
#include "common/fabric/verbs/transport.h"
#include "common/placement/store/open_store.h"
#include "common/reactor/socket_stream.h"
#include "compute/txn/snapshot_fetcher.h"
#include "compute/worker/local_path.h"

namespace namdb::compute {
namespace {

constexpr std::uint64_t kRetry_ns = 100 * kMillisecond_ns;
constexpr std::int64_t kUnixTimeOf2000_us = 946'684'800'000'000;

txn::ComputeId random_compute_id() {
  txn::ComputeId id;
  NAMDB_CHECK(RAND_bytes(reinterpret_cast<unsigned char*>(id.data()), static_cast<int>(id.size())) == 1);
  return id;
}

std::int64_t wall_clock_us() {
  const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(since_1970).count() - kUnixTimeOf2000_us;
}

std::uint64_t random_seed() {
  std::uint64_t seed = 0;
  NAMDB_CHECK(RAND_bytes(reinterpret_cast<unsigned char*>(&seed), sizeof seed) == 1);
  return seed;
}

bool told_to_end() {
  sigset_t pending;
  sigemptyset(&pending);
  ::sigpending(&pending);
  return sigismember(&pending, SIGTERM) == 1 || sigismember(&pending, SIGINT) == 1;
}

// Whether the error ends when a memory server is started, a network comes up, or a name is entered.
bool is_transient(const Status& status) {
  return status.code() == ErrorCode::connection_failure ||
         status.code() == ErrorCode::memory_server_restarted ||
         status.code() == ErrorCode::cannot_connect_now || status.code() == ErrorCode::admin_shutdown;
}

std::string name_of(const Flags& flags) {
  return "nam-computed " + flags.listen;
}

std::unique_ptr<fabric::ClientFabric> make_client(reactor::Reactor& reactor,
                                                  const fabric::Transport& transport, const Flags& flags) {
  auto client = transport.make_client();
  if (flags.beside_socket.empty()) return client;
  auto local = fabric::shm::local_client(reactor, client->pool());
  return std::make_unique<fabric::LocalPathClient>(
      std::move(client), std::move(local),
      local_path(flags.memory_servers[*flags.beside], flags.beside_socket, name_of(flags)));
}

// As the way to memory server 0 is, where the vector lies.
txn::SnapshotSource::Mode snapshot_mode(const Flags& flags) {
  const bool mapped = !flags.beside_socket.empty() && *flags.beside == 0;
  const bool by_card = flags.fabric == "verbs" && !mapped;
  return by_card ? txn::SnapshotSource::Mode::adaptive : txn::SnapshotSource::Mode::together;
}

reactor::Task<Result<placement::Configuration>> read_store(placement::ConfigurationStore* store,
                                                           const bool* closed) {
  if (*closed) co_return Status(ErrorCode::admin_shutdown, "the compute server ends");
  auto stored = co_await store->read();
  if (!stored.ok()) co_return stored.status();
  co_return std::move(stored->configuration);
}

sql::PlanningQueue::Post post_to(reactor::Mailbox& mailbox) {
  return [to = &mailbox](std::function<void()> message) { to->post(std::move(message)); };
}

}  // namespace

WorkerThread::WorkerThread(SharedState& shared) : shared_(shared) {}

WorkerThread::~WorkerThread() {
  if (reactor_ != nullptr) reactor_->run_until(close_store());
  if (turn_clock_ != nullptr) reactor_->remove_source(*turn_clock_);
}

Result<std::unique_ptr<WorkerThread>> WorkerThread::create(SharedState& shared, std::uint32_t index) {
  std::unique_ptr<WorkerThread> self(new WorkerThread(shared));
  reactor::ReactorOptions reactor_options;
  reactor_options.seed = random_seed();
  auto reactor = reactor::Reactor::create(reactor_options);
  if (!reactor.ok()) return reactor.status();
  self->reactor_ = std::move(reactor).value();
  self->turn_clock_ =
      std::make_unique<reactor::TurnClock>(*self->reactor_, shared.process.statistics().add_turns());
  self->reactor_->add_source(*self->turn_clock_);
  fabric::TransportRegistry transports;
  transports.add(fabric::shm::transport(*self->reactor_));
  transports.add(fabric::tcp::transport(*self->reactor_, shared.tcp));
  transports.add(fabric::verbs::transport(*self->reactor_, shared.verbs));
  const auto transport = transports.find(shared.flags.fabric);
  if (!transport.ok()) return transport.status();
  self->fabric_ = make_client(*self->reactor_, **transport, shared.flags);

  WorkerOptions options;
  options.memory_servers = shared.flags.memory_servers;
  if (const config::StoreFlags& where = shared.flags.store; !where.location.empty()) {
    auto store = placement::open_store(
        *self->reactor_, {where.location, {where.authority, where.certificate, where.key}, where.user_file});
    if (!store.ok()) return store.status();
    self->store_ = std::move(*store);
    options.ask_store = [store = self->store_.get(), closed = &self->store_closed_] {
      return read_store(store, closed);
    };
  }
  options.name = name_of(shared.flags);
  options.worker = index;
  options.snapshot_mode = snapshot_mode(shared.flags);
  options.snapshot_sharing = txn::snapshot_sharing_of(shared.flags.snapshots);
  options.slot.slots = shared.flags.slots_per_worker;
  options.epoch_ns = shared.flags.epoch_ms * kMillisecond_ns;
  options.commit_writes = shared.flags.whole_writes ? txn::CommitWrites::whole : txn::CommitWrites::changed;
  options.index_reads = txn::index_reads_of(shared.flags.index_reads, shared.flags.fabric);
  options.scan_reads = txn::scan_reads_of(shared.flags.scan_reads);
  options.read_locks = txn::read_locks_of(shared.flags.read_locks);
  options.lock_time = txn::lock_time_of(shared.flags.lock_at);
  // One worker of a compute server is enough.
  options.balance_bytes = index == 0 ? shared.flags.balance_indexes : 0;
  options.optimisations = txn::Optimisations::without(shared.flags.without).value_or(txn::Optimisations());
  options.beside = shared.flags.beside;
  options.retry.max_attempts = shared.flags.max_attempts;
  options.board = shared.board;
  options.facts = [&shared] { return shared.identity.facts(shared.process.connections()); };
  options.drain = shared.drain;
  // Flags that were not parsed leave it open: then there is no timeout.
  options.memory_timeout_ns = static_cast<std::uint64_t>(std::max(shared.flags.memory_timeout_s, 0.0) *
                                                         static_cast<double>(kSecond_ns));
  self->worker_ =
      std::make_unique<Worker>(*self->reactor_, *self->fabric_, shared.locations, std::move(options),
                               random_compute_id, [](const std::string& line) { spdlog::warn("{}", line); });
  reactor::Mailbox& home = self->reactor_->mailbox();
  self->planning_ =
      std::make_unique<sql::PlanningQueue>(*self->reactor_, post_to(shared.planning), post_to(home));
  self->server_ = std::make_unique<pgwire::Server>(*self->worker_, shared.procedures, shared.process,
                                                   wall_clock_us, post_to(home), self->planning_.get());
  self->stop_ = std::make_unique<reactor::Event>(*self->reactor_);
  return self;
}

reactor::Task<Status> WorkerThread::connect_in_time() {
  const double timeout_s = shared_.flags.connect_timeout_s;
  const std::uint64_t deadline_ns =
      timeout_s < 0
          ? ~std::uint64_t{0}
          : reactor_->now_ns() + static_cast<std::uint64_t>(timeout_s * static_cast<double>(kSecond_ns));
  std::string told;
  while (true) {
    Status status = co_await worker_->start();
    if (status.ok() || !is_transient(status) || reactor_->now_ns() >= deadline_ns) co_return status;
    if (told_to_end()) {
      co_return Status(ErrorCode::admin_shutdown, "told to end while memory servers were waited for");
    }
    if (status.message() != told && shared_.waiting) shared_.waiting(status.message());
    told = status.message();
    co_await reactor_->sleep_for(kRetry_ns);
  }
}

Status WorkerThread::connect() {
  return reactor_->run_until(connect_in_time());
}

// Calls under way give up.
reactor::Task<void> WorkerThread::close_store() {
  if (store_ == nullptr || std::exchange(store_closed_, true)) co_return;
  co_await store_->close();
}

reactor::Task<void> WorkerThread::serve(std::function<reactor::Task<void>()> also) {
  reactor::Gate gate;
  if (also) reactor_->spawn(gate, also());
  while (!stopping_) co_await stop_->wait();
  co_await server_->stop();
  co_await gate.close();
  co_await close_store();
  co_await worker_->stop();
}

void WorkerThread::run(std::function<reactor::Task<void>()> also) {
  reactor_->run_until(serve(std::move(also)));
}

void WorkerThread::adopt(int descriptor) {
  reactor_->mailbox().post(
      [this, descriptor] { server_->adopt(reactor::make_socket_stream(*reactor_, descriptor)); });
}

void WorkerThread::drain_soon() {
  reactor_->mailbox().post([this] { server_->drain(); });
}

void WorkerThread::stop_soon() {
  reactor_->mailbox().post([this] {
    stopping_ = true;
    stop_->notify_all();
  });
}

}  // namespace namdb::compute
