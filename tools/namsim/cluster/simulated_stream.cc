#include "tools/namsim/cluster/simulated_stream.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

namespace namdb::sim {

using fabric::sim::SimWorld;
using reactor::Task;

namespace {

Status broken() {
  return Status(ErrorCode::connection_failure, "the simulated stream is closed or broken");
}

// The state that both ends share. Events under way keep it alive, too.
class Link : public std::enable_shared_from_this<Link> {
 public:
  Link(SimWorld& world, reactor::Executor& executor, const StreamOptions& options)
      : world_(world), options_(options), ends_{End(executor), End(executor)} {}

  Task<Result<std::size_t>> read(std::size_t end, char* buffer, std::size_t length_bytes) {
    End& own = ends_[end];
    while (!broken_ && !own.closed && own.arrived.empty() && !own.peer_ended) co_await own.readable.wait();
    if (broken_ || own.closed) co_return broken();
    if (own.arrived.empty()) co_return std::size_t{0};
    const std::size_t most = std::min(length_bytes, own.arrived.size());
    const std::size_t count = std::min<std::size_t>(most, world_.random().between(1, options_.most_bytes));
    std::memcpy(buffer, own.arrived.data(), count);
    own.arrived.erase(0, count);
    co_return count;
  }

  void write(std::size_t end, std::string_view bytes) {
    End& own = ends_[end];
    if (broken_ || own.closed || own.write_shut || bytes.empty()) return;
    const std::size_t pieces =
        world_.random().between(1, std::min<std::uint64_t>(options_.most_pieces, bytes.size()));
    const std::uint64_t cut_at =
        world_.random().chance(options_.cut_probability) ? world_.random().below(pieces) : pieces;
    own.unsent_bytes += bytes.size();
    for (std::size_t piece = 0; piece < pieces; ++piece) {
      const std::size_t length = bytes.size() / (pieces - piece);
      if (piece == cut_at) {
        // Half of it may still arrive.
        arrive_later(end, std::string(bytes.substr(0, world_.random().below(length + 1))));
        later(end, [self = shared_from_this()] { self->break_off(); });
        return;
      }
      arrive_later(end, std::string(bytes.substr(0, length)));
      bytes.remove_prefix(length);
    }
  }

  void shut(std::size_t end) {
    if (std::exchange(ends_[end].write_shut, true)) return;
    later(end, [self = shared_from_this(), end] { self->end_of(end); });
  }

  void close(std::size_t end) {
    End& own = ends_[end];
    if (std::exchange(own.closed, true)) return;
    own.unsent_bytes = 0;
    own.notify();
    later(end, [self = shared_from_this(), end] { self->end_of(end); });
  }

  Task<Status> drain(std::size_t end, std::size_t at_most_bytes) {
    End& own = ends_[end];
    while (!broken_ && !own.closed && own.unsent_bytes > at_most_bytes) co_await own.accepted.wait();
    if (broken_ || own.closed) co_return broken();
    co_return Status();
  }

  bool peer_gone(std::size_t end) const { return broken_ || ends_[end].closed || ends_[end].peer_ended; }
  bool closed(std::size_t end) const { return ends_[end].closed; }
  std::size_t unsent_bytes(std::size_t end) const { return ends_[end].unsent_bytes; }

 private:
  struct End {
    explicit End(reactor::Executor& executor) : readable(executor), accepted(executor) {}
    void notify() {
      readable.notify_all();
      accepted.notify_all();
    }
    std::string arrived;  // from the peer, and not read yet
    bool peer_ended = false;
    bool closed = false;
    bool write_shut = false;
    std::size_t unsent_bytes = 0;
    std::uint64_t last_ns = 0;  // at which something that was written here arrives
    reactor::Event readable;
    reactor::Event accepted;
  };

  template <typename Function>
  void later(std::size_t end, Function function) {
    End& own = ends_[end];
    own.last_ns = std::max(own.last_ns, world_.now_ns()) + 1 + options_.piece.draw(world_.random());
    world_.at(own.last_ns, std::move(function));
  }

  void arrive_later(std::size_t end, std::string piece) {
    later(end, [self = shared_from_this(), end, piece = std::move(piece)] { self->arrive(end, piece); });
  }

  void arrive(std::size_t from, const std::string& piece) {
    End& sender = ends_[from];
    End& receiver = ends_[1 - from];
    if (broken_ || sender.closed) return;  // what a closed end had not sent yet is dropped
    sender.unsent_bytes -= piece.size();
    receiver.arrived += piece;
    sender.accepted.notify_all();
    receiver.readable.notify_all();
  }

  void end_of(std::size_t from) {
    ends_[1 - from].peer_ended = true;
    ends_[1 - from].readable.notify_all();
  }

  void break_off() {
    broken_ = true;
    for (End& end : ends_) end.notify();
  }

  SimWorld& world_;
  const StreamOptions options_;
  std::array<End, 2> ends_;
  bool broken_ = false;
};

class SimulatedStream final : public reactor::ByteStream {
 public:
  SimulatedStream(std::shared_ptr<Link> link, std::size_t end) : link_(std::move(link)), end_(end) {}
  ~SimulatedStream() override { link_->close(end_); }

  Task<Result<std::size_t>> read_some(char* buffer, std::size_t length_bytes) override {
    return link_->read(end_, buffer, length_bytes);
  }
  void write(std::string_view bytes) override { link_->write(end_, bytes); }
  std::size_t unsent_bytes() const override { return link_->unsent_bytes(end_); }
  Task<Status> drain(std::size_t at_most_bytes) override { return link_->drain(end_, at_most_bytes); }
  void shutdown_write() override { link_->shut(end_); }
  void close() override { link_->close(end_); }
  bool closed() const override { return link_->closed(end_); }
  bool peer_gone() const override { return link_->peer_gone(end_); }
  const std::string& peer() const override { return peer_; }
  bool peer_is_local() const override { return true; }

 private:
  std::shared_ptr<Link> link_;
  std::size_t end_;
  std::string peer_ = "simulated";
};

}  // namespace

StreamOptions StreamOptions::swarm(Random& random) {
  StreamOptions options;
  options.piece.spread_ns = std::array<std::uint64_t, 3>{0, 10'000, 200'000}[random.below(3)];
  options.piece.tail_probability = random.chance(0.5) ? 0 : 0.02;
  options.piece.tail_ns = 20 * kMillisecond_ns;
  options.most_pieces = std::array<std::uint64_t, 3>{1, 3, 20}[random.below(3)];
  options.most_bytes = std::array<std::uint64_t, 4>{1, 7, 100, 64U << 10}[random.below(4)];
  options.cut_probability = std::array{0.0, 0.002, 0.02}[random.below(3)];
  return options;
}

StreamPair connect_streams(SimWorld& world, reactor::Executor& executor, const StreamOptions& options) {
  const auto link = std::make_shared<Link>(world, executor, options);
  return {std::make_unique<SimulatedStream>(link, 0), std::make_unique<SimulatedStream>(link, 1)};
}

}  // namespace namdb::sim
