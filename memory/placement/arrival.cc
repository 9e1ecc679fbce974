#include "memory/placement/arrival.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "common/base/check.h"
#include "common/calls/protocol_version.h"
#include "memory/log/manifest.h"

namespace namdb::memory {

using placement::FilesReply;
using placement::MoveState;
using placement::Part;

namespace {

constexpr std::uint64_t kRenewals = 6;  // of a hold's time

// Of the disk, whose state is not known then.
bool is_fatal(const Status& status) {
  return !status.ok() && status.code() == ErrorCode::io_error;
}

std::uint64_t random_claim(reactor::Executor& executor) {
  std::uint64_t claim = 0;
  while (claim == 0) claim = executor.random().next();
  return claim;
}

}  // namespace

Arrival::Arrival(reactor::Executor& executor, Disk& disk, fabric::ClientFabric& fabric,
                 placement::MakeHello make_hello, PlaceKeeper& keeper, ArrivalOptions options)
    : executor_(executor),
      disk_(disk),
      fabric_(fabric),
      make_hello_(std::move(make_hello)),
      keeper_(keeper),
      options_(std::move(options)),
      changed_(executor) {
  NAMDB_CHECK(keeper.record().state == PlaceState::vacant || keeper.record().state == PlaceState::whole);
}

void Arrival::start() {
  executor_.spawn(gate_, run());
}

Status Arrival::order(const placement::MoveRequest& request) {
  const PlaceRecord& record = keeper_.record();
  const std::string busy = order_                              ? order_->from
                           : record.state == PlaceState::whole ? record.from
                                                               : std::string();
  if (!busy.empty() && busy != request.from) {
    return Status(ErrorCode::object_not_in_prerequisite_state,
                  "this host takes over the region that is at " + busy);
  }
  if (!busy.empty() || here()) return Status();
  order_ = request;
  error_ = Status();
  changed_.notify_all();
  return Status();
}

placement::MoveReply Arrival::progress() const {
  placement::MoveReply reply;
  const PlaceRecord& record = keeper_.record();
  reply.state = record.state == PlaceState::here    ? MoveState::here
                : record.state == PlaceState::whole ? MoveState::claims
                : order_                            ? MoveState::copies
                                                    : MoveState::waits;
  reply.server_id = options_.server_id;
  reply.from = order_ ? order_->from : record.from;
  reply.copied_bytes = copied_bytes_;
  reply.total_bytes = total_bytes_;
  if (began_ns_ != 0) reply.duration_ns = (ended_ns_ != 0 ? ended_ns_ : executor_.now_ns()) - began_ns_;
  reply.rounds = rounds_;
  reply.error = error_.ok() ? "" : error_.message();
  return reply;
}

reactor::Task<Status> Arrival::ended() {
  while (!here() && failure_.ok() && !gate_.closing()) co_await changed_.wait();
  co_return failure_;
}

reactor::Task<void> Arrival::close() {
  auto all_ended = gate_.close();
  changed_.notify_all();
  if (channel_ != nullptr) channel_->give_up(stopped());
  co_await all_ended;
  channel_.reset();
}

Status Arrival::stopped() const {
  return Status(ErrorCode::admin_shutdown, "the memory server was told to end while a region came");
}

void Arrival::notice(const std::string& line) const {
  if (options_.notice) options_.notice(line);
}

reactor::Task<void> Arrival::run() {
  while (!gate_.closing() && !here() && failure_.ok()) {
    if (order_ || keeper_.record().state == PlaceState::whole) {
      co_await move();
    } else {
      co_await changed_.wait();
    }
  }
  changed_.notify_all();
}

reactor::Task<void> Arrival::move() {
  Status status;
  if (keeper_.record().state == PlaceState::whole) {
    status = co_await claim();
  } else {
    began_ns_ = executor_.now_ns();
    ended_ns_ = copied_bytes_ = total_bytes_ = rounds_ = 0;
    notice("takes over the region of memory server " + std::to_string(options_.server_id) + " from " +
           order_->from);
    status = co_await clear();
    while (status.ok()) {
      status = co_await copy();
      if (status.ok()) status = co_await claim();
      // The pause was over: once more.
      const bool again = !status.ok() && status.code() == ErrorCode::object_not_in_prerequisite_state &&
                         channel_ != nullptr && !channel_->failed() && rounds_ < options_.rounds;
      if (!again || gate_.closing()) break;
      status = Status();
    }
    ended_ns_ = executor_.now_ns();
  }
  if (!status.ok() && channel_ != nullptr && !channel_->failed() && !gate_.closing()) co_await go_on();
  channel_.reset();
  segments_.clear();
  order_.reset();
  error_ = status;
  if (is_fatal(status)) failure_ = status;
  if (!status.ok() && !gate_.closing()) notice("the region does not come: " + status.message());
  changed_.notify_all();
}

reactor::Task<Status> Arrival::connect() {
  if (channel_ != nullptr && !channel_->failed()) co_return Status();
  channel_.reset();
  hold_ = 0;
  std::string hello = make_hello_();
  std::string bytes;
  auto channel = co_await fabric_.connect(order_->from, std::move(hello), &bytes);
  if (!channel.ok()) co_return channel.status();
  control::Welcome welcome;
  if (!welcome.ParseFromString(bytes) || welcome.protocol_version() != calls::kProtocolVersion) {
    co_return Status(ErrorCode::protocol_violation, "another version of namdb is at " + order_->from,
                     "run the same namdb version everywhere");
  }
  if (welcome.server_id() != options_.server_id || welcome.server_count() != options_.server_count) {
    co_return Status(ErrorCode::configuration,
                     "memory server " + std::to_string(welcome.server_id()) + " of " +
                         std::to_string(welcome.server_count()) + " is at " + order_->from + ", not " +
                         std::to_string(options_.server_id) + " of " + std::to_string(options_.server_count),
                     "start this host with the --server-id and --server-count of the region that is to come");
  }
  if (welcome.epoch() == 0)
    co_return Status(ErrorCode::configuration, "the host at " + order_->from + " has no region");
  channel_ = std::move(*channel);
  co_return Status();
}

reactor::Task<Result<std::string>> Arrival::call(std::uint16_t method, std::string request) {
  if (gate_.closing()) co_return stopped();
  fabric::Call call;
  call.method = method;
  call.request = std::move(request);
  channel_->post(call);
  co_await call.done();
  if (call.status().ok()) co_return std::move(call.reply);
  // Only an error of this host's disk ends the process.
  const ErrorCode code =
      is_fatal(call.status()) ? ErrorCode::object_not_in_prerequisite_state : call.status().code();
  co_return Status(code, order_->from + ": " + call.status().message(), call.status().hint());
}

reactor::Task<Result<control::CheckpointReply>> Arrival::checkpoint(control::CheckpointRequest request) {
  const auto bytes = co_await call(control::CHECKPOINT, request.SerializeAsString());
  if (!bytes.ok()) co_return bytes.status();
  control::CheckpointReply reply;
  if (!reply.ParseFromString(*bytes))
    co_return Status(ErrorCode::protocol_violation, order_->from + " answered nonsense");
  co_return std::move(reply);
}

reactor::Task<Status> Arrival::renew_in_time() {
  if (executor_.now_ns() - renewed_ns_ < options_.hold_ns / kRenewals) co_return Status();
  co_return co_await renew();
}

reactor::Task<Status> Arrival::renew() {
  control::CheckpointRequest request;
  request.set_step(control::CHECKPOINT_HOLD);
  request.set_hold(hold_);
  request.set_hold_ns(options_.hold_ns);
  const auto reply = co_await checkpoint(std::move(request));
  renewed_ns_ = executor_.now_ns();
  co_return reply.status();
}

reactor::Task<Status> Arrival::clear() {
  checkpoint_files_.clear();
  segments_.clear();
  log_position_ = database_id_ = 0;
  if (Status status = co_await store(PlaceState::vacant); !status.ok()) co_return status;
  for (const Part part : {Part::checkpoint, Part::log}) {
    const std::string path = folder(part);
    if (Status status = co_await disk_.make_folder(path); !status.ok()) co_return status;
    Files none;
    if (Status status = co_await remove_others(part, std::move(none)); !status.ok()) co_return status;
  }
  co_return Status();
}

reactor::Task<Status> Arrival::copy() {
  Status status;
  while (rounds_ < options_.rounds) {
    ++rounds_;
    status = co_await connect();
    if (status.ok()) status = co_await copy_round();
    // A file or a hold that is gone, or a pause that was too short, does not end the arrival.
    if (status.ok() || is_fatal(status) || gate_.closing() || status.code() == ErrorCode::disk_full ||
        status.code() == ErrorCode::configuration)
      break;
    notice("another round: " + status.message());
    if (channel_ != nullptr && !channel_->failed()) co_await go_on();
  }
  co_return status;
}

reactor::Task<Status> Arrival::copy_round() {
  // The places that the old host knows, with its own number.
  const auto places = co_await call(placement::kConfigurationMethod, "");
  if (!places.ok()) co_return places.status();
  const auto known = placement::Configuration::decode(*places);
  if (!known) co_return Status(ErrorCode::protocol_violation, order_->from + " answered nonsense");
  known_places_ = *known;
  control::CheckpointRequest make;
  make.set_step(control::CHECKPOINT_MAKE);
  make.set_hold_ns(options_.hold_ns);
  const auto made = co_await checkpoint(std::move(make));
  if (!made.ok()) co_return made.status();
  hold_ = made->hold();
  renewed_ns_ = executor_.now_ns();
  Status status = co_await copy_checkpoint();
  FilesReply end;
  for (std::uint32_t look = 0; status.ok() && look < options_.looks; ++look) {
    const std::uint64_t before = log_position_;
    status = co_await copy_log(&end);
    if (log_position_ - before < options_.near_bytes) break;
  }
  if (!status.ok()) co_return status;
  if (Status synced = co_await sync_log(); !synced.ok()) co_return synced;
  if (Status held = co_await renew(); !held.ok()) co_return held;
  control::CheckpointRequest pause;
  pause.set_step(control::CHECKPOINT_PAUSE);
  pause.set_pause_ns(options_.pause_ns);
  const std::uint64_t paused_ns = executor_.now_ns();
  const auto paused = co_await checkpoint(std::move(pause));
  if (!paused.ok()) co_return paused.status();
  paused_ns_ = paused_ns;
  if (Status copied = co_await copy_log(&end); !copied.ok()) co_return copied;
  if (end.position != paused->position())
    co_return Status(ErrorCode::object_not_in_prerequisite_state, "the pause of the log was over too soon");
  // The hold has lasted until here: of the log nothing is gone that the checkpoint needs.
  if (Status held = co_await renew(); !held.ok()) co_return held;
  if (Status synced = co_await sync_log(); !synced.ok()) co_return synced;
  co_return co_await store(PlaceState::whole);
}

reactor::Task<void> Arrival::go_on() {
  control::CheckpointRequest resume;
  resume.set_step(control::CHECKPOINT_RESUME);
  static_cast<void>(co_await checkpoint(std::move(resume)));
  control::CheckpointRequest release;
  release.set_step(control::CHECKPOINT_HOLD);
  release.set_hold(hold_);
  release.set_hold_ns(0);
  static_cast<void>(co_await checkpoint(std::move(release)));
}

reactor::Task<Result<Arrival::Files>> Arrival::list(Part part, FilesReply* end) {
  Files files;
  placement::FilesRequest request{part, ""};
  bool first = true;
  while (true) {
    const auto bytes = co_await call(placement::kFilesMethod, encode(request));
    if (!bytes.ok()) co_return bytes.status();
    auto reply = placement::decode_files_reply(*bytes);
    if (!reply) co_return Status(ErrorCode::protocol_violation, order_->from + " answered nonsense");
    for (const placement::FileFacts& file : reply->files) {
      const bool fits = part == Part::log ? segment_number(file.name).has_value()
                                          : manifest_generation(file.name) || parse_chunk_name(file.name);
      if (!fits || file.name <= request.after)
        co_return Status(ErrorCode::protocol_violation, order_->from + " names files that no database has");
      files.emplace(file.name, file.length_bytes);
      request.after = file.name;
    }
    if (database_id_ == 0) database_id_ = reply->database_id;
    if (database_id_ == 0 || reply->database_id != database_id_)
      co_return Status(ErrorCode::configuration, order_->from + " has another database than before");
    const bool more = reply->more;
    // The first part's end counts: files that come behind it are newer.
    if (first) *end = std::move(*reply);
    first = false;
    if (!more) co_return std::move(files);
  }
}

reactor::Task<Status> Arrival::copy_checkpoint() {
  FilesReply end;
  const auto files = co_await list(Part::checkpoint, &end);
  if (!files.ok()) co_return files.status();
  total_bytes_ = copied_bytes_ + (end.position - std::min(end.position, log_position_));
  for (const auto& [name, length] : *files) {
    if (!checkpoint_files_.contains(name)) total_bytes_ += length;
  }
  const std::string to = folder(Part::checkpoint);
  std::vector<std::string> copied;
  for (const auto& [name, length] : *files) {
    if (checkpoint_files_.contains(name)) continue;
    const std::string path = to + "/" + name;
    auto file = co_await disk_.create(path, length);
    if (!file.ok()) co_return file.status();
    std::string copied_name = name;
    Status status = co_await copy_bytes(Part::checkpoint, std::move(copied_name), file->get(), 0, length);
    if (!status.ok()) co_return status;
    if (Status synced = co_await (*file)->sync(); !synced.ok()) co_return synced;
    copied.push_back(name);
  }
  // Without the hold a file may have been copied while it was written.
  Status held = co_await renew();
  if (!held.ok()) co_return held;
  checkpoint_files_.insert(copied.begin(), copied.end());
  Files kept = *files;
  const Status status = co_await remove_others(Part::checkpoint, std::move(kept));
  if (!status.ok()) co_return status;
  std::erase_if(checkpoint_files_, [&files](const std::string& name) { return !files->contains(name); });
  co_return co_await disk_.sync_folder(to);
}

reactor::Task<Status> Arrival::copy_log(FilesReply* end) {
  *end = FilesReply();
  const auto files = co_await list(Part::log, end);
  if (!files.ok()) co_return files.status();
  const FilesReply upto = *end;
  if (upto.position < log_position_)
    co_return Status(ErrorCode::corrupt_data, order_->from + " has lost a part of its log");
  Files kept;
  for (const auto& [name, length] : *files) {
    const std::uint64_t number = *segment_number(name);
    if (number > upto.segment) continue;
    kept.emplace(name, length);
    Segment& segment = segments_[number];
    if (segment.file == nullptr) {
      const std::string path = folder(Part::log) + "/" + name;
      auto file = co_await disk_.create(path, length);
      if (!file.ok()) co_return file.status();
      segment.file = std::move(*file);
    }
    const std::uint64_t limit = number == upto.segment ? upto.offset : length;
    if (limit > length) co_return Status(ErrorCode::protocol_violation, order_->from + " answered nonsense");
    if (limit <= segment.copied_bytes) continue;
    std::string copied_name = name;
    const Status status = co_await copy_bytes(Part::log, std::move(copied_name), segment.file.get(),
                                              segment.copied_bytes, limit);
    if (!status.ok()) co_return status;
    segment.copied_bytes = limit;
  }
  if (!kept.contains(segment_name(upto.segment)))
    co_return Status(ErrorCode::protocol_violation, order_->from + " does not name the log's last segment");
  std::erase_if(segments_,
                [&kept](const auto& segment) { return !kept.contains(segment_name(segment.first)); });
  log_position_ = upto.position;
  total_bytes_ = std::max(total_bytes_, copied_bytes_);
  co_return co_await remove_others(Part::log, std::move(kept));
}

reactor::Task<Status> Arrival::copy_bytes(Part part, std::string name, DiskFile* file, std::uint64_t from,
                                          std::uint64_t to) {
  PageBuffer piece(options_.piece_bytes);
  while (from < to) {
    const auto length = static_cast<std::uint32_t>(std::min<std::uint64_t>(to - from, options_.piece_bytes));
    const placement::ReadFileRequest request{part, name, from, length};
    const auto bytes = co_await call(placement::kReadFileMethod, encode(request));
    if (!bytes.ok()) co_return bytes.status();
    if (bytes->size() != length)
      co_return Status(ErrorCode::protocol_violation, order_->from + " answered nonsense");
    std::ranges::copy(std::as_bytes(std::span(*bytes)), piece.data());
    Status status = co_await file->write(from, piece.span().first(length));
    if (!status.ok()) co_return status;
    if (Status held = co_await renew_in_time(); !held.ok()) co_return held;
    from += length;
    copied_bytes_ += length;
  }
  co_return Status();
}

reactor::Task<Status> Arrival::sync_log() {
  for (const auto& [number, segment] : segments_) {
    Status status = co_await segment.file->sync();
    if (!status.ok()) co_return status;
  }
  const std::string path = folder(Part::log);
  co_return co_await disk_.sync_folder(path);
}

reactor::Task<Status> Arrival::remove_others(Part part, Files kept) {
  const std::string path = folder(part);
  const auto names = co_await disk_.list(path);
  if (!names.ok()) co_return names.status();
  for (const std::string& name : *names) {
    if (kept.contains(name)) continue;
    std::string removed = path + "/" + name;
    Status status = co_await disk_.remove(std::move(removed));
    if (!status.ok()) co_return status;
  }
  co_return Status();
}

reactor::Task<Status> Arrival::store(PlaceState state) {
  PlaceRecord record = keeper_.record();
  record.state = state;
  record.claim = state == PlaceState::whole ? random_claim(executor_) : 0;
  record.position = state == PlaceState::whole ? log_position_ : 0;
  record.database_id = state == PlaceState::whole ? database_id_ : 0;
  record.from = state == PlaceState::whole ? order_->from : "";
  record.address = state == PlaceState::whole ? order_->address : "";
  if (state == PlaceState::whole) record.configuration.learn(known_places_);
  co_return co_await keeper_.store(std::move(record));
}

reactor::Task<Status> Arrival::claim() {
  const PlaceRecord record = keeper_.record();
  const std::string request =
      encode(placement::HandOverRequest{record.claim, record.position, record.address});
  const std::uint64_t patient_ns = executor_.now_ns() + options_.hurry_ns;
  std::string told;
  while (true) {
    if (gate_.closing()) co_return stopped();
    std::string hello = make_hello_();
    std::string bytes = request;
    auto reply = co_await placement::call_once(&executor_, &fabric_, record.from, std::move(hello),
                                               placement::kHandOverMethod, std::move(bytes));
    if (reply.ok()) {
      const auto configuration = placement::Configuration::decode(*reply);
      PlaceRecord next = keeper_.record();
      if (configuration && next.configuration.learn(*configuration) &&
          next.configuration.place(options_.server_id).address == record.address) {
        next.state = PlaceState::here;
        next.database_id = record.database_id;
        co_return co_await keeper_.store(std::move(next));
      }
      reply = Status(ErrorCode::protocol_violation, "it answered nonsense");
    }
    if (reply.status().code() == ErrorCode::object_not_in_prerequisite_state) {
      const Status status = co_await store(PlaceState::vacant);
      co_return status.ok() ? reply.status() : status;
    }
    if (reply.status().message() != told && reply.status().code() != ErrorCode::cannot_connect_now)
      notice("asks " + record.from + " for the region: " + reply.status().message());
    told = reply.status().message();
    const std::uint64_t now_ns = executor_.now_ns();
    co_await changed_.wait_until(
        now_ns + (now_ns < patient_ns ? options_.ask_again_ns : options_.longest_ask_again_ns));
  }
}

}  // namespace namdb::memory
