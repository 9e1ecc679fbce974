#include "common/fabric/verbs/device.h"

#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "common/base/check.h"
#include "common/reactor/reactor.h"

namespace namdb::fabric::verbs {
namespace {

constexpr int kPolled = 32;
// Integers: the header's macros mix the enumeration with another one.
constexpr int kLocalAccess = IBV_ACCESS_LOCAL_WRITE;
constexpr int kRemoteAccess =
    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
constexpr std::uint32_t kInitialCompletions = 4096;

}  // namespace

Result<std::unique_ptr<Device>> Device::open(reactor::Reactor& reactor, ibv_device* device,
                                             std::uint32_t receive_buffers) {
  ibv_context* context = ibv_open_device(device);
  if (context == nullptr) {
    return Status(ErrorCode::configuration,
                  std::string("the RDMA device ") + ibv_get_device_name(device) +
                      " cannot be opened: " + std::strerror(errno),
                  "this user needs access to /dev/infiniband/uverbs*");
  }
  std::unique_ptr<Device> self(new Device(reactor, context));
  Status status = self->set_up(receive_buffers);
  if (!status.ok()) return status;
  return self;
}

Device::Device(reactor::Reactor& reactor, ibv_context* context)
    : reactor_(reactor),
      handle_{context},
      receives_(std::make_unique<ReceiveQueue>(handle_)),
      messages_([this](std::byte* base, std::size_t length_bytes) {
        static_cast<void>(register_local(base, length_bytes));  // what names the chunk is refused
      }) {}

Device::~Device() {
  NAMDB_CHECK(queue_pairs_.empty());
  if (completions_ != nullptr) reactor_.remove_source(*this);
  watch_.reset();
  event_watch_.reset();
  receives_.reset();
  if (unacknowledged_ != 0) ibv_ack_cq_events(completions_, unacknowledged_);
  if (completions_ != nullptr) ibv_destroy_cq(completions_);
  if (wake_ups_ != nullptr) ibv_destroy_comp_channel(wake_ups_);
  for (const Registration& registration : registrations_) ibv_dereg_mr(registration.region);
  if (handle_.domain != nullptr) ibv_dealloc_pd(handle_.domain);
  ibv_close_device(handle_.context);
}

Status Device::set_up(std::uint32_t receive_buffers) {
  if (const int error = ibv_query_device(handle_.context, &handle_.attributes); error != 0)
    return refused("to describe itself", error);
  if (handle_.attributes.atomic_cap == IBV_ATOMIC_NONE) {
    return Status(ErrorCode::configuration, "the RDMA device " + name() + " has no atomic operations");
  }
  if (handle_.attributes.max_srq == 0) {
    return Status(ErrorCode::configuration, "the RDMA device " + name() + " has no shared receive queues");
  }
  const auto page_bytes = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  if (handle_.attributes.page_size_cap != 0 &&
      (handle_.attributes.page_size_cap & (2 * page_bytes - 1)) == 0) {
    return Status(ErrorCode::configuration,
                  "the RDMA device " + name() + " knows no pages as small as this machine's");
  }
  ibv_device_attr_ex extended{};
  on_demand_paging_ = ibv_query_device_ex(handle_.context, nullptr, &extended) == 0 &&
                      (extended.odp_caps.general_caps & IBV_ODP_SUPPORT) != 0;
  handle_.domain = ibv_alloc_pd(handle_.context);
  if (handle_.domain == nullptr) return refused("a protection domain", errno);
  wake_ups_ = ibv_create_comp_channel(handle_.context);
  if (wake_ups_ == nullptr) return refused("a completion channel", errno);
  watch_.emplace(reactor_, wake_ups_->fd, [this] { on_wake_up(); });
  reserved_completions_ =
      std::min(receive_buffers, static_cast<std::uint32_t>(handle_.attributes.max_srq_wr));
  const int length = std::min(static_cast<int>(std::max(kInitialCompletions, reserved_completions_)),
                              handle_.attributes.max_cqe);
  completions_ = ibv_create_cq(handle_.context, length, nullptr, wake_ups_, 0);
  if (completions_ == nullptr) return refused("a completion queue of " + std::to_string(length), errno);
  reactor_.add_source(*this);

  event_watch_.emplace(reactor_, handle_.context->async_fd, [this] { take_events(); });
  return receives_->create(receive_buffers);
}

Status Device::register_local(std::byte* base, std::size_t length_bytes) {
  Status status = try_register({base, length_bytes, nullptr});
  if (!status.ok()) unregistered_.push_back({base, length_bytes, nullptr});
  return status;
}

Status Device::try_register(const Registration& memory) {
  ibv_mr* region = ibv_reg_mr(handle_.domain, memory.base, memory.length_bytes, kLocalAccess);
  if (region != nullptr) {
    registrations_.push_back({memory.base, memory.length_bytes, region});
    registration_status_ = Status();
    return Status();
  }
  registration_status_ =
      refused("to register " + std::to_string(memory.length_bytes >> 20) + " MiB of buffers", errno);
  spdlog::error("verbs fabric: {}{}", registration_status_.message(),
                registration_status_.hint().empty() ? "" : " (" + registration_status_.hint() + ")");
  return registration_status_;
}

void Device::unregister_local(const std::byte* base) {
  const auto begins = [base](const Registration& registration) { return registration.base == base; };
  std::erase_if(unregistered_, begins);
  const auto found = std::find_if(registrations_.begin(), registrations_.end(), begins);
  if (found == registrations_.end()) return;
  NAMDB_CHECK(ibv_dereg_mr(found->region) == 0);
  registrations_.erase(found);
}

Result<ibv_mr*> Device::register_remote(std::byte* base, std::size_t length_bytes, bool with_windows) {
  const int access = kRemoteAccess | (with_windows ? static_cast<int>(IBV_ACCESS_MW_BIND) : 0);
  ibv_mr* region = ibv_reg_mr_iova(handle_.domain, base, length_bytes, 0, static_cast<unsigned>(access));
  if (region != nullptr) return region;
  return refused("to register a region of " + std::to_string(length_bytes >> 20) + " MiB", errno);
}

std::optional<std::uint32_t> Device::local_key(const std::byte* begin, std::size_t length_bytes) {
  const auto holds = [&](const Registration& registration) {
    return begin >= registration.base &&
           begin + length_bytes <= registration.base + registration.length_bytes;
  };
  if (last_registration_ < registrations_.size() && holds(registrations_[last_registration_])) [[likely]]
    return registrations_[last_registration_].region->lkey;
  auto found = std::find_if(registrations_.begin(), registrations_.end(), holds);
  if (found == registrations_.end()) {
    const auto again = std::find_if(unregistered_.begin(), unregistered_.end(), holds);
    if (again == unregistered_.end() || !try_register(*again).ok()) return std::nullopt;
    unregistered_.erase(again);
    found = registrations_.end() - 1;
  }
  last_registration_ = static_cast<std::size_t>(found - registrations_.begin());
  return found->region->lkey;
}

Status Device::reserve_completions(std::uint32_t count) {
  const std::uint32_t wanted = reserved_completions_ + count;
  if (wanted > static_cast<std::uint32_t>(completions_->cqe)) {
    const auto most = static_cast<std::uint32_t>(handle_.attributes.max_cqe);
    const std::uint32_t length =
        std::min(std::max(wanted, 2 * static_cast<std::uint32_t>(completions_->cqe)), most);
    const int error = wanted > most ? EINVAL : ibv_resize_cq(completions_, static_cast<int>(length));
    if (error != 0) return refused("a completion queue of " + std::to_string(wanted), error);
  }
  reserved_completions_ = wanted;
  return Status();
}

void Device::add(std::uint32_t queue_pair, CompletionHandler& handler, const EndpointCounters* counters) {
  NAMDB_CHECK(queue_pairs_.emplace(queue_pair, QueuePair{&handler, counters}).second);
}

void Device::remove(std::uint32_t queue_pair) {
  const auto found = queue_pairs_.find(queue_pair);
  if (found == queue_pairs_.end()) return;
  if (found->second.counters != nullptr) retired_ += *found->second.counters;
  queue_pairs_.erase(found);
}

bool Device::poll() {
  NAMDB_CHECK(!std::exchange(polling_, true));
  std::array<ibv_wc, kPolled> completions;
  bool any = false;
  int count = 0;
  do {
    count = ibv_poll_cq(completions_, kPolled, completions.data());
    NAMDB_CHECK(count >= 0);
    for (int i = 0; i < count; ++i) dispatch(completions[static_cast<std::size_t>(i)]);
    any = any || count != 0;
    receives_->post();
  } while (count == kPolled);
  polling_ = false;
  return any;
}

void Device::dispatch(const ibv_wc& completion) {
  const auto found = queue_pairs_.find(completion.qp_num);
  // Null: a late one, of a queue pair that is gone.
  CompletionHandler* handler = found == queue_pairs_.end() ? nullptr : found->second.handler;
  if ((completion.wr_id & ReceiveQueue::kReceive) == 0) {
    if (handler != nullptr) handler->on_sent(completion);
    return;
  }
  const std::uint64_t buffer = completion.wr_id & ~ReceiveQueue::kReceive;
  if (completion.status == IBV_WC_SUCCESS && handler != nullptr)
    handler->on_received(completion, receives_->bytes(buffer, completion.byte_len));
  receives_->give_back(buffer);
}

bool Device::prepare_sleep() {
  // Armed and not woken yet: a completion still ends the sleep.
  if (!armed_) {
    NAMDB_CHECK(ibv_req_notify_cq(completions_, 0) == 0);
    armed_ = true;
  }
  return !poll();
}

void Device::on_wake_up() {
  ibv_cq* queue = nullptr;
  void* context = nullptr;
  while (ibv_get_cq_event(wake_ups_, &queue, &context) == 0) {
    armed_ = false;
    // Acknowledging takes a lock: many at a time.
    if (++unacknowledged_ == 64) ibv_ack_cq_events(completions_, std::exchange(unacknowledged_, 0));
  }
}

}  // namespace namdb::fabric::verbs
