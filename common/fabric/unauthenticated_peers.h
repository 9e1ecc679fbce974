// Connections whose peers have not authenticated themselves yet. They hold few seats, and none of them for
// good: when all are taken, the newest gets that of the oldest. So connections that stay silent keep no
// member out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>

namespace namdb::fabric {

class UnauthenticatedPeers {
 public:
  // Held until the peer has proven itself, or is refused. The UnauthenticatedPeers outlives it.
  class Seat {
   public:
    Seat(UnauthenticatedPeers& peers, std::uint64_t number) : peers_(&peers), number_(number) {}
    Seat(const Seat&) = delete;
    Seat& operator=(const Seat&) = delete;
    ~Seat() { leave(); }
    void leave() { peers_->seats_.erase(number_); }

   private:
    UnauthenticatedPeers* peers_;
    std::uint64_t number_;
  };

  explicit UnauthenticatedPeers(std::size_t limit) : limit_(limit) {}

  // `evict` breaks the connection off; it is called at most once, and not after the seat was left.
  Seat enter(std::function<void()> evict) {
    if (seats_.size() >= limit_) {
      const auto oldest = seats_.begin();
      const std::function<void()> break_off = std::move(oldest->second);
      seats_.erase(oldest);
      break_off();
    }
    seats_.emplace(next_, std::move(evict));
    return Seat(*this, next_++);
  }

  std::size_t count() const { return seats_.size(); }

 private:
  const std::size_t limit_;
  std::uint64_t next_ = 0;
  std::map<std::uint64_t, std::function<void()>> seats_;  // oldest first
};

}  // namespace namdb::fabric
