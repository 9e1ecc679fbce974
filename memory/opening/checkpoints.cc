#include "memory/opening/checkpoints.h"

#include <algorithm>
#include <utility>

#include "memory/opening/checkpoint_state.h"

namespace namdb::memory {
namespace {

// Of the log's bound, that is written between the beginnings of two checkpoints.
constexpr std::uint64_t kLogParts = 4;
// The share of the time until the next checkpoint is due that a spread checkpoint takes.
constexpr double kSpread = 0.8;
// A waiting call looks this often whether its caller is gone.
constexpr std::uint64_t kGoneCheck_ns = 50 * kMillisecond_ns;

Status shutting_down() {
  return Status(ErrorCode::admin_shutdown, "the memory server is shutting down");
}

SweepOptions sweep_options(const ServerState& server, const CheckpointOptions& options,
                           std::function<bool()> hurry, std::function<double()> wanted_share) {
  SweepOptions sweep;
  sweep.rate_bytes = options.rate_bytes;
  sweep.hurry = std::move(hurry);
  sweep.wanted_share = std::move(wanted_share);
  sweep.add_state = [&server](control::CheckpointState& state) { add_checkpoint_state(server, state); };
  return sweep;
}

}  // namespace

Checkpoints::Checkpoints(ServerState& server, Log& log, CheckpointStore& store, SweepLog& sweep_log,
                         CheckpointOptions options)
    : server_(server),
      executor_(server.executor),
      log_(log),
      store_(store),
      options_(std::move(options)),
      chunks_(store),
      sweeper_(executor_, *server.region, server.tables, chunks_, sweep_log,
               sweep_options(
                   server, options_, [this] { return hurried(); }, [this] { return wanted_share(); })),
      begun_position_(chunks_.newest_redo_from().value_or(0)),
      begun_ns_(executor_.now_ns()),
      begun_written_bytes_(log.counters().written_bytes),
      earlier_bytes_(log.appended() > begun_position_ ? log.used_bytes() : 0),
      look_(executor_),
      ended_(executor_) {}

Checkpoints::~Checkpoints() = default;

void Checkpoints::start() {
  server_.checkpoints = this;
  log_.watch([this] {
    look_.notify_all();
    if (short_of_room()) sweeper_.look_again();
  });
  executor_.spawn(gate_, run());
}

void Checkpoints::set_pace(std::uint64_t interval_ns, std::uint64_t rate_bytes) {
  options_.interval_ns = interval_ns;
  sweeper_.set_rate(rate_bytes);
  look_.notify_all();
}

reactor::Task<void> Checkpoints::close() {
  sweeper_.stop();
  log_.watch({});
  log_.resume();
  auto all_ended = gate_.close();
  look_.notify_all();
  ended_.notify_all();
  co_await all_ended;
  server_.checkpoints = nullptr;
}

// --- when ---

std::uint64_t Checkpoints::written_since_bytes() const {
  return log_.counters().written_bytes - begun_written_bytes_ + earlier_bytes_;
}

bool Checkpoints::short_of_room() const {
  return log_.used_bytes() >= log_.max_bytes() / 4 * 3;
}

bool Checkpoints::gives_back() const {
  return chunks_.oldest_redo() < chunks_.newest_redo_from().value_or(0);
}

bool Checkpoints::held() const {
  return std::ranges::any_of(holds_, [this](const auto& hold) { return executor_.now_ns() < hold.second; });
}

bool Checkpoints::due() {
  const std::uint64_t now_ns = executor_.now_ns();
  const bool no_room = short_of_room() || log_.full();
  if (no_room) holds_.clear();
  std::erase_if(holds_, [now_ns](const auto& hold) { return now_ns >= hold.second; });
  if (!holds_.empty()) return false;
  if (asked_ > answered_) return true;
  if (now_ns < retry_ns_) return false;
  const bool grown = log_.appended() != begun_position_;
  if (no_room) return grown || gives_back();
  if (!grown) return false;
  if (written_since_bytes() >= log_.max_bytes() / kLogParts) return true;
  return options_.interval_ns != 0 && now_ns >= begun_ns_ + options_.interval_ns;
}

double Checkpoints::wanted_share() const {
  if (asked_ > answered_) return 1;
  const auto part = [](std::uint64_t done, std::uint64_t whole) {
    return static_cast<double>(done) / static_cast<double>(whole);
  };
  const std::uint64_t written_bytes = log_.counters().written_bytes - started_written_bytes_;
  double share = part(written_bytes, log_.max_bytes() / kLogParts);
  if (options_.interval_ns != 0)
    share = std::max(share, part(executor_.now_ns() - started_ns_, options_.interval_ns));
  return share / kSpread;
}

std::uint64_t Checkpoints::next_look_ns() const {
  const std::uint64_t now_ns = executor_.now_ns();
  std::uint64_t next_ns = ~std::uint64_t{0};
  const auto look_at = [&](std::uint64_t when_ns) {
    if (when_ns > now_ns) next_ns = std::min(next_ns, when_ns);
  };
  for (const auto& [number, until_ns] : holds_) look_at(until_ns);
  look_at(retry_ns_);
  if (options_.interval_ns != 0 && log_.appended() != begun_position_)
    look_at(begun_ns_ + options_.interval_ns);
  return next_ns;
}

reactor::Task<void> Checkpoints::run() {
  while (!gate_.closing() && !failed_) {
    if (due()) {
      co_await make_one();
    } else {
      co_await look_.wait_until(next_look_ns());
    }
  }
}

reactor::Task<void> Checkpoints::make_one() {
  const std::uint64_t asked = asked_;
  const LogPosition position = log_.appended();
  started_written_bytes_ = log_.counters().written_bytes;
  started_ns_ = executor_.now_ns();
  running_ = true;
  const Status status = co_await sweeper_.run();
  running_ = false;
  const std::uint64_t now_ns = executor_.now_ns();
  error_ = status;
  if (status.ok()) {
    ++finished_;
    begun_position_ = position;
    begun_ns_ = started_ns_;
    begun_written_bytes_ = started_written_bytes_;
    earlier_bytes_ = 0;
    ended_ns_ = now_ns;
    duration_ns_ = now_ns - started_ns_;
    written_bytes_ = sweeper_.progress().chunk_bytes;
    retry_ns_ = 0;
    told_full_ = false;
    kept_extents_ = sweeper_.progress().kept_extents;
    stuck_ = sweeper_.progress().stuck;
    if (kept_extents_ != 0) tell_stuck();
    // Before any call learns of the end: the next one may begin at once.
    for (const auto& [number, hold_ns] : wanted_holds_) {
      if (number <= asked) holds_[number] = now_ns + hold_ns;
    }
    // Commits that are not decided keep the log: the next one may give back no more.
    if (short_of_room() && !gives_back()) retry_ns_ = now_ns + kSecond_ns;
  } else {
    abandoned(status);
  }
  std::erase_if(wanted_holds_, [asked](const auto& hold) { return hold.first <= asked; });
  answered_ = asked;
  ended_.notify_all();
}

void Checkpoints::abandoned(const Status& status) {
  if (gate_.closing() && status.code() == ErrorCode::admin_shutdown) return;
  if (status.code() == kDiskFull) {
    if (!told_full_) server_.notice(status.message() + ", and the checkpoint that was made is abandoned");
    told_full_ = true;
    retry_ns_ = executor_.now_ns() + options_.retry_ns;
    return;
  }
  failed_ = true;
  if (options_.on_failure) options_.on_failure(status);
}

void Checkpoints::tell_stuck() {
  const std::uint64_t now_ns = executor_.now_ns();
  if (told_stuck_ns_ != 0 && now_ns < told_stuck_ns_ + options_.stuck_notice_ns) return;
  told_stuck_ns_ = std::max<std::uint64_t>(now_ns, 1);
  std::string line = "checkpoint " + generation_text(store_.newest()->generation) +
                     " keeps an older copy of " + std::to_string(kept_extents_) +
                     (kept_extents_ == 1 ? " extent, and the log" : " extents, and the log") +
                     " from position " + std::to_string(store_.newest()->redo_from) +
                     " on, for what was half-installed all the time:";
  for (const StuckRecord& record : stuck_) {
    line += (&record == stuck_.data() ? " the record at offset " : ", the record at offset ") +
            std::to_string(record.address.offset()) + " of table \"" + record.table + "\", " +
            (record.header.locked() ? "locked by execution slot " + std::to_string(record.header.stamp().slot)
                                    : std::string("not locked"));
  }
  server_.notice(line);
}

// --- calls ---

reactor::Task<Status> Checkpoints::make(std::uint64_t hold_ns, Pace pace, Gone gone,
                                        control::CheckpointReply* reply) {
  if (gate_.closing()) co_return shutting_down();
  gate_.enter();
  const std::uint64_t number = ++asked_;
  if (pace == Pace::fast) {
    asked_fast_ = number;
    sweeper_.look_again();
  }
  if (hold_ns != 0) wanted_holds_[number] = hold_ns;
  look_.notify_all();
  Status status;
  while (answered_ < number && status.ok()) {
    if (failed_) status = error_;
    if (gate_.closing() || gone()) status = shutting_down();
    if (status.ok()) co_await ended_.wait_until(executor_.now_ns() + kGoneCheck_ns);
  }
  if (status.ok()) status = error_;
  if (status.ok()) {
    describe_checkpoint(*reply->mutable_checkpoint());
    if (hold_ns != 0) reply->set_hold(number);
  }
  wanted_holds_.erase(number);
  gate_.leave(executor_);
  co_return status;
}

Status Checkpoints::hold(std::uint64_t hold, std::uint64_t hold_ns) {
  const auto found = holds_.find(hold);
  const std::uint64_t now_ns = executor_.now_ns();
  if (found == holds_.end() || now_ns >= found->second) {
    return Status(ErrorCode::object_not_in_prerequisite_state,
                  "the checkpoint is not held any more: its time is over, or the log is short of room");
  }
  found->second = now_ns + hold_ns;
  if (hold_ns == 0) holds_.erase(found);
  look_.notify_all();
  return Status();
}

reactor::Task<Status> Checkpoints::pause(std::uint64_t pause_ns, control::CheckpointReply* reply) {
  if (gate_.closing()) co_return shutting_down();
  gate_.enter();
  const auto pause = co_await log_.pause(executor_.now_ns() + pause_ns);
  if (pause.ok()) {
    reply->set_position(pause->position);
    reply->set_segment(pause->segment);
    reply->set_segment_offset(pause->offset);
  }
  gate_.leave(executor_);
  co_return pause.ok() ? Status() : pause.status();
}

void Checkpoints::resume(control::CheckpointReply* reply) {
  reply->set_paused(log_.paused());
  log_.resume();
}

// --- for people ---

void Checkpoints::describe_checkpoint(control::CheckpointStatus& checkpoint) const {
  if (const Manifest* const newest = store_.newest()) {
    checkpoint.set_generation(newest->generation);
    checkpoint.set_redo_from(newest->redo_from);
    checkpoint.set_chunks(newest->chunks.size());
    std::uint64_t bytes = 0;
    for (const ChunkRef& chunk : newest->chunks) bytes += chunk.payload_bytes;
    checkpoint.set_bytes(bytes);
  }
  const std::uint64_t now_ns = executor_.now_ns();
  checkpoint.set_finished(finished_);
  if (finished_ != 0) {
    checkpoint.set_age_ns(now_ns - ended_ns_);
    checkpoint.set_duration_ns(duration_ns_);
    checkpoint.set_written_bytes(written_bytes_);
  }
  checkpoint.set_kept_extents(kept_extents_);
  for (const StuckRecord& record : stuck_) {
    control::StuckRecord& added = *checkpoint.add_stuck();
    added.set_table(record.table);
    added.set_address(record.address.value);
    added.set_locked(record.header.locked());
    if (record.header.locked()) added.set_slot(record.header.stamp().slot);
  }
  if (!error_.ok()) checkpoint.set_error(error_.message());
  checkpoint.set_held(held());
  checkpoint.set_running(running_);
  if (!running_) return;
  const SweepProgress& progress = sweeper_.progress();
  checkpoint.set_running_ns(now_ns - started_ns_);
  checkpoint.set_extents(progress.extents);
  checkpoint.set_done_extents(progress.done_extents);
  checkpoint.set_done_bytes(progress.chunk_bytes);
}

void Checkpoints::describe(control::DiskStatus& disk) const {
  const LogCounters& counters = log_.counters();
  disk.set_folder(options_.folder);
  disk.set_position(log_.appended());
  disk.set_durable_position(log_.durable());
  disk.set_records(counters.records);
  disk.set_appended_bytes(counters.appended_bytes);
  disk.set_synced_writes(counters.writes);
  disk.set_written_bytes(counters.written_bytes);
  disk.set_used_bytes(log_.used_bytes());
  disk.set_limit_bytes(log_.max_bytes());
  disk.set_full(log_.out_of_room());
  describe_checkpoint(*disk.mutable_checkpoint());
}

}  // namespace namdb::memory
