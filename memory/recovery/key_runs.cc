#include "memory/recovery/key_runs.h"

#include <algorithm>

namespace namdb::memory {

void KeyRuns::Run::sort() {
  const std::string_view all(bytes);
  std::ranges::sort(places, [all](const Place& left, const Place& right) {
    return all.substr(left.offset, left.length) < all.substr(right.offset, right.length);
  });
}

bool KeyRuns::add(std::string_view key) {
  if (!open_) runs_.emplace_back();
  open_ = true;
  Run& run = runs_.back();
  run.places.push_back(
      {static_cast<std::uint32_t>(run.bytes.size()), static_cast<std::uint32_t>(key.size())});
  run.bytes += key;
  if (run.places.size() < kRun_keys) return false;
  finish();
  return true;
}

void KeyRuns::finish() {
  if (open_) runs_.back().sort();
  open_ = false;
}

KeyMerge::KeyMerge(const std::vector<const KeyRuns*>& sources) {
  for (const KeyRuns* const source : sources) {
    for (const KeyRuns::Run& run : source->runs_) heads_.push({run.key(0), &run, 0});
  }
}

void KeyMerge::next() {
  Head head = heads_.top();
  heads_.pop();
  if (++head.position == head.run->places.size()) return;
  head.key = head.run->key(head.position);
  heads_.push(head);
}

}  // namespace namdb::memory
