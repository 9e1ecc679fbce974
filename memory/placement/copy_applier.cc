#include "memory/placement/copy_applier.h"

#include <algorithm>
#include <span>
#include <utility>

namespace namdb::memory {
namespace {

// Of records, without letting others run.
constexpr std::uint64_t kSlice_bytes = 32U << 10;

}  // namespace

CopyApplier::CopyApplier(reactor::Executor& executor, Disk& disk, std::string folder, MakeImage make,
                         std::function<void(const std::string&)> notice, std::uint64_t settle_bytes)
    : executor_(executor),
      disk_(disk),
      folder_(std::move(folder)),
      make_(std::move(make)),
      notice_(std::move(notice)),
      settle_bytes_(settle_bytes),
      changed_(executor) {}

void CopyApplier::start(Log& log) {
  if (!make_ || running_ || gate_.closing()) return;
  running_ = true;
  at_end_ = false;
  log_ = &log;
  feed_ = std::make_unique<LogFeed>(disk_, log, folder_ + "/log");
  feed_->on_block([this] {
    at_end_ = false;
    changed_.notify_all();
  });
  executor_.spawn(gate_, run());
}

reactor::Task<void> CopyApplier::stop() {
  stopping_ = true;
  if (image_ != nullptr && !loaded_) image_->stop();
  changed_.notify_all();
  while (running_) co_await changed_.wait();
  stopping_ = false;
}

reactor::Task<void> CopyApplier::finish() {
  while (running_ && loaded_ && !at_end_ && !gives_up_) co_await changed_.wait();
}

void CopyApplier::give_up() {
  gives_up_ = true;
  changed_.notify_all();
}

bool CopyApplier::has_all(const Log& log) const {
  return loaded_ && (tail_ ? tail_->position : image_->applied()) == log.durable();
}

reactor::Task<void> CopyApplier::close() {
  co_await stop();
  co_await gate_.close();
}

void CopyApplier::cut(LogPosition position) {
  // An open record of the blocks that have gone is forgotten.
  tail_.reset();
  at_end_ = false;
  if (applied() > position || position == 0) drop();
}

std::unique_ptr<CopyImage> CopyApplier::take() {
  if (!loaded_) drop();
  loaded_ = false;
  return std::move(image_);
}

void CopyApplier::drop() {
  loaded_ = at_end_ = false;
  tail_.reset();
  image_.reset();
}

reactor::Task<void> CopyApplier::run() {
  while (!stopping_) {
    const Status status = co_await work();
    if (status.ok()) break;
    drop();
    changed_.notify_all();
    if (stopping_) break;
    if (status.message() != told_ && notice_)
      notice_("the copy is not kept in memory, and would open as after a restart: " + status.message());
    told_ = status.message();
    const std::uint64_t until_ns = executor_.now_ns() + kRetry_ns;
    while (!stopping_ && executor_.now_ns() < until_ns) co_await changed_.wait_until(until_ns);
  }
  feed_.reset();
  log_ = nullptr;
  running_ = false;
  changed_.notify_all();
}

reactor::Task<Status> CopyApplier::load() {
  auto made = make_();
  if (!made.ok()) co_return made.status();
  image_ = std::move(*made);
  Status status = co_await image_->load();
  // Whichever generation was the newest, it was copied with no more.
  next_settled_ = known_ = log_->durable();
  // An image that was told to stop ends its work wherever that comes.
  if (status.ok() && stopping_) status = Status(ErrorCode::admin_shutdown, "the copy was stopped");
  loaded_ = status.ok();
  if (loaded_ && notice_) notice_("has the newest checkpoint in memory, and applies the log to it");
  co_return status;
}

reactor::Task<Status> CopyApplier::work() {
  if (!loaded_) {
    const Status status = co_await load();
    if (!status.ok()) co_return status;
  }
  while (!stopping_) {
    Result<LogFeed::Blocks> found{LogFeed::Blocks()};
    if (tail_) {
      found = co_await feed_->behind(*tail_);
    } else {
      records_.begin_anew();
      found = co_await feed_->from(image_->applied());
    }
    if (!found.ok()) co_return found.status();
    at_end_ = found->kind == LogFeed::Kind::at_end;
    switch (found->kind) {
      case LogFeed::Kind::blocks: {
        LogFeed::Blocks blocks = std::move(*found);
        const Status status = co_await apply(std::move(blocks));
        if (!status.ok()) co_return status;
        break;
      }
      case LogFeed::Kind::at_end:
        told_.clear();
        changed_.notify_all();
        if (!stopping_) co_await changed_.wait();
        break;
      case LogFeed::Kind::differs:
      case LogFeed::Kind::gone:
        co_return Status(ErrorCode::corrupt_data, "the log does not go on where it was applied");
    }
  }
  co_return Status();
}

reactor::Task<Status> CopyApplier::apply(LogFeed::Blocks blocks) {
  std::span<const std::byte> rest = std::as_bytes(std::span(blocks.bytes));
  const std::uint64_t segment_bytes = log_->segment_bytes();
  const std::uint64_t log_id = log_->identity().log_id;
  LogTail tail = blocks.begin;
  // The answer that a commit waits for goes first.
  co_await executor_.yield();
  std::uint64_t until_yield = kSlice_bytes;
  while (!rest.empty()) {
    tail = tail.next_block(segment_bytes);
    const std::uint64_t place = tail.segment * segment_bytes + tail.offset;
    const std::uint64_t length =
        rest.size() < kDiskPage_bytes
            ? 0
            : block_bytes_at(log_id, place, rest.first(kDiskPage_bytes), rest.size());
    const auto block =
        length == 0 ? std::optional<CertifiedBlock>() : certify_block(log_id, place, rest.first(length));
    if (!block || records_.accept(*block) != BlockRecords::Fit::follows)
      co_return Status(ErrorCode::corrupt_data, "a block of the log does not follow the one before it");
    while (const auto record = records_.next()) {
      if (record->begin < image_->applied()) continue;
      const std::uint64_t bytes = record->end - record->begin;
      const Status status = image_->apply(*record);
      if (!status.ok()) co_return status;
      until_yield -= std::min(until_yield, bytes);
      if (until_yield != 0) continue;
      until_yield = kSlice_bytes;
      co_await executor_.yield();
    }
    if (records_.broken())
      co_return Status(ErrorCode::corrupt_data, "a block of the log has something else than records");
    tail = tail_behind(tail, block->header, block->checksum);
    tail_ = tail;
    rest = rest.subspan(length);
  }
  co_return co_await forget_settled();
}

reactor::Task<Status> CopyApplier::forget_settled() {
  const LogPosition applied = image_->applied();
  if (applied < known_ || applied < next_settled_) co_return Status();
  next_settled_ = applied + settle_bytes_;
  while (true) {
    const Result<bool> more = image_->forget_settled();
    if (!more.ok()) co_return more.status();
    if (!*more) co_return Status();
    co_await executor_.yield();
  }
}

}  // namespace namdb::memory
