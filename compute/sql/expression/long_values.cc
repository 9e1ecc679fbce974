#include "compute/sql/expression/long_values.h"

#include <algorithm>

#include "common/layout/long_value.h"

namespace namdb::sql {
namespace {

absl::string_view key_of_place(std::string_view place) {
  return {place.data(), place.size()};
}

}  // namespace

LongValues::State& LongValues::state() {
  if (state_ == nullptr) state_ = std::make_unique<State>();
  return *state_;
}

const std::string* LongValues::find(std::string_view place) const {
  if (state_ == nullptr) return nullptr;
  const auto found = state_->values.find(key_of_place(place));
  if (found == state_->values.end()) return nullptr;
  Value& value = *found->second;
  if (!value.used) ++state_->hits;
  value.used = true;
  return &value.bytes;
}

void LongValues::want(std::string_view place) {
  if (state_ != nullptr && state_->values.contains(key_of_place(place))) return;
  if (std::ranges::find(state().wanted, place) == state_->wanted.end()) state_->wanted.emplace_back(place);
}

void LongValues::want_table(std::string name, std::uint32_t part_bytes) {
  state().wanted_tables.push_back({std::move(name), part_bytes});
}

std::span<const std::string> LongValues::wanted() const {
  return state_ == nullptr ? std::span<const std::string>() : state_->wanted;
}

std::vector<std::string> LongValues::take_wanted() {
  return std::exchange(state().wanted, {});
}

std::vector<LongValues::WantedTable> LongValues::take_wanted_tables() {
  return std::exchange(state().wanted_tables, {});
}

void LongValues::add(std::string place, std::string bytes) {
  auto value = std::make_unique<Value>();
  value->bytes = std::move(bytes);
  const std::size_t added_bytes = value->bytes.size();
  if (state().values.emplace(std::move(place), std::move(value)).second) state_->read_bytes += added_bytes;
}

void LongValues::make(std::string place, std::string_view bytes) {
  auto value = std::make_unique<Value>();
  value->kind = Kind::made;
  value->bytes = bytes;
  state().values.emplace(std::move(place), std::move(value));
}

void LongValues::note_written(const layout::RowView& row) {
  if (state_ == nullptr) return;
  for (std::uint32_t column = 0; column < row.schema().columns().size(); ++column) {
    if (!layout::is_long(row, column)) continue;
    const std::string_view place = layout::long_value_place(row, column);
    const auto made = state_->values.find(key_of_place(place));
    if (made == state_->values.end() || made->second->kind != Kind::made) continue;
    made->second->kind = Kind::written;
    state_->written_bytes += made->second->bytes.size();
    state_->written.emplace_back(place);
  }
}

void LongValues::note_gone(std::string_view place) {
  const auto own = state().values.find(key_of_place(place));
  if (own != state_->values.end() && own->second->kind == Kind::written) {
    state_->written_bytes -= own->second->bytes.size();
    std::erase(state_->written, place);
    own->second->kind = Kind::made;
    return;
  }
  state_->gone.emplace_back(place);
}

void LongValues::note_gone(const layout::RowView& row) {
  for (std::uint32_t column = 0; column < row.schema().columns().size(); ++column) {
    if (layout::is_long(row, column)) note_gone(layout::long_value_place(row, column));
  }
}

bool LongValues::work_is_due() const {
  return state_ != nullptr &&
         (state_->written_bytes >= kWorkDue_bytes || state_->gone.size() >= kWorkDue_values);
}

std::span<const std::string> LongValues::written() const {
  return state_ == nullptr ? std::span<const std::string>() : state_->written;
}

std::vector<LongValues::Written> LongValues::take_written() {
  std::vector<Written> all;
  for (std::string& place : std::exchange(state().written, {})) {
    const auto value = state_->values.find(key_of_place(place));
    std::string bytes = std::move(value->second->bytes);
    state_->values.erase(value);
    all.push_back({std::move(place), std::move(bytes)});
  }
  state_->written_bytes = 0;
  return all;
}

std::vector<std::string> LongValues::take_gone() {
  return std::exchange(state().gone, {});
}

std::size_t LongValues::forget_unused() {
  if (state_ == nullptr) return 0;
  std::size_t bytes = 0;
  absl::erase_if(state_->values, [&bytes](const auto& value) {
    if (value.second->kind != Kind::made) return false;
    bytes += value.second->bytes.size();
    return true;
  });
  return bytes;
}

void LongValues::forget_read() {
  absl::erase_if(state_->values, [](const auto& value) { return value.second->kind == Kind::read; });
  state_->read_bytes = 0;
}

void LongValues::brought_ahead(std::size_t values) {
  State& s = state();
  // As many again as were of use.
  s.window =
      2 * s.hits >= s.ahead ? std::min(kMostWindow, 2 * s.window) : std::max<std::size_t>(1, s.window / 4);
  s.ahead = values;
  s.hits = 0;
}

}  // namespace namdb::sql
