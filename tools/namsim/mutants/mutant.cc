#include "tools/namsim/mutants/mutant.h"

#include <utility>

namespace namdb::sim {
namespace {

using fabric::Batch;
using fabric::Call;
using fabric::Completion;

class MutantChannel final : public fabric::Channel {
 public:
  MutantChannel(std::unique_ptr<fabric::Channel> inner, Mutant& mutant, std::size_t compute,
                std::size_t server)
      : Channel(inner->executor()),
        mutant_(mutant),
        compute_(compute),
        server_(server),
        inner_(std::move(inner)) {}
  ~MutantChannel() override = default;

  bool atomics_with_cpu() const override { return inner_->atomics_with_cpu(); }
  bool failed() const override { return inner_->failed(); }
  void give_up(Status reason) override { inner_->give_up(std::move(reason)); }
  fabric::LocalPool& pool() override { return inner_->pool(); }

 protected:
  void do_post(Batch& batch) override {
    auto fresh = std::make_unique<Posted>(*this, batch);
    Posted& posted = *fresh;
    posted_.push_back(std::move(fresh));
    batch.begin();
    mutant_.count(posted.posting.asked.size());
    mutant_.before(posted.posting);
    posted.altered.assign(posted.posting.operations);
    posted.altered.observe(&posted);
    inner_->post(posted.altered);
    // Not in the completion itself, which still runs on the object.
    std::erase_if(posted_, [](const std::unique_ptr<Posted>& old) { return old->finished; });
  }
  void do_post(Call& call) override {
    mutant_.count(1);
    inner_->post(call);
  }

 private:
  struct Posted final : fabric::CompletionObserver {
    Posted(MutantChannel& owner, Batch& batch) : channel(owner), outer(batch) {
      posting.compute = owner.compute_;
      posting.server = owner.server_;
      posting.pool = &owner.pool();
      posting.asked.assign(batch.operations().begin(), batch.operations().end());
      posting.operations = posting.asked;
    }
    void on_completion(Completion& completion, Status& status) override {
      static_cast<void>(completion);
      if (status.ok()) {
        channel.mutant_.after(posting);
      } else {
        channel.mutant_.failed(posting, status);
      }
      outer.complete(channel.executor(), status);
      finished = true;
    }
    MutantChannel& channel;
    Batch& outer;
    Posting posting;
    Batch altered;
    bool finished = false;
  };

  Mutant& mutant_;
  std::size_t compute_;
  std::size_t server_;
  std::vector<std::unique_ptr<Posted>> posted_;
  std::unique_ptr<fabric::Channel> inner_;  // goes first: its destructor completes what is pending
};

// Decorates each channel with the position of its memory server.
class MutantFabric final : public fabric::ClientFabric {
 public:
  MutantFabric(std::unique_ptr<fabric::ClientFabric> inner, Mutant& mutant, std::size_t compute)
      : inner_(std::move(inner)), mutant_(mutant), compute_(compute) {}
  std::string_view name() const override { return inner_->name(); }
  fabric::LocalPool& pool() override { return inner_->pool(); }
  reactor::Task<Result<std::unique_ptr<fabric::Channel>>> connect(std::string address, std::string hello,
                                                                  std::string* welcome) override {
    const std::size_t server = std::stoul(address.substr(address.find_first_of("0123456789")));
    auto connected = co_await inner_->connect(std::move(address), std::move(hello), welcome);
    if (!connected.ok()) co_return connected.status();
    co_return std::unique_ptr<fabric::Channel>(
        std::make_unique<MutantChannel>(std::move(*connected), mutant_, compute_, server));
  }

 private:
  std::unique_ptr<fabric::ClientFabric> inner_;
  Mutant& mutant_;
  std::size_t compute_;
};

class MutantService final : public fabric::Service {
 public:
  MutantService(fabric::Service& inner, Mutant& mutant, std::size_t server)
      : inner_(inner), mutant_(mutant), server_(server) {}
  Result<std::string> on_connect(fabric::PeerId peer, std::string_view hello) override {
    return mutant_.on_connect(inner_, server_, peer, hello);
  }
  reactor::Task<Status> on_call(fabric::PeerId peer, std::uint16_t method, std::string_view request,
                                std::string& reply) override {
    return mutant_.on_call(&inner_, server_, peer, method, request, &reply);
  }
  void on_disconnect(fabric::PeerId peer) override { inner_.on_disconnect(peer); }

 private:
  fabric::Service& inner_;
  Mutant& mutant_;
  std::size_t server_;
};

}  // namespace

std::byte* Posting::word(std::uint64_t value) {
  buffers.emplace_back(*pool, 8);
  layout::store_word(buffers.back().data(), value);
  return buffers.back().data();
}

void Posting::write(std::uint64_t offset, const std::byte* local, std::uint32_t length_bytes) {
  operations.push_back(
      {fabric::OperationKind::write, false, length_bytes, offset, const_cast<std::byte*>(local), 0, 0});
}

std::unique_ptr<fabric::ClientFabric> Mutant::client(std::size_t compute,
                                                     std::unique_ptr<fabric::ClientFabric> fabric) {
  return std::make_unique<MutantFabric>(std::move(fabric), *this, compute);
}

std::unique_ptr<fabric::Service> Mutant::service(std::size_t server, fabric::Service& service) {
  return std::make_unique<MutantService>(service, *this, server);
}

void Mutant::before(Posting& posting) {
  static_cast<void>(posting);
}

void Mutant::after(Posting& posting) {
  static_cast<void>(posting);
}

void Mutant::failed(Posting& posting, Status& status) {
  static_cast<void>(posting);
  static_cast<void>(status);
}

reactor::Task<Status> Mutant::on_call(fabric::Service* inner, std::size_t server, fabric::PeerId peer,
                                      std::uint16_t method, std::string_view request, std::string* reply) {
  static_cast<void>(server);
  return inner->on_call(peer, method, request, *reply);
}

Result<std::string> Mutant::on_connect(fabric::Service& inner, std::size_t server, fabric::PeerId peer,
                                       std::string_view hello) {
  static_cast<void>(server);
  return inner.on_connect(peer, hello);
}

}  // namespace namdb::sim
