#include "common/fabric/verbs/communicator.h"

#include <algorithm>

#include "common/base/check.h"

namespace namdb::fabric::verbs {

Result<std::shared_ptr<Communicator>> Communicator::start(VerbsOptions options) {
  NAMDB_CHECK(options.calls == CallKind::connections && options.communicator == nullptr);
  auto thread = reactor::ReactorThread::start();
  if (!thread.ok()) return thread.status();
  return std::shared_ptr<Communicator>(new Communicator(std::move(*thread), std::move(options)));
}

Communicator::Communicator(std::unique_ptr<reactor::ReactorThread> thread, VerbsOptions options)
    : options_(std::move(options)), thread_(std::move(thread)) {
  std::binary_semaphore started(0);
  mailbox().post([this, &started] {
    fabric_ = std::make_unique<VerbsClientFabric>(reactor(), options_);
    changed_ = std::make_unique<reactor::Event>(reactor());
    started.release();
  });
  started.acquire();
}

Communicator::~Communicator() {
  std::binary_semaphore stopped(0);
  mailbox().post([this, &stopped] { reactor().spawn(stop_gate_, stop(&stopped)); });
  stopped.acquire();
  thread_.reset();
}

reactor::Task<void> Communicator::stop(std::binary_semaphore* stopped) {
  NAMDB_CHECK(members_.empty());
  stopping_ = true;
  changed();
  co_await gate_.close();
  changed_.reset();
  fabric_.reset();
  stopped->release();
}

void Communicator::attach(Attachment& attachment) {
  spawn(run_attach(&attachment));
}

reactor::Task<void> Communicator::run_attach(Attachment* attachment) {
  attachment->status = co_await connect(attachment);
  attachment->inbox->post([attachment] {
    attachment->done = true;
    attachment->changed->notify_all();
  });
}

std::shared_ptr<SharedConnection> Communicator::find(const std::string& address) {
  std::erase_if(connections_, [](const auto& connection) { return connection.expired(); });
  for (const auto& known : connections_) {
    const std::shared_ptr<SharedConnection> connection = known.lock();
    if (connection->address() == address && connection->usable()) return connection;
  }
  return nullptr;
}

reactor::Task<Status> Communicator::connect(Attachment* attachment) {
  // Workers that come while one connects wait, and join.
  while (connecting_.contains(attachment->address)) co_await changed_->wait();
  if (std::shared_ptr<SharedConnection> connection = find(attachment->address); connection != nullptr) {
    co_return co_await join(attachment, std::move(connection));
  }
  connecting_.insert(attachment->address);
  Result<std::unique_ptr<Channel>> channel =
      co_await fabric_->connect(attachment->address, attachment->hello, &attachment->welcome);
  connecting_.erase(attachment->address);
  changed();
  if (!channel.ok()) co_return channel.status();
  std::unique_ptr<VerbsChannel> owned(static_cast<VerbsChannel*>(channel->release()));
  const auto connection = std::make_shared<SharedConnection>(attachment->address, std::move(owned));
  connections_.push_back(connection);
  add(attachment, connection, connection->take_id());
  co_return Status();
}

reactor::Task<Status> Communicator::join(Attachment* attachment,
                                         std::shared_ptr<SharedConnection> connection) {
  const std::size_t id = connection->take_id();
  const auto answered = std::make_shared<bool>(false);
  watch(connection, answered, "a handshake took too long", options_.handshake_timeout_ns);
  Call call;
  call.request = attachment->hello;
  connection->channel().post_as(static_cast<MemberId>(id), MessageKind::join, call);
  Status status = co_await call.done();
  *answered = true;
  changed();
  if (status.ok()) {
    attachment->welcome = std::move(call.reply);
    add(attachment, connection, id);
    co_return status;
  }
  connection->give_back_id(id);
  if (!connection->channel().failed()) co_return status;
  co_return Status(ErrorCode::connection_failure,
                   "connecting to " + attachment->address + ": " + status.message());
}

void Communicator::add(Attachment* attachment, const std::shared_ptr<SharedConnection>& connection,
                       std::size_t id) {
  MemberOwner& owner = *this;
  members_.push_back(std::make_unique<Member>(owner, connection, id, attachment->channel, attachment->inbox));
  attachment->member = members_.back().get();
  attachment->atomics_with_cpu = connection->channel().atomics_with_cpu();
  attachment->member->send_facts();
}

void Communicator::remove(Member& member) {
  const auto found = std::find_if(members_.begin(), members_.end(),
                                  [&member](const auto& known) { return known.get() == &member; });
  // It may take the connection with it, which ends calls that are waited for here.
  const std::unique_ptr<Member> removed = std::move(*found);
  members_.erase(found);
}

void Communicator::watch(std::weak_ptr<SharedConnection> connection, std::shared_ptr<bool> done,
                         const char* what, std::uint64_t patience_ns) {
  spawn(run_watch(std::move(connection), std::move(done), what, reactor().now_ns() + patience_ns));
}

reactor::Task<void> Communicator::run_watch(std::weak_ptr<SharedConnection> connection,
                                            std::shared_ptr<bool> done, const char* what,
                                            std::uint64_t deadline_ns) {
  bool in_time = true;
  while (in_time && !*done && !stopping_) in_time = co_await changed_->wait_until(deadline_ns);
  if (*done || stopping_) co_return;
  const std::shared_ptr<SharedConnection> late = connection.lock();
  if (late != nullptr) late->channel().break_off(Status(ErrorCode::connection_failure, what));
}

}  // namespace namdb::fabric::verbs
