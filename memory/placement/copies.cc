#include "memory/placement/copies.h"

#include <algorithm>
#include <utility>

#include "common/placement/move_calls.h"

namespace namdb::memory {

using placement::Configuration;
using placement::FollowAnswer;
using placement::FollowReply;
using placement::FollowRequest;
using placement::Place;

Copies::Copies(ServerState& server, Disk& disk, Log& log, CheckpointStore& checkpoints, PlaceKeeper& keeper,
               placement::ConfigurationStore& store, Stored stored, CopiesOptions options)
    : server_(server),
      executor_(server.executor),
      log_(log),
      checkpoints_(checkpoints),
      keeper_(keeper),
      store_(store),
      options_(std::move(options)),
      feed_(disk, log, keeper.folder() + "/" + std::string(placement::name_of(placement::Part::log))),
      stored_(std::move(stored)),
      opened_(log.appended()),
      blocks_(server.executor),
      leases_(server.executor),
      look_(server.executor),
      dismissed_(server.executor) {
  checkpoints.set_place(place().number);
}

Copies::~Copies() = default;

reactor::Task<Status> Copies::start() {
  const Status status = co_await keep_place(&stored_.configuration);
  if (!status.ok()) co_return status;
  began_ns_ = asked_ns_ = awake_ns_ = executor_.now_ns();
  for (const std::string& address : place().copies) {
    copies_[address].counts = true;
    copies_[address].heard_ns = awake_ns_;
  }
  confirm();
  server_.copies_service = this;
  feed_.on_block([this] { blocks_.notify_all(); });
  executor_.spawn(gate_, run());
  co_return Status();
}

void Copies::stop_soon() {
  if (gate_.closing()) return;
  executor_.spawn(gate_, end_late(executor_.now_ns() + options_.farewell_ns));
}

reactor::Task<void> Copies::end_late(std::uint64_t deadline_ns) {
  while (!gate_.closing() && executor_.now_ns() < deadline_ns) co_await leases_.wait_until(deadline_ns);
  if (!gate_.closing()) end_log();
}

void Copies::end_log() {
  log_.end_now(Status(ErrorCode::admin_shutdown, "the memory server ends"));
}

reactor::Task<void> Copies::close() {
  server_.copies_service = nullptr;
  feed_.on_block({});
  auto all_ended = gate_.close();
  // No copy acknowledges any more.
  if (log_.confirmed() != ~LogPosition{0}) end_log();
  wake_all();
  co_await all_ended;
}

void Copies::wake_all() {
  blocks_.notify_all();
  leases_.notify_all();
  look_.notify_all();
  dismissed_.notify_all();
}

std::size_t Copies::in_sync() const {
  return static_cast<std::size_t>(std::ranges::count_if(place().copies, [this](const std::string& address) {
    const auto copy = copies_.find(address);
    return copy != copies_.end() && !silent(copy->second);
  }));
}

std::uint64_t Copies::lag_bytes() const {
  std::uint64_t lag_bytes = 0;
  for (const auto& [address, copy] : copies_) {
    if (copy.fits && !silent(copy)) lag_bytes = std::max(lag_bytes, log_.tail().position - copy.acknowledged);
  }
  return lag_bytes;
}

// --- calls ---

Status Copies::region_ends() {
  return Status(ErrorCode::cannot_connect_now, "the memory server opens, or ends");
}

bool Copies::silent(const Copy& copy) const {
  if (copy.waiting != 0) return false;
  return executor_.now_ns() >= std::max(copy.heard_ns, awake_ns_) + options_.silence_ns;
}

void Copies::confirm() {
  LogPosition confirmed = ~LogPosition{0};
  for (const auto& [address, copy] : copies_) {
    if (copy.counts) confirmed = std::min(confirmed, copy.acknowledged);
  }
  log_.set_confirmed(confirmed);
  if (leases_.has_waiters()) leases_.notify_all();
}

void Copies::acknowledge(Copy& copy, const FollowRequest& request) {
  copy.fits = true;
  copy.settles = false;
  copy.whole = request.whole && !request.leaves;
  copy.acknowledged = request.end.position;
  confirm();
}

FollowReply Copies::reply_now() const {
  FollowReply reply;
  reply.database_id = log_.identity().owner.database_id;
  reply.log_id = log_.identity().log_id;
  reply.segment_bytes = log_.segment_bytes();
  reply.place = place();
  reply.position = log_.tail().position;
  reply.generation = checkpoints_.newest() == nullptr ? 0 : checkpoints_.newest()->generation;
  return reply;
}

reactor::Task<Status> Copies::dismiss(std::string address) {
  Copy& copy = copies_[address];
  copy.fits = copy.whole = copy.settles = false;
  const std::uint64_t until_ns = executor_.now_ns() + options_.silence_ns / 2;
  while (copy.counts && !deposed_ && !gate_.closing() && executor_.now_ns() < until_ns) {
    look_.notify_all();
    co_await dismissed_.wait_until(executor_.now_ns() + options_.look_ns);
  }
  co_return copy.counts ? region_ends() : Status();
}

Status Copies::check(const FollowRequest& request, fabric::PeerId peer) const {
  if (deposed_ || gate_.closing()) return region_ends();
  if (request.server_id != server_.options.server_id) {
    return Status(ErrorCode::protocol_violation,
                  "the region of memory server " + std::to_string(request.server_id) + " is not here");
  }
  if (request.database_id != 0 && request.database_id != log_.identity().owner.database_id) {
    return Status(ErrorCode::configuration, "the copy at " + request.address + " is of another database",
                  "start it with an empty data folder");
  }
  if (request.address == options_.address) {
    return Status(ErrorCode::configuration, "a copy has the address of the primary, " + request.address,
                  "each memory server needs an address of its own");
  }
  const auto copy = copies_.find(request.address);
  if (copy != copies_.end() && peer < copy->second.peer)
    return Status(ErrorCode::connection_failure, "the copy has another connection");
  return Status();
}

reactor::Task<Status> Copies::follow(fabric::PeerId peer, FollowRequest request, std::string* reply) {
  Status status = check(request, peer);
  if (!status.ok()) co_return status;
  gate_.enter();
  Copy& copy = copies_[request.address];  // never erased
  copy.heard_ns = executor_.fresh_now_ns();
  if (copy.peer != peer) copy.replied_ns = 0;
  if (copy.replied_ns != 0) copy.lease_ns = copy.replied_ns + placement::kLease_ns;
  copy.peer = peer;
  ++copy.waiting;
  leases_.notify_all();
  FollowReply answer;
  status = co_await answer_follow(&copy, &request, &answer);
  if (deposed_) status = region_ends();
  --copy.waiting;
  copy.heard_ns = executor_.fresh_now_ns();
  if (copy.peer == peer) copy.replied_ns = copy.heard_ns;
  if (status.ok()) *reply = encode(answer);
  gate_.leave(executor_);
  co_return status;
}

reactor::Task<Status> Copies::answer_follow(Copy* copy, const FollowRequest* request, FollowReply* answer) {
  const std::uint64_t until_ns = executor_.now_ns() + options_.poll_ns;
  const fabric::PeerId peer = copy->peer;
  Status status;
  // It may not be listed while it lacks anything.
  if (!request->has_log) status = co_await dismiss(request->address);
  if (!status.ok()) co_return status;
  if (!request->recent.empty()) {
    const auto common = feed_.common(request->recent);
    if (common && (!copy->counts || common->position >= copy->acknowledged)) {
      *answer = reply_now();
      answer->answer = FollowAnswer::cut;
      answer->mark = {common->sequence - 1, common->previous};
      co_return Status();
    }
    co_return co_await start_over(request->address, answer);
  }
  while (true) {
    reactor::Task<Result<LogFeed::Blocks>> looking =
        request->has_log ? feed_.behind(tail_of(request->end)) : feed_.from(request->from);
    auto found = co_await std::move(looking);
    if (copy->peer != peer)
      co_return Status(ErrorCode::connection_failure, "the copy has another connection");
    if (!found.ok()) co_return found.status();
    if (request->has_log && request->end.position > log_.tail().position)
      found->kind = LogFeed::Kind::differs;
    if (found->kind == LogFeed::Kind::gone) co_return co_await start_over(request->address, answer);
    if (found->kind == LogFeed::Kind::differs) {
      copy->fits = false;
      copy->settles = true;
      *answer = reply_now();
      answer->answer = FollowAnswer::ends_differ;
      co_return Status();
    }
    if (request->has_log) acknowledge(*copy, *request);
    if (found->kind == LogFeed::Kind::blocks) {
      *answer = reply_now();
      answer->begin = place_of(found->begin);
      answer->bytes = std::move(found->bytes);
      co_return Status();
    }
    if (deposed_ || gate_.closing()) co_return region_ends();
    if (executor_.now_ns() >= until_ns) break;
    co_await blocks_.wait_until(until_ns);
  }
  *answer = reply_now();
  co_return Status();
}

reactor::Task<Status> Copies::start_over(std::string address, FollowReply* answer) {
  const Status status = co_await dismiss(std::move(address));
  *answer = reply_now();
  answer->answer = FollowAnswer::start_over;
  co_return status;
}

bool Copies::holds_lease() const {
  if (deposed_ || gate_.closing()) return false;
  const std::uint64_t now_ns = executor_.fresh_now_ns();
  if (log_.confirmed() < opened_) return false;
  return std::ranges::all_of(
      copies_, [now_ns](const auto& copy) { return !copy.second.counts || now_ns < copy.second.lease_ns; });
}

reactor::Task<Status> Copies::lease(Gone gone) {
  if (holds_lease()) co_return Status();
  if (deposed_ || gate_.closing()) co_return region_ends();
  gate_.enter();
  // Not for longer: a worker that ends awaits the answer.
  const std::uint64_t until_ns = executor_.now_ns() + options_.poll_ns;
  while (!holds_lease() && !deposed_ && !gate_.closing() && !gone() && executor_.now_ns() < until_ns)
    co_await leases_.wait_until(std::min(until_ns, executor_.now_ns() + kCallerLook_ns));
  const bool held = holds_lease();
  gate_.leave(executor_);
  co_return held ? Status() : region_ends();
}

// --- the store ---

bool Copies::must_ask() const {
  const Place known = server_.links.configuration().place(server_.options.server_id);
  const bool elsewhere = known.number > place().number && known.address != options_.address;
  return was_stopped_ || elsewhere || unreachable_ || revision_is_old_ || !told_.empty() ||
         executor_.now_ns() >= asked_ns_ + options_.ask_ns;
}

reactor::Task<void> Copies::run() {
  while (!gate_.closing() && !deposed_) {
    forget_gone();
    tell_waiting();
    if (switching_) {
      // Nothing is changed meanwhile.
    } else if (must_ask()) {
      was_stopped_ = revision_is_old_ = false;
      co_await look_at_store();
    } else {
      std::vector<std::string> copies = wanted();
      if (open_change_ || copies != place().copies) co_await change(std::move(copies));
    }
    if (gate_.closing() || deposed_) break;
    const std::uint64_t now_ns = executor_.now_ns();
    co_await look_.wait_until(now_ns + options_.look_ns);
    // A process that was stopped cannot tell which copies were silent meanwhile, and a copy may have taken
    // over.
    if (executor_.now_ns() >= now_ns + options_.look_ns + options_.silence_ns / 2) {
      was_stopped_ = true;
      awake_ns_ = executor_.now_ns();
    }
  }
}

bool Copies::fit(const Copy& copy) const {
  if (silent(copy)) return false;
  return copy.fits && copy.whole;
}

// The store does not matter to copies that it does not list.
void Copies::forget_gone() {
  bool confirmed_more = false;
  for (auto& [address, copy] : copies_) {
    if (!copy.counts || listed(address) || fit(copy) || open_change_) continue;
    copy.counts = false;
    confirmed_more = true;
  }
  if (confirmed_more) confirm();
}

void Copies::tell_waiting() {
  std::string gone;
  std::string behind;
  for (const std::string& address : place().copies) {
    const Copy& copy = copies_[address];
    if (silent(copy)) gone += " " + address;
    if (copy.acknowledged < opened_) behind += " " + address;
  }
  std::string line;
  if (!gone.empty() && (unreachable_ || !told_.empty())) {
    line =
        "commits wait for copies that do not answer, and cannot be taken off the list of those in sync now:" +
        gone;
  } else if (!behind.empty() && executor_.now_ns() >= began_ns_ + kOpeningPatience * options_.silence_ns) {
    line =
        "nothing is answered before copies in sync have the log that was here at the start, and these do "
        "not take it; their logs say why:" +
        behind;
  }
  if (line != waiting_told_ && !line.empty()) server_.notice(line);
  waiting_told_ = std::move(line);
}

std::vector<std::string> Copies::wanted() {
  std::vector<std::string> copies;
  for (auto& [address, copy] : copies_) {
    if (listed(address)) {
      // One that has not come to this process yet, or whose end is being cut, lacks nothing.
      const bool patient = (copy.peer == 0 || copy.settles) && !silent(copy);
      if (fit(copy) || patient) copies.push_back(address);
      continue;
    }
    if (!fit(copy)) continue;
    if (place().copies.size() >= placement::kMaxCopies) continue;
    if (!copy.counts) {
      if (log_.tail().position - copy.acknowledged > options_.near_bytes) continue;
      // Leases that were given before it counts are over before it can open.
      if (executor_.fresh_now_ns() >= copy.lease_ns) continue;
      copy.counts = true;
      copy.needed = log_.durable();
      confirm();
    }
    if (copy.acknowledged >= copy.needed) copies.push_back(address);
  }
  return copies;
}

reactor::Task<void> Copies::change(std::vector<std::string> copies) {
  Configuration next = stored_.configuration;
  Place changed = place();
  ++changed.number;
  changed.copies = std::move(copies);
  next.set(server_.options.server_id, std::move(changed));
  const std::uint64_t revision = stored_.revision;
  open_change_ = revision;
  const auto replaced = co_await store_.replace(revision, std::move(next));
  if (replaced.ok()) open_change_.reset();
  co_await look_at_store();
}

reactor::Task<Status> Copies::keep_place(const Configuration* found) {
  Configuration places = *found;
  Status status = co_await keeper_.learn(std::move(places));
  if (!status.ok() && options_.on_failure) options_.on_failure(status);
  co_return status;
}

reactor::Task<void> Copies::look_at_store() {
  asked_ns_ = executor_.now_ns();
  auto read = co_await store_.read();
  if (!read.ok()) {
    if (!unreachable_) {
      server_.notice("the configuration store " + store_.name() +
                     " cannot be used now, and no copy comes or " +
                     "goes meanwhile: " + read.status().message());
    }
    unreachable_ = true;
    co_await executor_.sleep_for(options_.look_ns);
    co_return;
  }
  if (unreachable_) server_.notice("the configuration store " + store_.name() + " is back");
  unreachable_ = false;
  if (open_change_ && read->revision != *open_change_) open_change_.reset();
  co_await take(std::move(*read));
}

reactor::Task<void> Copies::take(Stored stored) {
  const Status ours = check_owner(store_, stored.configuration, log_.identity().owner.database_id,
                                  server_.options.server_count);
  const std::uint16_t region = server_.options.server_id;
  const Status fits = ours.ok() ? check_history(store_, stored.configuration.place(region), place()) : ours;
  if (stored.revision == 0 || !fits.ok()) {
    const std::string line =
        stored.revision == 0 ? "the configuration store " + store_.name() + " is empty" : fits.message();
    if (line != told_) server_.notice(line + "; no copy comes or goes");
    told_ = line;
    co_return;
  }
  told_.clear();
  const Place& now = stored.configuration.place(region);
  if (now.address != options_.address) {
    Configuration configuration = stored.configuration;
    // Given away by an order whose outcome was unknown.
    const PlaceState state = given_ == now ? PlaceState::departed : PlaceState::follows;
    co_await depose(std::move(configuration), state);
    co_return;
  }
  // Before anything follows from it. A folder that knows this place opens by no older value of the store.
  const Status kept = co_await keep_place(&stored.configuration);
  if (!kept.ok() || deposed_) co_return;
  const Place before = place();
  stored_ = std::move(stored);
  for (auto& [address, copy] : copies_) {
    if (listed(address)) {
      if (!before.has_copy(address)) server_.notice("the copy at " + address + " is in sync");
      copy.counts = true;
    } else if (before.has_copy(address)) {
      server_.notice("the copy at " + address + " is not in sync any more" +
                     (silent(copy) ? ": it does not answer" : ""));
      if (!open_change_) copy.counts = false;
    }
  }
  for (const std::string& address : place().copies) copies_[address].counts = true;
  confirm();
  dismissed_.notify_all();
  server_.links.learn_places(stored_.configuration);
}

reactor::Task<void> Copies::depose(Configuration configuration, PlaceState state) {
  if (deposed_) co_return;
  const Place place = configuration.place(server_.options.server_id);
  const std::string where =
      "the region of memory server " + std::to_string(server_.options.server_id) + " is at " + place.address;
  deposed_ = true;
  // From here on a log that has ended does not mean a failure of the disk.
  server_.departed = where;
  log_.end_now(Status(ErrorCode::cannot_connect_now, where + " now"));
  wake_all();
  PlaceRecord record = keeper_.record();
  record.state = state;
  record.configuration.learn(configuration);
  const Status status = co_await keeper_.store(std::move(record));
  if (!status.ok()) {
    server_.departed.clear();
    if (options_.on_failure) options_.on_failure(status);
    co_return;
  }
  server_.links.learn_places(configuration);
  server_.notice(where + " now, by the configuration store; this memory server gives it up");
  server_.request_shutdown();
}

}  // namespace namdb::memory
