// The client side of the shared-memory transport: the region is mapped into this process, one-sided
// operations are loads, stores and locked instructions that complete within post(), and calls go through a
// pair of pipes. See wire.h for the handshake, server.h for who may connect and how a client is fenced.
//
// A channel fails when its memory server goes away or asks it to close, and on misuse. After it said goodbye
// it touches the region no more.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/fabric/fabric.h"
#include "common/fabric/shm/descriptor.h"
#include "common/fabric/shm/mapping.h"
#include "common/fabric/shm/pipe.h"
#include "common/fabric/shm/wire.h"
#include "common/reactor/poll_source.h"
#include "common/reactor/reactor.h"
#include "common/reactor/socket.h"
#include "common/reactor/wake_descriptor.h"

namespace namdb::fabric::shm {

class ShmClientFabric;

class ShmChannel final : public Channel, public reactor::SocketHandler, public reactor::TurnHook {
 public:
  ShmChannel(ShmClientFabric& fabric, Descriptor socket, std::shared_ptr<RegionMapping> region,
             PipesMapping pipes, Descriptor server_wake);
  ~ShmChannel() override;

  bool atomics_with_cpu() const override { return true; }
  bool failed() const override { return failed_; }
  void give_up(Status reason) override { fail(std::move(reason)); }
  LocalPool& pool() override;
  void describe(Facts& facts) const override;

  // --- for the fabric and the reactor ---
  bool poll();
  bool prepare_sleep();
  void cancel_sleep();
  void end_of_turn() override;
  void on_receive(std::span<const std::byte> bytes) override;
  void on_end(Status status) override;

 protected:
  void do_post(Batch& batch) override;
  void do_post(Call& call) override;

 private:
  struct Slot {
    Call* call = nullptr;
    std::uint64_t id = 0;
  };
  // Of an operation that does not end before reached_bytes_. The region may have grown since the last look.
  bool fits_behind(const Operation& operation);
  void on_reply(const FrameHeader& header, std::string payload);
  // Something was written or read that the server may sleep for.
  void announce_soon();
  // Completes what is pending, says goodbye and closes.
  void fail(Status reason);

  ShmClientFabric& fabric_;
  std::shared_ptr<RegionMapping> region_;
  std::byte* region_base_;
  std::uint64_t region_bytes_;
  std::uint64_t reached_bytes_;  // of these: by operations, with a little more
  PipesMapping pipes_;
  PipeSender requests_;
  PipeReceiver replies_;
  Descriptor server_wake_;
  reactor::Socket socket_;
  bool failed_ = false;
  bool announced_ = false;
  Status failure_;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_slots_;
  std::uint64_t calls_sent_ = 0;
  std::uint64_t wakes_ = 0;  // of a server that slept
};

class ShmClientFabric final : public ClientFabric, public reactor::PollSource {
 public:
  static constexpr std::uint64_t kHandshakeTimeout_ns = 10 * kSecond_ns;

  // `pool` outlives this object; null: one of its own.
  explicit ShmClientFabric(reactor::Reactor& reactor,
                           std::uint64_t handshake_timeout_ns = kHandshakeTimeout_ns,
                           LocalPool* pool = nullptr);
  ~ShmClientFabric() override;

  std::string_view name() const override { return "shm"; }
  LocalPool& pool() override { return pool_; }
  // `address` is unix:PATH. Error connection_failure also when the memory server is there and does not
  // answer.
  reactor::Task<Result<std::unique_ptr<Channel>>> connect(std::string address, std::string hello,
                                                          std::string* welcome) override;

  bool poll() override;
  bool prepare_sleep() override;
  void cancel_sleep() override;

 private:
  friend class ShmChannel;
  // The memory server's answer, with the region, the pipes and its wake descriptor.
  struct Greeting {
    ServerWelcome header{};
    std::string welcome;
    std::vector<Descriptor> descriptors;
  };
  reactor::Task<Status> shake_hands(int socket, std::string hello, Greeting& greeting);
  reactor::Task<void> end_unless(int socket, std::uint64_t deadline_ns, reactor::Event& answered);
  Result<std::unique_ptr<Channel>> make_channel(Descriptor socket, Greeting& greeting);

  reactor::Reactor& reactor_;
  std::uint64_t handshake_timeout_ns_;
  LocalPool own_pool_;
  LocalPool& pool_;
  reactor::WakeDescriptor wake_;
  std::vector<ShmChannel*> channels_;
};

}  // namespace namdb::fabric::shm
