#include "common/fabric/verbs/device.h"

#include <spdlog/spdlog.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "common/base/check.h"
#include "common/fabric/verbs/endpoint.h"
#include "common/fabric/verbs/wire.h"
#include "common/reactor/reactor.h"

namespace namdb::fabric::verbs {
namespace {

constexpr int kPolled = 32;
// Integers: the header's macros mix the enumeration with another one.
constexpr int kLocalAccess = IBV_ACCESS_LOCAL_WRITE;
constexpr int kRemoteAccess =
    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
constexpr std::uint32_t kInitialCompletions = 4096;

std::string locked_memory_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return "not limited";
  return std::to_string(limit.rlim_cur >> 10) + " KiB";
}

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
    : reactor_(reactor), context_(context), messages_([this](std::byte* base, std::size_t length_bytes) {
        static_cast<void>(register_local(base, length_bytes));  // what names the chunk is refused
      }) {}

Device::~Device() {
  NAMDB_CHECK(endpoints_.empty());
  if (completions_ != nullptr) reactor_.remove_source(*this);
  watch_.reset();
  if (receives_ != nullptr) ibv_destroy_srq(receives_);
  if (unacknowledged_ != 0) ibv_ack_cq_events(completions_, unacknowledged_);
  if (completions_ != nullptr) ibv_destroy_cq(completions_);
  if (wake_ups_ != nullptr) ibv_destroy_comp_channel(wake_ups_);
  for (const Registration& registration : registrations_) ibv_dereg_mr(registration.region);
  if (receive_region_ != nullptr) ibv_dereg_mr(receive_region_);
  if (receive_memory_ != nullptr) ::munmap(receive_memory_, receive_memory_bytes_);
  if (domain_ != nullptr) ibv_dealloc_pd(domain_);
  ibv_close_device(context_);
}

Status Device::refused(const std::string& what, int error) const {
  const std::string message = "the RDMA device " + name() + " refuses " + what + ": " + std::strerror(error);
  if (error != ENOMEM) return Status(ErrorCode::configuration, message);
  return Status(ErrorCode::configuration, message,
                "the limit of locked memory is " + locked_memory_limit() +
                    ": set LimitMEMLOCK=infinity in the systemd unit, or `ulimit -l unlimited`");
}

std::string Device::describe(std::uint8_t port) const {
  std::string text = "the RDMA device " + name();
  if (attributes_.fw_ver[0] != '\0') text += ", firmware " + std::string(attributes_.fw_ver);
  ibv_port_attr port_attributes{};
  if (ibv_query_port(context_, port, &port_attributes) == 0) {
    // The encoding of the standard: 1 is 256 bytes, 5 is 4096.
    text += ", port " + std::to_string(port) + " (" +
            (port_attributes.link_layer == IBV_LINK_LAYER_ETHERNET ? "RoCE v2" : "InfiniBand") +
            ", path MTU " + std::to_string(128 << port_attributes.active_mtu) + ")";
  }
  const bool with_cpu = attributes_.atomic_cap == IBV_ATOMIC_GLOB;
  text +=
      with_cpu ? ", atomics that are atomic with the CPU's" : ", atomics that are atomic among themselves";
  return text + ", " + std::to_string(attributes_.max_qp_rd_atom) + " READs and atomics at a time";
}

Status Device::set_up(std::uint32_t receive_buffers) {
  if (const int error = ibv_query_device(context_, &attributes_); error != 0)
    return refused("to describe itself", error);
  if (attributes_.atomic_cap == IBV_ATOMIC_NONE) {
    return Status(ErrorCode::configuration, "the RDMA device " + name() + " has no atomic operations");
  }
  if (attributes_.max_srq == 0) {
    return Status(ErrorCode::configuration, "the RDMA device " + name() + " has no shared receive queues");
  }
  domain_ = ibv_alloc_pd(context_);
  if (domain_ == nullptr) return refused("a protection domain", errno);
  wake_ups_ = ibv_create_comp_channel(context_);
  if (wake_ups_ == nullptr) return refused("a completion channel", errno);
  watch_.emplace(reactor_, wake_ups_->fd, [this] { on_wake_up(); });
  const auto count = std::min(receive_buffers, static_cast<std::uint32_t>(attributes_.max_srq_wr));
  reserved_completions_ = count;
  const int length = std::min(static_cast<int>(std::max(kInitialCompletions, count)), attributes_.max_cqe);
  completions_ = ibv_create_cq(context_, length, nullptr, wake_ups_, 0);
  if (completions_ == nullptr) return refused("a completion queue of " + std::to_string(length), errno);
  reactor_.add_source(*this);

  receive_memory_bytes_ = std::size_t{count} * kFragment_bytes;
  void* memory =
      ::mmap(nullptr, receive_memory_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  NAMDB_CHECK(memory != MAP_FAILED);
  receive_memory_ = static_cast<std::byte*>(memory);
  receive_region_ = ibv_reg_mr(domain_, memory, receive_memory_bytes_, kLocalAccess);
  if (receive_region_ == nullptr) {
    return refused("to register " + std::to_string(receive_memory_bytes_ >> 10) + " KiB of memory", errno);
  }
  ibv_srq_init_attr receive_attributes{};
  receive_attributes.attr.max_wr = count;
  receive_attributes.attr.max_sge = 1;
  receives_ = ibv_create_srq(domain_, &receive_attributes);
  if (receives_ == nullptr) return refused("a shared receive queue of " + std::to_string(count), errno);
  receive_requests_.resize(count);
  receive_places_.resize(count);
  for (std::uint32_t i = 0; i < count; ++i) free_receives_.push_back(i);
  post_receives();
  return Status();
}

void Device::post_receives() {
  if (free_receives_.empty()) return;
  for (std::size_t i = 0; i < free_receives_.size(); ++i) {
    const std::uint32_t buffer = free_receives_[i];
    receive_places_[i] = {
        reinterpret_cast<std::uint64_t>(receive_memory_ + std::size_t{buffer} * kFragment_bytes),
        kFragment_bytes, receive_region_->lkey};
    ibv_recv_wr& request = receive_requests_[i];
    request.wr_id = Endpoint::kReceive | buffer;
    request.sg_list = &receive_places_[i];
    request.num_sge = 1;
    request.next = i + 1 == free_receives_.size() ? nullptr : &receive_requests_[i + 1];
  }
  ibv_recv_wr* first_refused = nullptr;
  const int error = ibv_post_srq_recv(receives_, receive_requests_.data(), &first_refused);
  if (error == 0) return free_receives_.clear();
  // Tried again with the next completions.
  const auto posted = first_refused == nullptr ? 0 : first_refused - receive_requests_.data();
  free_receives_.erase(free_receives_.begin(), free_receives_.begin() + posted);
  spdlog::warn("verbs fabric: {} refuses receive buffers: {}", name(), std::strerror(error));
}

Status Device::register_local(std::byte* base, std::size_t length_bytes) {
  ibv_mr* region = ibv_reg_mr(domain_, base, length_bytes, kLocalAccess);
  if (region == nullptr) {
    registration_status_ =
        refused("to register " + std::to_string(length_bytes >> 20) + " MiB of buffers", errno);
    spdlog::error("verbs fabric: {} ({})", registration_status_.message(), registration_status_.hint());
    return registration_status_;
  }
  registrations_.push_back({base, length_bytes, region});
  return Status();
}

Result<ibv_mr*> Device::register_remote(std::byte* base, std::size_t length_bytes) {
  ibv_mr* region = ibv_reg_mr_iova(domain_, base, length_bytes, 0, kRemoteAccess);
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
  const auto found = std::find_if(registrations_.begin(), registrations_.end(), holds);
  if (found == registrations_.end()) return std::nullopt;
  last_registration_ = static_cast<std::size_t>(found - registrations_.begin());
  return found->region->lkey;
}

Status Device::reserve_completions(std::uint32_t count) {
  const std::uint32_t wanted = reserved_completions_ + count;
  if (wanted > static_cast<std::uint32_t>(completions_->cqe)) {
    const auto most = static_cast<std::uint32_t>(attributes_.max_cqe);
    const std::uint32_t length =
        std::min(std::max(wanted, 2 * static_cast<std::uint32_t>(completions_->cqe)), most);
    const int error = wanted > most ? EINVAL : ibv_resize_cq(completions_, static_cast<int>(length));
    if (error != 0) return refused("a completion queue of " + std::to_string(wanted), error);
  }
  reserved_completions_ = wanted;
  return Status();
}

void Device::add(Endpoint& endpoint) {
  NAMDB_CHECK(endpoints_.emplace(endpoint.number(), &endpoint).second);
}

void Device::remove(Endpoint& endpoint) {
  endpoints_.erase(endpoint.number());
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
    post_receives();
  } while (count == kPolled);
  polling_ = false;
  return any;
}

void Device::dispatch(const ibv_wc& completion) {
  const auto found = endpoints_.find(completion.qp_num);
  Endpoint* endpoint =
      found == endpoints_.end() ? nullptr : found->second;  // none: late, of one that is gone
  if ((completion.wr_id & Endpoint::kReceive) == 0) {
    if (endpoint != nullptr) endpoint->on_sent(completion);
    return;
  }
  const auto buffer = static_cast<std::uint32_t>(completion.wr_id & ~Endpoint::kReceive);
  if (endpoint != nullptr && completion.status == IBV_WC_SUCCESS) {
    endpoint->on_fragment({receive_memory_ + std::size_t{buffer} * kFragment_bytes, completion.byte_len});
  }
  free_receives_.push_back(buffer);
}

bool Device::prepare_sleep() {
  // Armed and not woken yet: whatever completes still ends the sleep.
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
