#include "memory/placement/follower.h"

#include <algorithm>
#include <utility>

#include "common/calls/protocol_version.h"
#include "proto/control.pb.h"

namespace namdb::memory {

using placement::BlockMark;
using placement::Configuration;
using placement::FollowAnswer;
using placement::FollowReply;
using placement::FollowRequest;
using placement::MoveState;
using placement::Place;

namespace {

// In the time of silence.
constexpr std::uint64_t kLooks = 10;

Status follow_stopped() {
  return Status(ErrorCode::admin_shutdown, "the memory server was told to end");
}

}  // namespace

Follower::Follower(reactor::Executor& executor, Disk& disk, fabric::ClientFabric& fabric,
                   placement::MakeHello make_hello, PlaceKeeper& keeper, placement::ConfigurationStore& store,
                   FollowerOptions options)
    : executor_(executor),
      fabric_(fabric),
      make_hello_(std::move(make_hello)),
      keeper_(keeper),
      store_(store),
      options_(std::move(options)),
      folder_(executor, disk, keeper.folder()),
      generations_(
          executor, folder_, options_.piece_bytes,
          [this](std::uint16_t method, std::string request) { return call(method, std::move(request)); }),
      applier_(executor, disk, keeper.folder(), options_.make_image, options_.notice, options_.settle_bytes),
      changed_(executor) {}

void Follower::start() {
  began_ns_ = posted_ns_ = heard_ns_ = executor_.now_ns();
  executor_.spawn(gate_, run());
  executor_.spawn(gate_, watch());
}

reactor::Task<Status> Follower::ended() {
  while (!over_) co_await changed_.wait();
  co_return failure_;
}

reactor::Task<void> Follower::close() {
  auto all_ended = gate_.close();
  changed_.notify_all();
  applier_.give_up();
  if (image_ != nullptr) image_->stop();
  if (channel_ != nullptr) channel_->give_up(follow_stopped());
  co_await all_ended;
  co_await generations_.stop();
  co_await generations_.close();
  channel_.reset();
  co_await applier_.close();
  co_await folder_.close();
}

std::uint64_t Follower::lag_bytes() const {
  const std::uint64_t durable = folder_.log() == nullptr ? 0 : folder_.log()->durable();
  return end_position_ - std::min(end_position_, durable);
}

std::uint64_t Follower::unapplied_bytes() const {
  const std::uint64_t durable = folder_.log() == nullptr ? 0 : folder_.log()->durable();
  return durable - std::min(durable, std::max(applier_.applied(), folder_.redo_from()));
}

placement::MoveReply Follower::progress() const {
  placement::MoveReply reply;
  reply.state = here()     ? MoveState::here
                : in_sync_ ? MoveState::in_sync
                : whole()  ? MoveState::follows
                           : MoveState::copies;
  reply.server_id = options_.server_id;
  reply.from = primary_;
  reply.copied_bytes = copied_bytes_ + generations_.copied_bytes();
  reply.total_bytes = copied_bytes_ + generations_.total_bytes() + lag_bytes();
  reply.duration_ns = executor_.now_ns() - began_ns_;
  reply.error = told_.empty() ? generation_error_ : told_;
  return reply;
}

std::string Follower::region_name() const {
  return "the region of memory server " + std::to_string(options_.server_id);
}

void Follower::notice(const std::string& line) const {
  if (options_.notice) options_.notice(line);
}

void Follower::told(const std::string& line) {
  if (line != told_ && !line.empty()) notice(line);
  told_ = line;
}

const Place& Follower::place_of_region() const {
  return keeper_.record().configuration.place(options_.server_id);
}

bool Follower::listed() const {
  return place_of_region().has_copy(options_.address);
}

reactor::Task<Status> Follower::leave(bool force) {
  // Without a connection, too: it may take over then.
  if (whole() && listed() && place_of_region().copies.size() == 1 && !force) {
    co_return Status(ErrorCode::object_not_in_prerequisite_state,
                     "this is the only copy in sync of " + region_name(),
                     "add another one first, or force it");
  }
  if (!leaves_) knows_ = false;
  leaves_ = true;
  while ((!knows_ || listed()) && !over_ && !gate_.closing()) co_await changed_.wait();
  co_return here() ? Status(ErrorCode::object_not_in_prerequisite_state, "the region has come here")
                   : Status();
}

// --- the life of a copy ---

reactor::Task<void> Follower::run() {
  Status status = co_await load();
  while (status.ok() && !gate_.closing() && !here()) status = co_await work();
  co_await leave_primary();
  co_await applier_.stop();
  if (here() || gate_.closing()) co_await folder_.close();
  failure_ = gate_.closing() ? Status() : status;
  over_ = true;
  changed_.notify_all();
}

reactor::Task<Status> Follower::work() {
  Status status = co_await look();
  if (!status.ok() || here()) co_return status;
  if (!primary_.empty()) {
    const Status lost = co_await follow();
    in_sync_ = false;
    co_await leave_primary();
    if (!fatal_.ok()) co_return fatal_;
    if (gate_.closing()) co_return Status();
    told(primary_ + ": " + lost.message());
    note_pause();
    const std::uint64_t patience_ns = heard_ ? options_.silence_ns : options_.first_silence_ns;
    if (whole() && executor_.now_ns() >= heard_ns_ + patience_ns) {
      status = co_await take_over();
      if (!status.ok() || here()) co_return status;
    }
  }
  co_await changed_.wait_until(executor_.now_ns() + options_.retry_ns);
  co_return Status();
}

reactor::Task<Status> Follower::load() {
  const PlaceRecord& record = keeper_.record();
  database_id_ = record.database_id;
  if (record.state == PlaceState::follows) {
    const LogOwner owner{record.database_id, record.server_id};
    const Status status = co_await folder_.open(owner);
    if (status.ok()) applier_.start(*folder_.log());
    if (status.ok() || status.code() == kDiskFailed) co_return status;
    std::string why = status.message();
    co_return co_await start_over(std::move(why));
  }
  std::string nothing;
  co_return co_await start_over(std::move(nothing));
}

reactor::Task<Status> Follower::start_over(std::string why) {
  if (!why.empty()) notice("the copy begins anew: " + why);
  co_await generations_.stop();
  in_sync_ = false;
  copied_bytes_ = 0;
  co_await applier_.stop();
  applier_.cut(0);
  if (Status status = co_await store(PlaceState::joins); !status.ok()) co_return status;
  co_return co_await folder_.clear();
}

reactor::Task<Status> Follower::store(PlaceState state) {
  PlaceRecord record = keeper_.record();
  record.state = state;
  record.database_id = database_id_;
  record.claim = record.position = 0;
  record.from.clear();
  record.address = options_.address;
  co_return co_await keeper_.store(std::move(record));
}

reactor::Task<Result<placement::ConfigurationStore::Stored>> Follower::read_store() {
  auto read = co_await store_.read();
  if (!read.ok() || read->revision == 0 || options_.server_id >= read->configuration.regions())
    co_return std::move(read);
  const Place& place = read->configuration.place(options_.server_id);
  const Status fits = check_history(store_, place, place_of_region());
  if (!fits.ok()) co_return Status(ErrorCode::connection_failure, fits.message(), fits.hint());
  co_return std::move(read);
}

reactor::Task<Status> Follower::look() {
  const bool leaving = leaves_;
  auto read = co_await read_store();
  std::string primary;
  if (read.ok()) {
    const Configuration& found = read->configuration;
    Status status =
        read->revision == 0 ? Status() : check_owner(store_, found, database_id_, options_.server_count);
    if (!status.ok()) co_return status;
    if (read->revision != 0) {
      Configuration learned = found;
      status = co_await keeper_.learn(std::move(learned));
      if (!status.ok()) co_return status;
      const Place& place = found.place(options_.server_id);
      if (place.address == options_.address && place.number != 0) {
        Configuration configuration = found;
        co_return co_await come_here(std::move(configuration));
      }
      if (place.number != 0) primary = place.address;
    }
    if (leaving) know();
    if (primary.empty()) told(region_name() + " has no primary yet");
  } else if (read.status().code() == ErrorCode::connection_failure) {
    told("the configuration store " + store_.name() + " cannot be used now: " + read.status().message());
    const Place& place = keeper_.record().configuration.place(options_.server_id);
    if (place.number != 0) primary = place.address;
  } else {
    co_return read.status();
  }
  if (primary != primary_) {
    primary_ = std::move(primary);
    heard_ns_ = executor_.now_ns();
    heard_ = false;
    if (!primary_.empty()) notice("follows " + region_name() + " at " + primary_);
  }
  co_return Status();
}

reactor::Task<void> Follower::leave_primary() {
  if (channel_ != nullptr) channel_->give_up(follow_stopped());
  co_await generations_.stop();
  channel_.reset();
}

// --- following ---

reactor::Task<Status> Follower::connect() {
  std::string hello = make_hello_();
  std::string bytes;
  auto channel = co_await fabric_.connect(primary_, std::move(hello), &bytes);
  if (!channel.ok()) co_return channel.status();
  control::Welcome welcome;
  if (!welcome.ParseFromString(bytes) || welcome.protocol_version() != calls::kProtocolVersion) {
    co_return Status(ErrorCode::protocol_violation, "another version of namdb is there",
                     "run the same namdb version everywhere");
  }
  if (welcome.epoch() == 0) co_return Status(ErrorCode::cannot_connect_now, "its region is not there yet");
  if (welcome.server_id() != options_.server_id || welcome.server_count() != options_.server_count) {
    co_return Status(ErrorCode::protocol_violation, "it is memory server " +
                                                        std::to_string(welcome.server_id()) + " of " +
                                                        std::to_string(welcome.server_count()));
  }
  channel_ = std::move(*channel);
  co_return Status();
}

reactor::Task<Result<std::string>> Follower::call(std::uint16_t method, std::string request) {
  if (channel_ == nullptr || channel_->failed() || gate_.closing()) co_return follow_stopped();
  fabric::Call call;
  call.method = method;
  call.request = std::move(request);
  if (calls_++ == 0) call_ns_ = executor_.now_ns();
  channel_->post(call);
  co_await call.done();
  call_ns_ = --calls_ == 0 ? 0 : executor_.now_ns();
  if (call.status().ok()) co_return std::move(call.reply);
  // Errors of this host's disk are others.
  const ErrorCode code = call.status().code() == kDiskFailed || call.status().code() == kDiskFull
                             ? ErrorCode::object_not_in_prerequisite_state
                             : call.status().code();
  co_return Status(code, call.status().message(), call.status().hint());
}

void Follower::note_pause() {
  const std::uint64_t now_ns = executor_.now_ns();
  const std::uint64_t expected_ns = options_.silence_ns / kLooks + options_.silence_ns / 2;
  if (watched_ns_ != 0 && now_ns >= watched_ns_ + expected_ns) {
    heard_ns_ = now_ns;
    if (call_ns_ != 0) call_ns_ = now_ns;
  }
  watched_ns_ = now_ns;
}

reactor::Task<void> Follower::watch() {
  while (!over_ && !gate_.closing()) {
    note_pause();
    const std::uint64_t now_ns = executor_.now_ns();
    if (call_ns_ != 0 && now_ns >= call_ns_ + options_.silence_ns && channel_ != nullptr)
      channel_->give_up(Status(ErrorCode::connection_failure, "it does not answer"));
    co_await changed_.wait_until(now_ns + options_.silence_ns / kLooks);
  }
}

reactor::Task<Status> Follower::follow() {
  Status status = co_await connect();
  bool differs = false;
  while (status.ok() && fatal_.ok() && !gate_.closing()) status = co_await follow_once(&differs);
  co_return status;
}

FollowRequest Follower::request(bool differs) const {
  FollowRequest request;
  request.database_id = database_id_;
  request.server_id = options_.server_id;
  request.address = options_.address;
  request.whole = whole();
  request.leaves = leaves_;
  const Log* const log = folder_.log();
  request.has_log = log != nullptr;
  if (log == nullptr) return request;
  request.end = place_of(log->tail());
  if (!differs) return request;
  for (const LogTail& tail : log->tails()) {
    if (tail.sequence != 0) request.recent.push_back({tail.sequence - 1, tail.previous});
  }
  return request;
}

reactor::Task<Status> Follower::follow_once(bool* differs) {
  FollowRequest asked = request(*differs);
  if (!asked.has_log) {
    const auto redo = co_await generations_.look();
    if (!redo.ok()) co_return redo.status();
    asked.from = *redo;
  }
  posted_ns_ = executor_.fresh_now_ns();
  const auto bytes = co_await call(placement::kFollowMethod, encode(asked));
  if (!bytes.ok()) {
    // It is there, and opens or ends.
    if (bytes.status().code() == ErrorCode::cannot_connect_now) heard_ns_ = executor_.now_ns();
    if (bytes.status().code() == ErrorCode::configuration) fatal_ = bytes.status();
    co_return bytes.status();
  }
  auto reply = placement::decode_follow_reply(*bytes);
  if (!reply) co_return Status(ErrorCode::protocol_violation, "it answered nonsense");
  const Status status = co_await take(std::move(*reply), differs);
  if (status.ok() && asked.leaves) know();
  co_return status;
}

void Follower::know() {
  knows_ = true;
  changed_.notify_all();
}

reactor::Task<Status> Follower::take(FollowReply reply, bool* differs) {
  const Place& known = keeper_.record().configuration.place(options_.server_id);
  if (reply.place.address != primary_ || reply.place.number < known.number)
    co_return Status(ErrorCode::cannot_connect_now, "it is the primary no more");
  if (known.number != 0 && reply.place.number == known.number && reply.place != known) {
    co_return Status(ErrorCode::cannot_connect_now,
                     "it has " + reply.place.text() + " of the region, and this host knows " + known.text(),
                     placement::kSetBackHint);
  }
  heard_ns_ = executor_.now_ns();
  heard_ = true;
  *differs = false;
  told_.clear();
  end_position_ = reply.position;
  Configuration told_places(options_.server_count);
  told_places.set_database_id(reply.database_id);
  told_places.set(options_.server_id, reply.place);
  database_id_ = reply.database_id;
  Status status = co_await keeper_.learn(std::move(told_places));
  const bool syncs = reply.place.has_copy(options_.address) && whole();
  if (syncs && !in_sync_) notice("is a copy in sync of " + region_name());
  in_sync_ = syncs;
  changed_.notify_all();
  std::string why;
  if (status.ok()) {
    switch (reply.answer) {
      case FollowAnswer::ends_differ:
        *differs = true;
        break;
      case FollowAnswer::cut:
        status = co_await cut(reply.mark);
        break;
      case FollowAnswer::start_over:
        why = "the primary's log is another one, or begins later";
        status = co_await start_over(std::move(why));
        break;
      case FollowAnswer::blocks:
        if (reply.bytes.empty()) break;
        if (folder_.log() == nullptr) {
          if (reply.begin.offset != kDiskPage_bytes)
            co_return Status(ErrorCode::protocol_violation, "it answered nonsense");
          const LogIdentity identity{reply.log_id, {reply.database_id, options_.server_id}};
          status = co_await folder_.begin_log(identity, reply.segment_bytes, tail_of(reply.begin));
        }
        if (status.ok()) status = co_await folder_.write(reply.bytes);
        copied_bytes_ += reply.bytes.size();
        generations_.log_has_grown();
        // Another connection, another try.
        if (!status.ok() && status.code() == ErrorCode::corrupt_data) co_return status;
        break;
    }
  }
  if (status.ok() && folder_.log() != nullptr) status = co_await begin_generation(reply.generation);
  if (status.ok() && folder_.log() != nullptr && whole()) applier_.start(*folder_.log());
  if (!status.ok()) fatal_ = status;
  co_return status;
}

reactor::Task<Status> Follower::cut(BlockMark mark) {
  Log* const log = folder_.log();
  const LogTail end = log->tail();
  for (const LogTail& tail : log->tails()) {
    if (tail.sequence != mark.sequence + 1 || tail.previous != mark.checksum) continue;
    const LogTail to = tail;
    co_await applier_.stop();
    const Status status = co_await log->cut(to);
    if (!status.ok() && status.code() == ErrorCode::object_not_in_prerequisite_state) break;
    if (status.ok()) {
      applier_.cut(to.position);
      notice("cut off " + std::to_string(end.position - to.position) +
             " bytes of the log, which no client was told of");
    }
    co_return status;
  }
  std::string why = "the end of its log is not the primary's";
  co_return co_await start_over(std::move(why));
}

reactor::Task<Status> Follower::begin_generation(std::uint64_t generation) {
  if (generations_.running() || executor_.now_ns() < next_generation_ns_) co_return Status();
  if (folder_.generation() != 0 && !whole()) co_return co_await become_whole();
  if (generation <= folder_.generation() && !generations_.known()) co_return Status();
  generations_.start([this](const Status& status) {
    if (status.ok()) generation_error_.clear();
    if (status.ok()) return;
    next_generation_ns_ = executor_.now_ns() + options_.silence_ns / 2;
    if (status.code() == kDiskFailed || status.code() == kDiskFull) {
      fatal_ = status;
      if (channel_ != nullptr) channel_->give_up(status);
    } else if (!gate_.closing() && channel_ != nullptr && !channel_->failed()) {
      // Not told(): the next answer of the primary has no regard for it.
      const std::string line = "a checkpoint was not copied, and is tried again: " + status.message();
      if (line != generation_error_) notice(line);
      generation_error_ = line;
    }
  });
  co_return Status();
}

reactor::Task<Status> Follower::become_whole() {
  const Status status = co_await store(PlaceState::follows);
  if (status.ok()) notice("has a whole copy of " + region_name());
  co_return status;
}

}  // namespace namdb::memory
