#include "memory/placement/vacancy.h"

#include <utility>

#include "common/base/clock.h"

namespace namdb::memory {
namespace {

// How long peers get to receive the last replies.
constexpr std::uint64_t kFarewell_ns = 20 * kMillisecond_ns;

std::string name_of_host(std::uint16_t server_id) {
  return "memory server " + std::to_string(server_id) + " to be";
}

placement::MakeHello hello_of_host(reactor::Executor& executor, std::uint16_t server_id) {
  return [&executor, name = name_of_host(server_id)] { return tool_hello(executor.random(), name); };
}

placement::MakeHello hello_of_copy(reactor::Executor& executor, std::uint16_t server_id) {
  return [&executor, name = name_of_host(server_id)] { return copy_hello(executor.random(), name); };
}

std::unique_ptr<Arrival> make_arrival(reactor::Executor& executor, fabric::ClientFabric& client, Disk& disk,
                                      PlaceKeeper& keeper, ArrivalOptions options, bool follows) {
  const PlaceState state = keeper.record().state;
  if (state != PlaceState::whole && (follows || state != PlaceState::vacant)) return nullptr;
  const std::uint16_t server_id = options.server_id;
  return std::make_unique<Arrival>(executor, disk, client, hello_of_host(executor, server_id), keeper,
                                   std::move(options));
}

}  // namespace

Vacancy::Vacancy(reactor::Executor& executor, std::unique_ptr<fabric::ClientFabric> client,
                 const MakeServer& make_server, Disk& disk, PlaceKeeper& keeper, ArrivalOptions options,
                 std::optional<Following> following)
    : executor_(executor),
      disk_(disk),
      keeper_(keeper),
      following_(std::move(following)),
      client_(std::move(client)),
      patient_(executor, *client_),
      arrival_(make_arrival(executor, *client_, disk, keeper, options, following_.has_value())),
      host_(options.server_count, keeper, arrival_.get(), *this, [this] { stop(); }),
      fabric_(make_server(host_)),
      changed_(executor) {}

Vacancy::~Vacancy() = default;

void Vacancy::stop() {
  stopped_ = true;
  end();
}

void Vacancy::end() {
  over_ = true;
  changed_.notify_all();
}

reactor::Task<Status> Vacancy::run(std::string listen, std::function<void()> listening) {
  Status status = co_await fabric_->listen(std::move(listen));
  if (status.ok()) {
    listening();
    const PlaceState state = keeper_.record().state;
    if (arrival_ != nullptr) {
      arrival_->start();
      executor_.spawn(gate_, await_arrival());
    } else if (following_ && (state == PlaceState::joins || state == PlaceState::follows ||
                              (state == PlaceState::vacant && !following_->waits))) {
      start_following();
    }
    while (!over_) co_await changed_.wait();
    if (keeper_.record().state != PlaceState::here) co_await executor_.sleep_for(kFarewell_ns);
    status = failure_;
  }
  if (arrival_ != nullptr) co_await arrival_->close();
  if (follower_ != nullptr && !leaving_) co_await follower_->close();
  co_await gate_.close();
  co_await patient_.settle();
  co_await fabric_->close();
  co_return status;
}

reactor::Task<void> Vacancy::await_arrival() {
  failure_ = co_await arrival_->ended();
  end();
}

// --- copies ---

void Vacancy::start_following() {
  follower_ = std::make_unique<Follower>(executor_, disk_, patient_,
                                         hello_of_copy(executor_, following_->options.server_id), keeper_,
                                         *following_->store, following_->options);
  follower_->start();
  executor_.spawn(gate_, await_takeover());
}

reactor::Task<void> Vacancy::await_takeover() {
  const Status ended = co_await follower_->ended();
  if (leaving_ && !follower_->here()) co_return;
  failure_ = ended;
  end();
}

reactor::Task<Status> Vacancy::copy(placement::CopyRequest request) {
  if (!following_) {
    co_return Status(ErrorCode::object_not_in_prerequisite_state,
                     "this host was started without a configuration store, and can have no copy",
                     "start it with --configuration-store");
  }
  PlaceRecord record = keeper_.record();
  // A host that was started for no region in particular takes any, as long as it has none.
  const bool any = following_->waits && record.state == PlaceState::vacant && follower_ == nullptr;
  if (request.server_id >= following_->options.server_count ||
      (request.server_id != following_->options.server_id && !any)) {
    co_return Status(ErrorCode::object_not_in_prerequisite_state,
                     "this host is for memory server " + std::to_string(following_->options.server_id),
                     "start it with the --server-id of the region that it is to have");
  }
  if (leaving_ || over_ || arrival_ != nullptr)
    co_return Status(ErrorCode::cannot_connect_now, "this host has something else to do now");
  if (follower_ != nullptr) co_return Status();
  following_->options.server_id = record.server_id = request.server_id;
  // Old files may do, in part.
  record.state = record.state == PlaceState::departed && record.database_id != 0 ? PlaceState::follows
                                                                                 : PlaceState::joins;
  const Status status = co_await keeper_.store(std::move(record));
  if (status.ok() && follower_ == nullptr && !over_) start_following();
  co_return status;
}

reactor::Task<Status> Vacancy::leave(placement::LeaveRequest request) {
  if (follower_ == nullptr || leaving_)
    co_return Status(ErrorCode::object_not_in_prerequisite_state, "this host has no copy");
  Status status = co_await follower_->leave(request.force);
  // Another order may have been faster.
  if (!status.ok() || over_ || leaving_ || follower_ == nullptr) co_return status;
  leaving_ = true;
  co_await follower_->close();
  if (!follower_->here() && !over_) {
    follower_.reset();
    PlaceRecord record = keeper_.record();
    record.state = record.state == PlaceState::follows ? PlaceState::departed : PlaceState::vacant;
    status = co_await keeper_.store(std::move(record));
    if (!status.ok()) failure_ = status;
    if (!status.ok()) end();
  }
  leaving_ = false;
  co_return status;
}

}  // namespace namdb::memory
