// On disk are entries before they are installed, and all that a checkpoint needs before it counts; redo and
// the next sweep make up for what a sweep did not see. The runs are crashes (scenario/crash_run.h), each of
// whose moments is a seed.
#include <algorithm>
#include <utility>

#include "common/calls/journal_calls.h"
#include "tools/namsim/mutants/mutants.h"

namespace namdb::sim {
namespace {

using memory::DiskFile;
using reactor::Task;

// A commit is installed and acknowledged though its entry may be in the ring only.
class InstalledBeforeFlushed final : public Mutant {
 public:
  Task<Status> on_call(fabric::Service* inner, std::size_t server, fabric::PeerId peer, std::uint16_t method,
                       std::string_view request, std::string* reply) override {
    static_cast<void>(server);
    const auto flush = calls::decode_flush(request);
    if (method != calls::kFlushMethod || !flush)
      co_return co_await inner->on_call(peer, method, request, *reply);
    *reply = calls::encode(calls::FlushReply{.durable_position = flush->position});
    co_return Status();
  }
};

// How a disk deceives.
struct Deceit {
  bool blocks = false;   // writes of the log arrive and are not durable
  bool files = false;    // sync of a file does nothing
  bool folders = false;  // likewise of a folder
};

class DeceitfulFile final : public DiskFile {
 public:
  DeceitfulFile(std::unique_ptr<DiskFile> file, Deceit deceit) : file_(std::move(file)), deceit_(deceit) {}
  std::uint64_t length_bytes() const override { return file_->length_bytes(); }
  Task<Status> read(std::uint64_t offset, std::span<std::byte> into) override {
    return file_->read(offset, into);
  }
  Task<Status> write(std::uint64_t offset, std::span<const std::byte> bytes) override {
    return file_->write(offset, bytes);
  }
  Task<Status> write_durably(std::uint64_t offset, std::span<const std::byte> bytes) override {
    return deceit_.blocks ? file_->write(offset, bytes) : file_->write_durably(offset, bytes);
  }
  Task<Status> sync() override {
    if (deceit_.files) co_return Status();
    co_return co_await file_->sync();
  }

 private:
  std::unique_ptr<DiskFile> file_;
  Deceit deceit_;
};

class DeceitfulDisk final : public memory::Disk {
 public:
  DeceitfulDisk(memory::Disk& disk, Deceit deceit) : disk_(disk), deceit_(deceit) {}
  reactor::Executor& executor() override { return disk_.executor(); }
  Task<Result<std::vector<std::string>>> list(std::string folder) override {
    return disk_.list(std::move(folder));
  }
  Task<Result<std::unique_ptr<DiskFile>>> create(std::string path, std::uint64_t length_bytes) override {
    auto file = co_await disk_.create(std::move(path), length_bytes);
    co_return deceive(std::move(file));
  }
  Task<Result<std::unique_ptr<DiskFile>>> open(std::string path) override {
    auto file = co_await disk_.open(std::move(path));
    co_return deceive(std::move(file));
  }
  Task<Status> rename(std::string from, std::string to) override {
    return disk_.rename(std::move(from), std::move(to));
  }
  Task<Status> remove(std::string path) override { return disk_.remove(std::move(path)); }
  Task<Status> make_folder(std::string path) override { return disk_.make_folder(std::move(path)); }
  Task<Status> sync_folder(std::string path) override {
    if (deceit_.folders) co_return Status();
    co_return co_await disk_.sync_folder(std::move(path));
  }

 private:
  Result<std::unique_ptr<DiskFile>> deceive(Result<std::unique_ptr<DiskFile>> file) const {
    if (!file.ok()) return file;
    std::unique_ptr<DiskFile> deceitful = std::make_unique<DeceitfulFile>(std::move(file).value(), deceit_);
    return deceitful;
  }

  memory::Disk& disk_;
  Deceit deceit_;
};

template <bool Deceit::* Part>
class Deceived final : public Mutant {
 public:
  std::unique_ptr<memory::Disk> disk(std::size_t server, memory::Disk& disk) override {
    static_cast<void>(server);
    Deceit deceit;
    deceit.*Part = true;
    return std::make_unique<DeceitfulDisk>(disk, deceit);
  }
};

// A sweep's log, for doubles that change a part of what it does.
class AlteredSweepLog : public memory::SweepLog {
 public:
  explicit AlteredSweepLog(memory::SweepLog& sweep) : sweep_(sweep) {}
  std::uint64_t redo_start() override { return sweep_.redo_start(); }
  void mark_unfinished(memory::ChangedExtents& changed) override { sweep_.mark_unfinished(changed); }
  Task<Status> flush() override { return sweep_.flush(); }
  Task<Status> reclaim(std::uint64_t oldest) override { return sweep_.reclaim(oldest); }

 private:
  memory::SweepLog& sweep_;
};

// Redo begins at the log's end as it is when the sweep begins, whatever is not installed yet.
class RedoFromTheEnd final : public Mutant {
 public:
  std::unique_ptr<memory::SweepLog> sweep_log(std::size_t server, memory::Log& log,
                                              memory::SweepLog& sweep) override {
    static_cast<void>(server);
    return std::make_unique<Late>(log, sweep);
  }

 private:
  class Late final : public AlteredSweepLog {
   public:
    Late(memory::Log& log, memory::SweepLog& sweep) : AlteredSweepLog(sweep), log_(log) {}
    std::uint64_t redo_start() override { return log_.appended(); }

   private:
    memory::Log& log_;
  };
};

// A sweep counts on the next one for nothing: extents with entries that are not installed yet are not marked.
class UnfinishedNotMarked final : public Mutant {
 public:
  std::unique_ptr<memory::SweepLog> sweep_log(std::size_t server, memory::Log& log,
                                              memory::SweepLog& sweep) override {
    static_cast<void>(server);
    static_cast<void>(log);
    return std::make_unique<Unmarked>(sweep);
  }

 private:
  class Unmarked final : public AlteredSweepLog {
   public:
    using AlteredSweepLog::AlteredSweepLog;
    void mark_unfinished(memory::ChangedExtents&) override {}
  };
};

constexpr CrashCase kQuietLossOfPower{CrashVictim::all_machines, 500, 4 * kMillisecond_ns};

}  // namespace

std::vector<MutantCase> durability_mutants() {
  return {
      {"a commit is installed before its entry is on disk", "compute/commit/commit.cc",
       CrashCase{CrashVictim::all}, 46, "was acknowledged and is lost", make_mutant<InstalledBeforeFlushed>},
      {"the log's writes are not durable when they end", "memory/log/log.cc",
       CrashCase{CrashVictim::all_machines}, 1, "does not open", make_mutant<Deceived<&Deceit::blocks>>},
      {"redo begins behind an entry that was not installed when the sweep began",
       "memory/journals/checkpoint_log.cc", CrashCase{CrashVictim::all_machines, 600}, 4,
       "was erased by no commit", make_mutant<RedoFromTheEnd>},
      {"a sweep does not read again what may have been installed behind the last one",
       "memory/checkpoint/sweeper.cc", kQuietLossOfPower, 6, "was acknowledged and is lost",
       make_mutant<UnfinishedNotMarked>},
      {"a checkpoint counts before its files are durable", "memory/log/checkpoint_store.cc",
       CrashCase{CrashVictim::all_machines}, 1, "does not open", make_mutant<Deceived<&Deceit::files>>},
      {"a checkpoint counts before its name is durable", "memory/log/checkpoint_store.cc",
       CrashCase{CrashVictim::all_machines}, 1, "does not open", make_mutant<Deceived<&Deceit::folders>>},
  };
}

}  // namespace namdb::sim
