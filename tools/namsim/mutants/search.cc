// The search for an older version: by links, from the ring into the overflow chain, again from the start if
// it is in neither, and absent only where the links end. A version is rebuilt from its neighbour by the link.
#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "common/layout/overflow_group.h"
#include "common/layout/record_trailer.h"
#include "common/layout/version_image.h"
#include "tools/namsim/mutants/look.h"
#include "tools/namsim/mutants/mutants.h"

namespace namdb::sim {
namespace {

using fabric::Operation;
using layout::HeaderWord;
using Place = std::tuple<std::size_t, std::size_t, std::uint64_t>;  // compute, server, offset

layout::GlobalAddress address_of(const Posting& posting, std::uint64_t offset) {
  return {static_cast<layout::ServerId>(posting.server), offset};
}

// Sound: overflow chains are entered where they began when the record itself was read, so that a version that
// was moved since is found neither in the ring nor in the chain. The search starts again then.
class HeadReadTooEarly : public Mutant {
 public:
  void after(Posting& posting) override {
    const Look look(cluster());
    const layout::RecordLayout& layout = look.record();
    for (const Operation& operation : posting.asked) {
      if (operation.kind != fabric::OperationKind::read) continue;
      const Place place{posting.compute, posting.server, operation.remote_offset};
      if (operation.length_bytes == layout.current_bytes()) {
        see_record(layout, posting, operation);
      } else if (const auto head = heads_.find(place);
                 operation.length_bytes == layout::versions_bytes(layout) && head != heads_.end()) {
        layout::store_word(operation.local, shown_head(head->second.word));
        see_ring(layout, posting, operation, head->second.record);
      } else if (const auto group = groups_.find(place); group != groups_.end()) {
        see_group(layout, posting, operation, group->second);
      }
    }
  }

 protected:
  virtual std::uint64_t shown_head(std::uint64_t word) const { return word; }
  // The record is read anew, since its search ended nowhere.
  virtual void on_restart(const layout::RecordLayout& layout, const Posting& posting,
                          const Operation& operation) {
    static_cast<void>(layout);
    static_cast<void>(posting);
    static_cast<void>(operation);
  }

 private:
  struct Head {
    std::uint64_t record;
    std::uint64_t word;
  };

  void see_record(const layout::RecordLayout& layout, const Posting& posting, const Operation& operation) {
    const std::uint64_t record = operation.remote_offset;
    const auto address = address_of(posting, record);
    const std::span<const std::byte> body(operation.local + 8, layout.body_bytes());
    if (!layout::certify_body(body, address)) return;
    if (lost_.erase({posting.compute, posting.server, record}) != 0) on_restart(layout, posting, operation);
    const std::uint64_t head = record + layout::overflow_head_offset(layout);
    heads_[{posting.compute, posting.server, head}] = {record,
                                                       cluster().memory(posting.server).words[head / 8]};
    versions_[{posting.compute, posting.server, record}] = layout::decode_body_header(body.data());
  }
  // From the version where the search stands to the one before, if that is its image.
  bool step(const Posting& posting, std::uint64_t record, std::span<const std::byte> image) {
    layout::BodyHeader& version = versions_[{posting.compute, posting.server, record}];
    if (version.birth() || !layout::certify_image(image, address_of(posting, record))) return false;
    const layout::BodyHeader before = layout::decode_body_header(image.data());
    if (before.stamp != version.displaced.stamp()) return false;
    version = before;
    return true;
  }
  void see_ring(const layout::RecordLayout& layout, const Posting& posting, const Operation& operation,
                std::uint64_t record) {
    const layout::BodyHeader& version = versions_[{posting.compute, posting.server, record}];
    const auto image = [&] {
      return std::span<const std::byte>(operation.local + layout.ring_payload_offset(version.ring_slot) -
                                            layout::overflow_head_offset(layout),
                                        layout.body_bytes());
    };
    while (version.ring_slot < layout.ring_slots && step(posting, record, image())) {
    }
    follow(layout, posting, record, layout::OverflowLink(layout::load_word(operation.local)));
  }
  void see_group(const layout::RecordLayout& layout, const Posting& posting, const Operation& operation,
                 std::uint64_t record) {
    const std::uint32_t entry_bytes = layout::overflow_entry_bytes(layout.body_bytes());
    groups_.erase({posting.compute, posting.server, operation.remote_offset});
    for (std::uint32_t at = operation.length_bytes; at >= entry_bytes;) {
      at -= entry_bytes;
      const std::span<const std::byte> image(operation.local + at + layout::kOverflowBody_offset,
                                             layout.body_bytes());
      if (!layout::certify_image(image, address_of(posting, record)))
        return follow(layout, posting, record, layout::OverflowLink());
      step(posting, record, image);
    }
    follow(layout, posting, record,
           layout::OverflowLink(layout::load_word(operation.local + layout::kOverflowNext_offset)));
  }
  void follow(const layout::RecordLayout& layout, const Posting& posting, std::uint64_t record,
              layout::OverflowLink link) {
    if (versions_[{posting.compute, posting.server, record}].birth()) return;
    if (link.none()) {
      lost_.insert({posting.compute, posting.server, record});
    } else {
      groups_[{posting.compute, posting.server,
               link.group(layout::overflow_entry_bytes(layout.body_bytes()))}] = record;
    }
  }

  std::map<Place, Head> heads_;                   // by the head word's offset
  std::map<Place, std::uint64_t> groups_;         // the records of overflow groups
  std::map<Place, layout::BodyHeader> versions_;  // by record: where the search stands
  std::set<Place> lost_;                          // records
};

// ... or does not, and the version counts as one that never was.
class SearchNotRestarted : public HeadReadTooEarly {
 protected:
  void on_restart(const layout::RecordLayout& layout, const Posting& posting,
                  const Operation& operation) override {
    const auto address = address_of(posting, operation.remote_offset);
    const std::span<std::byte> body(operation.local + 8, layout.body_bytes());
    layout::BodyHeader header = layout::decode_body_header(body.data());
    header.displaced = HeaderWord();
    layout::seal_body(body, address, header);
  }
};

// A version that is not in its ring slot any more never was: no birth marker is needed.
class AbsentWithoutBirth final : public SearchNotRestarted {
 protected:
  std::uint64_t shown_head(std::uint64_t word) const override {
    static_cast<void>(word);
    return 0;
  }
};

void one_client(Scenario& scenario) {
  scenario.resize({.clients = 1});
}

}  // namespace

std::vector<MutantCase> search_mutants() {
  const char* const lookup = "compute/txn/lookup.cc";
  return {
      {"a version that is in neither place is absent", lookup, Emphasis::old_versions, 7, "a row is gone",
       make_mutant<SearchNotRestarted>, make_mutant<HeadReadTooEarly>, one_client},
      {"a version counts as absent without a birth marker", lookup, Emphasis::old_versions, 2,
       "a row is gone", make_mutant<AbsentWithoutBirth>, nullptr, one_client},
  };
}

}  // namespace namdb::sim
