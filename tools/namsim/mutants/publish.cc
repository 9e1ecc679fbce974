// Publication: after everything is installed, in ascending order, of the contiguous prefix.
#include <algorithm>
#include <map>

#include "common/base/check.h"
#include "tools/namsim/mutants/look.h"
#include "tools/namsim/mutants/mutants.h"

namespace namdb::sim {
namespace {

using layout::HeaderWord;
using layout::Stamp;

// The commit is published while it asks for its locks.
class PublishedBeforeLocks final : public Mutant {
 public:
  void before(Posting& posting) override {
    const Look look(cluster());
    if (posting.server != 0) return;
    for (std::size_t i = 0; i < posting.asked.size(); ++i) {
      if (!look.record_lock(posting, i)) continue;
      const Stamp stamp = HeaderWord(posting.asked[i].operand).stamp();
      const std::uint64_t word = look.vector_word(cluster(), stamp.slot);
      if (word != 0) posting.write(word, posting.word(HeaderWord(stamp).value()), 8);
      return;
    }
  }
};

// A commit is published with its own installation, whatever commits of the slot before it are still at.
class PublishedOutOfOrder final : public Mutant {
 public:
  void before(Posting& posting) override {
    const Look look(cluster());
    std::uint64_t newest = 0;
    for (std::size_t i = 0; i < posting.asked.size(); ++i) {
      fabric::Operation& operation = posting.operations[i];
      if (look.publish(posting, operation)) {
        // Never backwards: only the order is wrong.
        std::uint64_t& published = published_[operation.remote_offset];
        published = std::max(published, layout::load_word(operation.local));
        operation.local = posting.word(published);
      } else if (Look::install_end(posting.asked, i)) {
        newest = layout::load_word(operation.local);
      }
    }
    if (newest == 0 || posting.server != 0) return;
    const Stamp stamp = HeaderWord(newest).stamp();
    const std::uint64_t word = look.vector_word(cluster(), stamp.slot);
    if (word == 0) return;
    std::uint64_t& published = published_[word];
    published = std::max(published, HeaderWord(stamp).value());
    posting.write(word, posting.word(published), 8);
  }

 private:
  std::map<std::uint64_t, std::uint64_t> published_;  // by the word's offset
};

// Behind each publication comes once more the one before it.
class PublishedBackwards final : public Mutant {
 public:
  void before(Posting& posting) override {
    const Look look(cluster());
    for (const fabric::Operation& operation : posting.asked) {
      if (!look.publish(posting, operation)) continue;
      const auto before = published_.find(operation.remote_offset);
      if (before != published_.end()) posting.write(operation.remote_offset, posting.word(before->second), 8);
      published_[operation.remote_offset] = layout::load_word(operation.local);
    }
  }

 private:
  std::map<std::uint64_t, std::uint64_t> published_;
};

// The client is told of its commit when the publication is posted: it takes effect some time later.
class AcknowledgedBeforePublish final : public Mutant {
 public:
  void before(Posting& posting) override {
    const Look look(cluster());
    for (fabric::Operation& operation : posting.operations) {
      if (!look.publish(posting, operation)) continue;
      const std::uint64_t at = operation.remote_offset / 8;
      const HeaderWord word(layout::load_word(operation.local));
      operation.kind = fabric::OperationKind::read;
      operation.local = posting.word(0);
      cluster().world().at(cluster().world().now_ns() + 20 * kMicrosecond_ns, [this, at, word] {
        std::uint64_t& published = cluster().memory(0).words[at];
        const Stamp before = HeaderWord(published).stamp();
        if (before.slot == word.stamp().slot && before.counter < word.stamp().counter)
          published = word.value();
      });
    }
  }
};

// A commit whose journal entry, installation or publication broke off with the connection is told as done.
class UnknownOutcomeCommitted final : public Mutant {
 public:
  void failed(Posting& posting, Status& status) override {
    const Look look(cluster());
    for (std::size_t i = 0; i < posting.asked.size(); ++i) {
      const fabric::Operation& operation = posting.asked[i];
      if (Look::journal(operation) || Look::install_end(posting.asked, i) || look.publish(posting, operation))
        status = Status();
    }
  }
};

void broken_links(Scenario& scenario) {
  scenario.resize({.memory_servers = 1});
  const Status used = scenario.use_faults(
      {{.kind = Fault::Kind::cut_link, .probability = 0.002, .times = 5, .duration_ns = kMillisecond_ns}},
      "none");
  NAMDB_CHECK(used.ok());
}

}  // namespace

std::vector<MutantCase> publish_mutants() {
  const char* const slot = "compute/txn/execution_slot.cc";
  return {
      {"a commit is published before its locks are held", "compute/commit/commit.cc", Emphasis::old_versions,
       12, "missed a write that its reads depend on", make_mutant<PublishedBeforeLocks>},
      {"a commit is published before an older one of its slot is finished", slot, Emphasis::shared_slots, 173,
       "missed a write that its reads depend on", make_mutant<PublishedOutOfOrder>},
      {"a commit is acknowledged before it is published", slot, Emphasis::snapshots, 1, "a row is gone",
       make_mutant<AcknowledgedBeforePublish>},
      {"an unknown outcome is told as a commit", "compute/commit/commit.cc", Emphasis::kills, 11,
       "missed a write that its reads depend on", make_mutant<UnknownOutcomeCommitted>, nullptr,
       broken_links},
      {"a slot is published backwards", slot, Emphasis::snapshots, 1, "a row stays out of reach",
       make_mutant<PublishedBackwards>},
  };
}

}  // namespace namdb::sim
