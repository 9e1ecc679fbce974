// How long a command with many runs will take, before it begins and while it goes on.
#pragma once

#include <cstddef>
#include <string>

namespace namdb::nambench {

class Schedule {
 public:
  // So many runs, which together measure and warm up for so long.
  void plan(std::size_t runs, double seconds) {
    runs_left_ += runs;
    seconds_left_ += seconds;
  }
  // One of them is done: the seconds that were planned for it, and those that it took, starting and loading
  // included.
  void done(double planned_seconds, double taken_seconds);

  double left_seconds() const;
  std::size_t runs_left() const { return runs_left_; }
  // "about 3 minutes", "about 20 seconds".
  std::string left() const;

 private:
  std::size_t runs_left_ = 0;
  double seconds_left_ = 0;
  std::size_t runs_done_ = 0;
  double overhead_seconds_ = 0;  // of all that are done
};

}  // namespace namdb::nambench
