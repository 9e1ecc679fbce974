// A history: the requests of a database's clients and the answers. Its objects are registers or lists:
//
// - A *register* holds one version. Every write writes a version that is unique for its key, and says which
//   version it displaced, so that the order of each key's versions is known.
// - A *list* is appended to. Every append appends an element that is unique for its key; a read returns the
//   whole list, and so the order of the appends before it.
//
// Numbers are those of the client: any clock in nanoseconds that all sessions share, any numbers as sessions
// and keys. docs/internals/history-format.md describes the file format.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace namdb::history {

using Key = std::uint64_t;
// Of a register, or an element of a list. 0 is what the load wrote, or the empty list.
using Version = std::uint64_t;

enum class Model : std::uint8_t { registers, lists };
enum class Outcome : std::uint8_t { committed, aborted, unknown };

struct Operation {
  enum class Kind : std::uint8_t { read, write };
  Kind kind = Kind::read;
  Key key = 0;
  Version version = 0;          // read or written; the element appended; unused by reads of a list
  Version displaced = 0;        // by the write of a register
  std::vector<Version> list{};  // what a read of a list returned

  static Operation read(Key key, Version version) { return {.key = key, .version = version}; }
  static Operation read_list(Key key, std::vector<Version> list) {
    return {.key = key, .list = std::move(list)};
  }
  static Operation write(Key key, Version version, Version displaced) {
    return {.kind = Kind::write, .key = key, .version = version, .displaced = displaced};
  }
  static Operation append(Key key, Version element) {
    return {.kind = Kind::write, .key = key, .version = element};
  }
  friend bool operator==(const Operation&, const Operation&) = default;
};

struct Transaction {
  static constexpr std::uint64_t kNever = ~std::uint64_t{0};
  std::uint64_t session = 0;
  std::uint64_t begin_ns = 0;     // before the first operation was asked for
  std::uint64_t end_ns = kNever;  // after the outcome was known
  Outcome outcome = Outcome::unknown;
  std::vector<Operation> operations{};  // in order; a read whose answer never came is left out

  friend bool operator==(const Transaction&, const Transaction&) = default;
};

class History {
 public:
  explicit History(Model model) : model_(model) {}

  Model model() const { return model_; }
  // A version that was never given before.
  Version next_version() { return ++versions_; }
  // Its position, by which reports name it: T0, T1, ...
  std::size_t add(Transaction transaction) {
    transactions_.push_back(std::move(transaction));
    return transactions_.size() - 1;
  }
  Transaction& at(std::size_t position) { return transactions_[position]; }
  const std::vector<Transaction>& transactions() const { return transactions_; }

 private:
  Model model_;
  std::vector<Transaction> transactions_;
  Version versions_ = 0;
};

}  // namespace namdb::history
