// The classic oracle's clients.
//
//   0     the counter: FETCH-ADD gives a commit timestamp
//   64    the read timestamp: all up to it have finished. Written by the scanning thread
//   4096  finished timestamps: that of timestamp t stands at word t mod kFinishedList_words
#include <deque>
#include <utility>

#include "common/fabric/fabric.h"
#include "tools/nambench/micro/oracle_clients.h"
#include "tools/nambench/micro/oracle_scanner.h"
#include "tools/support/servers/transports.h"

namespace namdb::nambench {
namespace {

class CounterClients final : public OracleClients {
 public:
  CounterClients(reactor::Reactor& reactor, std::string address, std::uint64_t clients)
      : registry_(support::transports(reactor)), address_(std::move(address)), count_(clients) {}

  reactor::Task<Status> open() override {
    const Result<const fabric::Transport*> transport = registry_.for_address(address_);
    if (!transport.ok()) co_return transport.status();
    fabric_ = transport.value()->make_client();
    auto channel = co_await fabric_->connect(address_, "", nullptr);
    if (!channel.ok()) co_return channel.status();
    channel_ = std::move(channel).value();
    for (std::uint64_t i = 0; i < count_; ++i) clients_.emplace_back(fabric_->pool());
    co_return Status();
  }

  reactor::Task<Status> transaction(std::uint64_t number, std::uint64_t& round_trips) override {
    Client& client = clients_[number];
    Status status = co_await read_timestamp(client, round_trips);
    if (!status.ok()) co_return status;
    client.batch.clear();
    client.batch.fetch_add(kCounter_offset, 1, client.words.data());
    channel_->post(client.batch);
    status = co_await client.batch.done();
    ++round_trips;
    if (!status.ok()) co_return status;
    const std::uint64_t timestamp = client.words.word(0) + 1;
    // No client overwrites a finished timestamp that was not scanned.
    while (timestamp - client.read_timestamp > kFinishedList_words) {
      status = co_await read_timestamp(client, round_trips);
      if (!status.ok()) co_return status;
    }
    // The client goes on at once: the WRITE that it posted before is complete by now.
    status = co_await client.finished.done();
    if (!status.ok()) co_return status;
    client.words.word(1) = timestamp;
    client.finished.clear();
    client.finished.write(finished_offset(timestamp), client.words.data() + 8, 8);
    channel_->post(client.finished);
    co_return Status();
  }

  fabric::OperationCounters counters() const override { return channel_->counters(); }

  reactor::Task<Status> close() override {
    Status status;
    for (Client& client : clients_) {
      const Status& last = co_await client.finished.done();
      if (status.ok()) status = last;
    }
    channel_.reset();
    clients_.clear();
    fabric_.reset();
    co_return status;
  }

 private:
  struct Client {
    explicit Client(fabric::LocalPool& pool) : words(pool, 24) {}
    fabric::Batch batch;
    fabric::Batch finished;     // under way while the next transaction runs
    fabric::LocalBuffer words;  // of the counter, of the finished timestamp, and read
    std::uint64_t read_timestamp = 0;
  };

  reactor::Task<Status> read_timestamp(Client& client, std::uint64_t& round_trips) {
    client.batch.clear();
    client.batch.read(kReadTimestamp_offset, client.words.data() + 16, 8);
    channel_->post(client.batch);
    Status status = co_await client.batch.done();
    ++round_trips;
    client.read_timestamp = client.words.word(2);
    co_return status;
  }

  fabric::TransportRegistry registry_;
  std::string address_;
  std::uint64_t count_;
  std::unique_ptr<fabric::ClientFabric> fabric_;
  std::unique_ptr<fabric::Channel> channel_;
  std::deque<Client> clients_;
};

}  // namespace

std::unique_ptr<OracleClients> counter_clients(reactor::Reactor& reactor, std::string address,
                                               std::uint64_t clients) {
  return std::make_unique<CounterClients>(reactor, std::move(address), clients);
}

}  // namespace namdb::nambench
