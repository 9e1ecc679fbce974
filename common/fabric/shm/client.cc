#include "common/fabric/shm/client.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "common/fabric/facts.h"
#include "common/fabric/shm/execute.h"
#include "common/fabric/shm/handshake.h"
#include "common/reactor/socket_stream.h"
#include "common/reactor/system_error.h"

namespace namdb::fabric::shm {
namespace {

constexpr std::string_view kScheme = "unix:";
// By so much more than was reached pages are mapped anew.
constexpr std::uint64_t kReach_bytes = 16U << 20;

// The server takes it for a peer already, and would kill one that goes without goodbye.
Status leave(const Descriptor& socket, const Status& reason) {
  [[maybe_unused]] const auto sent =
      ::send(socket.get(), &kGoodbye, sizeof kGoodbye, MSG_NOSIGNAL | MSG_DONTWAIT);
  return reason;
}

// A socket that this user may not use stays so until its permissions change; others may come.
Status refused_by_system(const std::string& path, const Status& status) {
  const bool forbidden = ::faccessat(AT_FDCWD, path.c_str(), R_OK | W_OK, AT_EACCESS) != 0 && errno == EACCES;
  if (!forbidden) return status;
  return Status(ErrorCode::configuration, status.message(),
                "run it as the memory server's user: a region is shared with no other user");
}

}  // namespace

ShmChannel::ShmChannel(ShmClientFabric& fabric, Descriptor socket, std::shared_ptr<RegionMapping> region,
                       PipesMapping pipes, Descriptor server_wake)
    : Channel(fabric.reactor_),
      fabric_(fabric),
      region_(std::move(region)),
      region_base_(region_->base()),
      region_bytes_(pipes.header().region_bytes.load(std::memory_order_acquire)),
      pipes_(std::move(pipes)),
      requests_(pipes_.header().requests, pipes_.request_bytes(), kPipe_bytes),
      replies_(pipes_.header().replies, pipes_.reply_bytes(), kPipe_bytes),
      server_wake_(std::move(server_wake)),
      socket_(fabric.reactor_, socket.release(), *this) {
  region_bytes_ = region_->grow(region_bytes_) < region_bytes_ ? 0 : region_bytes_;
  reached_bytes_ = std::min(kReach_bytes, region_bytes_);
  fabric_.channels_.push_back(this);
  socket_.start_receiving();
}

ShmChannel::~ShmChannel() {
  fail(Status(ErrorCode::connection_failure, "the channel was closed"));
  if (announced_) fabric_.reactor_.cancel_flush(*this);
  std::erase(fabric_.channels_, this);
}

LocalPool& ShmChannel::pool() {
  return fabric_.pool_;
}

void ShmChannel::describe(Facts& facts) const {
  Channel::describe(facts);
  if (failed_) return facts.say("error", failure_.message());
  ucred server{};
  socklen_t length = sizeof server;
  if (::getsockopt(socket_.descriptor(), SOL_SOCKET, SO_PEERCRED, &server, &length) == 0) {
    facts.count("memory_server_process", static_cast<std::uint64_t>(server.pid));
  }
  facts.count("mapped_bytes", region_bytes_);
  facts.count("wakes", wakes_);
}

bool ShmChannel::fits_behind(const Operation& operation) {
  const std::uint64_t announced = pipes_.header().region_bytes.load(std::memory_order_acquire);
  if (announced > region_bytes_) region_bytes_ = std::min(announced, region_->grow(announced));
  if (!operation_fits(operation, region_bytes_)) return false;
  const std::uint64_t end = operation.remote_offset + operation.length_bytes;
  reached_bytes_ = std::min((end / kReach_bytes + 1) * kReach_bytes, region_bytes_);
  region_->reach(reached_bytes_);
  return true;
}

void ShmChannel::do_post(Batch& batch) {
  batch.begin();
  if (failed_) return batch.complete(executor(), failure_);
  const std::span<const Operation> operations = batch.operations();
  bool all_fit = true;
  for (const Operation& operation : operations) {
    if (!operation_fits(operation, reached_bytes_) && !fits_behind(operation)) [[unlikely]] {
      all_fit = false;
      if (reads_growth(operation, region_->capacity_bytes())) continue;
      fail(Status(ErrorCode::internal, "a one-sided operation is misaligned or outside of the region"));
      return batch.complete(executor(), failure_);
    }
  }
  if (all_fit) [[likely]] {
    execute(region_base_, operations);
  } else {
    execute_to_end(region_base_, region_bytes_, operations);
  }
  batch.complete(executor(), Status());
}

void ShmChannel::do_post(Call& call) {
  call.begin();
  if (failed_) return call.complete(executor(), failure_);
  if (call.request.size() > kMaxCall_bytes) {
    return call.complete(executor(), Status(ErrorCode::limit_exceeded, "the request of a call is too long"));
  }
  if (free_slots_.empty()) {
    free_slots_.push_back(static_cast<std::uint32_t>(slots_.size()));
    slots_.emplace_back();
  }
  const std::uint32_t slot = free_slots_.back();
  free_slots_.pop_back();
  slots_[slot] = {&call, (++calls_sent_ << 32) | slot};
  FrameHeader header{static_cast<std::uint32_t>(call.request.size()), FrameKind::request, call.method,
                     slots_[slot].id};
  requests_.send(header, call.request);
  announce_soon();
}

void ShmChannel::announce_soon() {
  if (announced_) return;
  announced_ = true;
  fabric_.reactor_.flush_soon(*this);
}

void ShmChannel::end_of_turn() {
  announced_ = false;
  const bool bytes = requests_.wake_needed();
  const bool room = replies_.wake_needed();
  if ((!bytes && !room) || failed_) return;
  ++wakes_;
  reactor::WakeDescriptor::signal(server_wake_.get());
}

bool ShmChannel::poll() {
  if (failed_) return false;
  if (pipes_.header().closing.load(std::memory_order_relaxed) != 0) {
    fail(Status(ErrorCode::connection_failure, "the memory server closed the connection"));
    return true;
  }
  bool worked = requests_.flush();
  FrameHeader header;
  std::string payload;
  while (!failed_ && replies_.receive(header, payload)) {
    on_reply(header, std::move(payload));
    worked = true;
  }
  if (requests_.broken() || replies_.broken()) {
    fail(Status(ErrorCode::connection_failure, "the memory server broke the protocol of calls"));
    return true;
  }
  // Also a part of a frame makes room that the server may wait for.
  if (requests_.unannounced() || replies_.unannounced()) announce_soon();
  return worked;
}

void ShmChannel::on_reply(const FrameHeader& header, std::string payload) {
  const auto slot = static_cast<std::uint32_t>(header.call);
  if (slot >= slots_.size() || slots_[slot].call == nullptr || slots_[slot].id != header.call) {
    return fail(Status(ErrorCode::connection_failure, "the memory server answered a call that nobody made"));
  }
  Call& call = *std::exchange(slots_[slot].call, nullptr);
  free_slots_.push_back(slot);
  if (header.kind == FrameKind::reply) {
    call.reply = std::move(payload);
    call.complete(executor(), Status());
  } else {
    call.complete(executor(), decode_error(payload));
  }
}

bool ShmChannel::prepare_sleep() {
  if (failed_) return true;
  const bool replies = replies_.prepare_sleep();
  const bool room = requests_.prepare_sleep();
  return replies && room && pipes_.header().closing.load(std::memory_order_relaxed) == 0;
}

void ShmChannel::cancel_sleep() {
  replies_.cancel_sleep();
  requests_.cancel_sleep();
}

void ShmChannel::on_receive(std::span<const std::byte>) {}

void ShmChannel::on_end(Status) {
  fail(Status(ErrorCode::connection_failure, "the memory server is gone"));
}

void ShmChannel::fail(Status reason) {
  if (failed_) return;
  failed_ = true;
  failure_ = std::move(reason);
  for (Slot& slot : slots_) {
    if (slot.call != nullptr) std::exchange(slot.call, nullptr)->complete(executor(), failure_);
  }
  // After all that this channel did to the region. It fits: nothing else was sent since the handshake.
  [[maybe_unused]] const auto sent =
      ::send(socket_.descriptor(), &kGoodbye, sizeof kGoodbye, MSG_NOSIGNAL | MSG_DONTWAIT);
  socket_.close();
}

ShmClientFabric::ShmClientFabric(reactor::Reactor& reactor, std::uint64_t handshake_timeout_ns,
                                 LocalPool* pool)
    : reactor_(reactor),
      handshake_timeout_ns_(handshake_timeout_ns),
      pool_(pool == nullptr ? own_pool_ : *pool),
      wake_(reactor) {
  reactor_.add_source(*this);
}

ShmClientFabric::~ShmClientFabric() {
  NAMDB_CHECK(channels_.empty());
  reactor_.remove_source(*this);
}

bool ShmClientFabric::poll() {
  bool worked = false;
  for (ShmChannel* channel : channels_) worked |= channel->poll();
  return worked;
}

bool ShmClientFabric::prepare_sleep() {
  bool may_sleep = true;
  for (ShmChannel* channel : channels_) may_sleep &= channel->prepare_sleep();
  return may_sleep;
}

void ShmClientFabric::cancel_sleep() {
  for (ShmChannel* channel : channels_) channel->cancel_sleep();
}

reactor::Task<Result<std::unique_ptr<Channel>>> ShmClientFabric::connect(std::string address,
                                                                         std::string hello,
                                                                         std::string* welcome) {
  if (!address.starts_with(kScheme)) {
    co_return Status(ErrorCode::configuration, "no address of the shared-memory fabric: " + address,
                     "it takes unix:PATH");
  }
  if (hello.size() > kMaxHello_bytes) co_return Status(ErrorCode::limit_exceeded, "the hello is too long");
  const Result<int> connected =
      co_await reactor::connect_descriptor(reactor_, address, handshake_timeout_ns_);
  if (!connected.ok()) co_return refused_by_system(address.substr(kScheme.size()), connected.status());
  Descriptor socket(*connected);
  Greeting greeting;
  reactor::Gate gate;
  reactor::Event answered(reactor_);
  reactor_.spawn(gate, end_unless(socket.get(), reactor_.now_ns() + handshake_timeout_ns_, answered));
  const Status status = co_await shake_hands(socket.get(), std::move(hello), greeting);
  answered.notify_all();
  co_await gate.close();
  if (!status.ok()) co_return status;
  if (welcome != nullptr) *welcome = std::move(greeting.welcome);
  co_return make_channel(std::move(socket), greeting);
}

// Spawned before the handshake's first request, and so it waits before the handshake can have ended.
reactor::Task<void> ShmClientFabric::end_unless(int socket, std::uint64_t deadline_ns,
                                                reactor::Event& answered) {
  const bool in_time = co_await answered.wait_until(deadline_ns);
  if (!in_time) ::shutdown(socket, SHUT_RDWR);
}

reactor::Task<Status> ShmClientFabric::shake_hands(int socket, std::string hello, Greeting& greeting) {
  const ClientHello request{kMagic, kVersion, static_cast<std::uint32_t>(hello.size())};
  std::string bytes(reinterpret_cast<const char*>(&request), sizeof request);
  bytes += hello;
  std::vector<int> passed(1, wake_.descriptor());
  Status status = co_await send_all(&reactor_, socket, std::move(bytes), std::move(passed));
  if (!status.ok()) co_return status;
  ServerWelcome& answer = greeting.header;
  status = co_await receive_all(&reactor_, socket, reinterpret_cast<char*>(&answer), sizeof answer,
                                &greeting.descriptors);
  if (!status.ok()) co_return status;
  if (answer.magic != kMagic || answer.version != kVersion || answer.welcome_bytes > kMaxCall_bytes) {
    co_return Status(ErrorCode::connection_failure,
                     "the memory server speaks another version of the protocol",
                     "run the same version of both daemons");
  }
  greeting.welcome.resize(answer.welcome_bytes);
  status = co_await receive_all(&reactor_, socket, greeting.welcome.data(), greeting.welcome.size(),
                                &greeting.descriptors);
  if (!status.ok()) co_return status;
  if (answer.refused != 0) co_return decode_error(greeting.welcome);
  if (greeting.descriptors.size() != 3 || answer.pipe_bytes != kPipe_bytes) {
    co_return Status(ErrorCode::connection_failure, "the memory server passed the wrong descriptors");
  }
  co_return Status();
}

Result<std::unique_ptr<Channel>> ShmClientFabric::make_channel(Descriptor socket, Greeting& greeting) {
  auto pipes = PipesMapping::map(std::move(greeting.descriptors[1]));
  if (!pipes.ok()) return leave(socket, pipes.status());
  const std::uint64_t region_bytes = pipes->header().region_bytes.load(std::memory_order_acquire);
  auto region =
      RegionMapping::map(std::move(greeting.descriptors[0]), region_bytes, greeting.header.capacity_bytes);
  if (!region.ok()) return leave(socket, region.status());
  return std::unique_ptr<Channel>(std::make_unique<ShmChannel>(
      *this, std::move(socket), std::move(*region), std::move(*pipes), std::move(greeting.descriptors[2])));
}

}  // namespace namdb::fabric::shm
