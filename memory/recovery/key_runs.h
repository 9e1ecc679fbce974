// The keys of an index on their way into its pages: kept in runs, each sorted when it is full, and merged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <queue>
#include <string>
#include <string_view>
#include <vector>

namespace namdb::memory {

class KeyRuns {
 public:
  // Keys of a run: sorting one takes some milliseconds.
  static constexpr std::size_t kRun_keys = 1U << 14;

  // In any order. True if a run was sorted: time to let others run.
  bool add(std::string_view key);
  // No more keys come; those of the last run are sorted.
  void finish();

 private:
  friend class KeyMerge;
  struct Run {
    std::string bytes;
    struct Place {
      std::uint32_t offset;
      std::uint32_t length;
    };
    std::vector<Place> places;
    std::string_view key(std::size_t i) const {
      return std::string_view(bytes).substr(places[i].offset, places[i].length);
    }
    void sort();
  };
  std::vector<Run> runs_;  // all but the last are sorted; all of them when finished
  bool open_ = false;      // the last one takes keys
};

// All keys of some finished runs, which stay, in ascending order.
class KeyMerge {
 public:
  explicit KeyMerge(const std::vector<const KeyRuns*>& sources);

  bool done() const { return heads_.empty(); }
  std::string_view key() const { return heads_.top().key; }
  void next();

 private:
  struct Head {
    std::string_view key;
    const KeyRuns::Run* run;
    std::size_t position;
    bool operator<(const Head& other) const { return key > other.key; }  // the least is at the top
  };
  std::priority_queue<Head> heads_;
};

}  // namespace namdb::memory
