// The long values (common/layout/long_value.h) that a run of a statement has at hand: those that it has read,
// and those that it has made for rows that it is going to write. Expressions ask for values by their places;
// the coroutines above bring what they want (compute/sql/execute/long_value_rows.h).
#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/layout/row.h"

namespace namdb::sql {

class LongValues {
 public:
  // A table that keeps long values, by its name.
  struct WantedTable {
    std::string name;
    std::uint32_t part_bytes = 0;
  };
  // A value whose bytes are to be written.
  struct Written {
    std::string place;
    std::string bytes;
  };

  // Null: it is not at hand. Valid until forget_some(), forget_unused() or take_written().
  const std::string* find(std::string_view place) const;

  // Values that are to be brought, and tables that are to be made.
  void want(std::string_view place);
  void want_table(std::string name, std::uint32_t part_bytes);
  std::span<const std::string> wanted() const;
  std::vector<std::string> take_wanted();
  std::vector<WantedTable> take_wanted_tables();
  // A value that was brought.
  void add(std::string place, std::string bytes);

  // A value for a row that is to be written.
  void make(std::string place, std::string_view bytes);
  // The row is written later: those that were made for it are not forgotten before.
  void hold(const layout::RowView& row);
  // The row is written with all its values: those that were made for it are to be written, too, and none of
  // them is gone.
  void note_written(const layout::RowView& row);
  // The row has the value no more: its bytes are to be deleted.
  void note_gone(std::string_view place);
  // Notes that all values of the row are gone.
  void note_gone(const layout::RowView& row);

  bool has_work() const { return state_ != nullptr && (!state_->written.empty() || !state_->gone.empty()); }
  // There is so much that it should be done before other rows are written.
  bool work_is_due() const;
  // The places of those to be written.
  std::span<const std::string> written() const;
  // They are at hand no more.
  std::vector<Written> take_written();
  std::vector<std::string> take_gone();
  // Forgets values of rows that were not written and are not held. Returns their number of bytes.
  std::size_t forget_unused();
  // The values that were read are not borrowed now: forgets them if they are many.
  void forget_some() {
    if (state_ != nullptr && state_->read_bytes > kKept_bytes) forget_read();
  }
  // Values may be brought before anything asks for them: so many at once, more while they are of use.
  std::size_t window() const { return state_ == nullptr ? kFirstWindow : state_->window; }
  void brought_ahead(std::size_t values);

 private:
  static constexpr std::size_t kKept_bytes = 8 << 20;
  static constexpr std::size_t kWorkDue_bytes = 4 << 20;
  static constexpr std::size_t kWorkDue_values = 256;
  static constexpr std::size_t kFirstWindow = 8;
  static constexpr std::size_t kMostWindow = 256;
  enum class Kind : std::uint8_t { read, made, written };
  struct Value {
    Kind kind = Kind::read;
    bool used = false;
    bool held = false;  // until its row is written
    std::string bytes;
  };
  // Most statements have none.
  struct State {
    absl::flat_hash_map<std::string, std::unique_ptr<Value>> values;
    std::vector<std::string> wanted;
    std::vector<WantedTable> wanted_tables;
    std::vector<std::string> written;
    std::vector<std::string> gone;
    std::size_t read_bytes = 0;
    std::size_t written_bytes = 0;
    std::size_t window = kFirstWindow;
    std::size_t ahead = 0;         // brought ahead last
    mutable std::size_t hits = 0;  // of them, asked for
  };
  State& state();
  void forget_read();

  std::unique_ptr<State> state_;
};

}  // namespace namdb::sql
