// The heap of coming events in virtual time. Events of equal time happen in the order in which they were
// added, so that a run depends on the seed alone. Events are pooled by their owners: nothing is allocated for
// one in steady state.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <vector>

#include "common/base/check.h"

namespace namdb::fabric::sim {

class Event {
 public:
  Event() = default;
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  virtual void fire() = 0;

 protected:
  ~Event() = default;
};

class EventQueue {
 public:
  bool empty() const { return heap_.empty(); }
  // Needs !empty().
  std::uint64_t next_time_ns() const { return heap_.front().time_ns; }

  void add(std::uint64_t time_ns, Event& event) {
    heap_.push_back({time_ns, sequence_++, &event});
    std::push_heap(heap_.begin(), heap_.end(), Later{});
  }
  Event& pop() {
    NAMDB_CHECK(!heap_.empty());
    std::pop_heap(heap_.begin(), heap_.end(), Later{});
    Event& event = *heap_.back().event;
    heap_.pop_back();
    return event;
  }

 private:
  struct Entry {
    std::uint64_t time_ns;
    std::uint64_t sequence;
    Event* event;
  };
  struct Later {
    bool operator()(const Entry& a, const Entry& b) const {
      return a.time_ns != b.time_ns ? a.time_ns > b.time_ns : a.sequence > b.sequence;
    }
  };
  std::vector<Entry> heap_;
  std::uint64_t sequence_ = 0;
};

// Objects with stable addresses that are used again. The taker sets every field.
template <typename T>
class ObjectPool {
 public:
  T& take() {
    if (free_.empty()) return objects_.emplace_back();
    T& object = *free_.back();
    free_.pop_back();
    return object;
  }
  void give_back(T& object) { free_.push_back(&object); }

 private:
  std::deque<T> objects_;
  std::vector<T*> free_;
};

}  // namespace namdb::fabric::sim
