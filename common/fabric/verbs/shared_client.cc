#include "common/fabric/verbs/shared_client.h"

#include <semaphore>
#include <string>
#include <utility>
#include <vector>

#include "common/fabric/verbs/communicator.h"
#include "common/fabric/verbs/shared_channel.h"
#include "common/reactor/reactor.h"
#include "common/reactor/wake_descriptor.h"

namespace namdb::fabric::verbs {
namespace {

class SharedClientFabric final : public ClientFabric {
 public:
  SharedClientFabric(reactor::Reactor& reactor, std::shared_ptr<Communicator> communicator)
      : reactor_(reactor),
        communicator_(std::move(communicator)),
        pool_([this](std::byte* base, std::size_t length_bytes) { add_chunk(base, length_bytes); }),
        wake_(reactor),
        inbox_([this] { wake_.signal(); }),
        attached_(reactor) {
    reactor_.add_source(inbox_);
  }
  ~SharedClientFabric() override;

  std::string_view name() const override { return "verbs"; }
  LocalPool& pool() override { return pool_; }
  reactor::Task<Result<std::unique_ptr<Channel>>> connect(std::string address, std::string hello,
                                                          std::string* welcome) override;

 private:
  void add_chunk(std::byte* base, std::size_t length_bytes);

  reactor::Reactor& reactor_;
  std::shared_ptr<Communicator> communicator_;
  std::vector<std::byte*> chunks_;
  LocalPool pool_;
  reactor::WakeDescriptor wake_;
  reactor::Mailbox inbox_;
  reactor::Event attached_;
};

SharedClientFabric::~SharedClientFabric() {
  std::binary_semaphore removed(0);
  communicator_->mailbox().post([this, &removed] {
    for (std::byte* base : chunks_) communicator_->fabric().remove_memory(base);
    removed.release();
  });
  removed.acquire();
  reactor_.remove_source(inbox_);
}

// The communicator learns of it before anything that names it is handed over.
void SharedClientFabric::add_chunk(std::byte* base, std::size_t length_bytes) {
  chunks_.push_back(base);
  communicator_->mailbox().post([communicator = communicator_.get(), base, length_bytes] {
    communicator->fabric().add_memory(base, length_bytes);
  });
}

reactor::Task<Result<std::unique_ptr<Channel>>> SharedClientFabric::connect(std::string address,
                                                                            std::string hello,
                                                                            std::string* welcome) {
  auto channel = std::make_unique<SharedChannel>(reactor_, pool_, inbox_, communicator_->mailbox());
  Attachment attachment;
  attachment.address = std::move(address);
  attachment.hello = std::move(hello);
  attachment.channel = channel.get();
  attachment.inbox = &inbox_;
  attachment.changed = &attached_;
  communicator_->mailbox().post(
      [communicator = communicator_.get(), wish = &attachment] { communicator->attach(*wish); });
  while (!attachment.done) co_await attached_.wait();
  if (!attachment.status.ok()) co_return attachment.status;
  channel->open(attachment.member, attachment.atomics_with_cpu);
  if (welcome != nullptr) *welcome = std::move(attachment.welcome);
  co_return std::unique_ptr<Channel>(std::move(channel));
}

}  // namespace

std::unique_ptr<ClientFabric> make_shared_client_fabric(reactor::Reactor& reactor,
                                                        std::shared_ptr<Communicator> communicator) {
  return std::make_unique<SharedClientFabric>(reactor, std::move(communicator));
}

}  // namespace namdb::fabric::verbs
