#include "compute/protocol/two_phase_locking/reader_words.h"

#include <algorithm>

namespace namdb::protocol {

using layout::HeaderWord;

bool ReaderWords::has(const Lookup& lookup) const {
  if (lookup.share() == 0) return false;
  const Word& word = words_[lookup.share() - 1];
  return word.taken && word.record == lookup.record();
}

bool ReaderWords::post(Lookup& lookup, HeaderWord own, txn::BatchSet& batches) {
  if (has(lookup)) return true;
  const layout::RecordLayout& layout = lookup.table().record;
  // Readers of several compute servers, and several of one, begin at different words.
  if (words_.empty()) next_ = own.stamp().slot + own.stamp().counter;
  std::uint32_t index = next_ % layout.reader_words;
  if (lookup.done() || lookup.locked_by_other()) {
    std::uint32_t looked = 0;
    for (; lookup.reader(index).value() != 0; index = (index + 1) % layout.reader_words) {
      if (++looked == layout.reader_words) return false;
    }
  }
  Word& word = words_.emplace_back();
  word.record = lookup.record();
  word.word = lookup.record() + layout.reader_offset(index);
  word.lookup = &lookup;
  word.found = fabric::LocalBuffer(cluster_.pool(), 8);
  layout::store_word(word.found.data(), ~std::uint64_t{0});  // stays if no answer comes
  ++posted_;
  batches.compare_and_swap(word.word, 0, own.value(), word.found.data());
  return true;
}

void ReaderWords::collect() {
  for (std::size_t i = words_.size() - posted_; i < words_.size(); ++i) {
    Word& word = words_[i];
    word.taken = layout::load_word(word.found.data()) == 0;
    if (word.taken) {
      ++held_;
      word.lookup->set_share(static_cast<std::uint32_t>(i + 1));
    } else {
      ++next_;
    }
    word.lookup = nullptr;
  }
  posted_ = 0;
}

bool ReaderWords::any_beside(layout::ServerId server) const {
  return std::ranges::any_of(
      words_, [server](const Word& word) { return word.taken && word.word.server() != server; });
}

void ReaderWords::give_back(HeaderWord own, txn::BatchSet& batches) const {
  for (const Word& word : words_) {
    if (word.taken) batches.compare_and_swap(word.word, own.value(), 0, word.found.data());
  }
}

void ReaderWords::add_to(reactor::PooledVector<HeldLock>& locks, HeaderWord own) const {
  for (const Word& word : words_) {
    if (word.taken) locks.push_back({word.word, HeaderWord(), own});
  }
}

}  // namespace namdb::protocol
