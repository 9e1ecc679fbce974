// Redo of small histories of an address: every order of the log's entries, from every state in which a
// checkpoint may have found the address.
#include "memory/apply/redo.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <map>
#include <memory>
#include <numeric>

#include "common/layout/stamp.h"
#include "common/layout/version_image.h"
#include "memory/options.h"

namespace namdb::memory {
namespace {

using layout::GlobalAddress;
using layout::HeaderWord;
using layout::Stamp;

constexpr std::uint32_t kRedoTable = 7;
constexpr std::uint64_t kRedoRegion_bytes = 512U << 10;
const GlobalAddress kRecord(0, 256U << 10);
constexpr std::uint64_t kFirstGrant = 5;
constexpr std::uint64_t kSecondGrant = 9;

class FakePlaces final : public RecordPlaces {
 public:
  const layout::RecordLayout* shape(std::uint32_t table) const override {
    const auto found = shapes.find(table);
    return found == shapes.end() ? nullptr : &found->second;
  }
  std::optional<std::uint64_t> life(std::uint32_t /*table*/, std::uint64_t offset) const override {
    const auto found = lives.find(offset);
    return found == lives.end() ? std::nullopt : std::optional(found->second);
  }
  void born(std::uint32_t /*table*/, std::uint64_t offset, std::uint64_t grant) override {
    lives[offset] = grant;
  }
  void changed(std::uint64_t /*offset*/) override { ++changes; }

  std::map<std::uint32_t, layout::RecordLayout> shapes;
  std::map<std::uint64_t, std::uint64_t> lives;
  int changes = 0;
};

struct RedoRegion {
  RedoRegion() : words(kRedoRegion_bytes / 8) {
    Options options;
    options.extent_bytes = 64U << 10;
    options.vector_capacity = 16;
    auto created = Region::create(std::as_writable_bytes(std::span(words)), options, 1);
    REQUIRE(created.ok());
    region = std::move(*created);
  }
  std::vector<std::uint64_t> words;
  std::unique_ptr<Region> region;
};

using Body = std::vector<std::byte>;

Body make_body(const layout::RecordLayout& shape, GlobalAddress record, layout::BodyHeader header,
               int value) {
  Body body(shape.body_bytes());
  for (std::size_t i = layout::kBodyPrefix_bytes; i < body.size(); ++i) body[i] = static_cast<std::byte>(i);
  body[layout::kBodyPrefix_bytes] = static_cast<std::byte>(value);
  header.table = kRedoTable;
  layout::seal_body(body, record, header);
  return body;
}

// A commit of one record, with the bytes that its entry refers to.
struct Commit {
  Body body;
  Body record;  // of a birth
  std::uint64_t grant = 0;
  Body image;  // of an update
  HeaderWord displaced;

  layout::JournalEntry entry(GlobalAddress address) const {
    layout::JournalEntry entry;
    layout::JournalItem item;
    if (grant != 0) {
      item.kind = layout::JournalItem::Kind::chain;
      item.lock = GlobalAddress(address.server(), 64U << 10);
      item.writes = {{.address = address, .bytes = record, .grant = grant}};
      item.new_records = 1;
    } else {
      item.lock = address;
      item.image = image;
      item.displaced = displaced;
    }
    entry.items = {item};
    return entry;
  }
};

// Two lives of an address: birth, update, erase, (reclaimed, granted again,) birth, update, update. Stamps
// are such that neither slots nor counters ascend.
struct Lives {
  Lives(const layout::RecordLayout& record_shape, layout::ImageForm form) : shape(record_shape) {
    const Stamp stamps[] = {{30, 5}, {20, 9}, {40, 1}, {17, 3}, {35, 2}, {16, 8}};
    for (int i = 0; i < 6; ++i) {
      const bool birth = i == 0 || i == 3;
      Commit commit;
      const HeaderWord before =
          birth ? HeaderWord() : layout::decode_body_header(commits.back().body.data()).header_word();
      layout::BodyHeader header{
          .stamp = stamps[i], .deleted = i == 2, .displaced = before, .incarnation = i < 3 ? 0x1234U : 0x77U};
      if (shape.timestamps) header.displaced = HeaderWord(1000 + static_cast<std::uint64_t>(i));
      commit.body = make_body(shape, kRecord, header, i);
      commit.displaced = before;
      if (birth) {
        commit.grant = i == 0 ? kFirstGrant : kSecondGrant;
        commit.record.resize(shape.locked_bytes());
        std::ranges::copy(commit.body, commit.record.begin() + 8);
        layout::frame_new_record(commit.record, shape);
      } else {
        commit.image.resize(shape.body_bytes());
        commit.image.resize(
            layout::encode_image(commit.body, commits.back().body, kRecord, commit.image, form));
      }
      commits.push_back(std::move(commit));
    }
  }
  layout::RecordLayout shape;
  std::vector<Commit> commits;
};

// The address as a checkpoint has it.
struct Checkpoint {
  int last = -1;       // the latest commit that it saw; -1: none
  bool empty = false;  // no body: not yet born, or reclaimed
  std::uint64_t life = 0;
};

const Checkpoint kCheckpoints[] = {
    {-1, true, kFirstGrant - 1},  // reserved
    {-1, true, 0},                // never granted
    {0, false, kFirstGrant},      //
    {1, false, kFirstGrant},      //
    {2, false, kFirstGrant},      // erased
    {2, true, kFirstGrant},       // reclaimed
    {2, true, 8},                 // and its memory was given back and taken again, behind grant 8
    {2, true, kSecondGrant - 1},  // granted again
    {3, false, kSecondGrant},     //
    {4, false, kSecondGrant},     //
    {5, false, kSecondGrant},     //
};

class RedoRun {
 public:
  RedoRun(RedoRegion& memory, const Lives& lives) : memory_(memory), lives_(lives) {
    places_.shapes[kRedoTable] = lives.shape;
  }
  void load(const Checkpoint& checkpoint) {
    memory_.region->zero(kRecord.offset(), lives_.shape.record_bytes());
    places_.lives.clear();
    places_.lives[kRecord.offset()] = checkpoint.life;
    if (!checkpoint.empty) memory_.region->write(kRecord.offset() + 8, commit(checkpoint.last).body);
  }
  const Commit& commit(int index) const { return lives_.commits[static_cast<std::size_t>(index)]; }
  // A redo that does not come to its end.
  void begin(const std::vector<int>& log) {
    Redo redo(*memory_.region, places_);
    for (const int index : log) REQUIRE(redo.apply(commit(index).entry(kRecord)).ok());
  }
  Status redo(const std::vector<int>& log) {
    Redo redo(*memory_.region, places_);
    for (const int index : log) {
      if (Status status = redo.apply(commit(index).entry(kRecord)); !status.ok()) return status;
    }
    return redo.finish();
  }
  // The log goes on behind all that the checkpoint knows, `known` the last of it, and ages end all the time.
  Status redo_in_ages(int first, int known) {
    Redo redo(*memory_.region, places_);
    for (int index = first; index < static_cast<int>(lives_.commits.size()); ++index) {
      Status status = redo.apply(commit(index).entry(kRecord));
      if (status.ok() && index >= known) status = redo.end_earlier_ages().status();
      if (!status.ok()) return status;
      if (index >= known) redo.begin_age();
    }
    CHECK(redo.waiting() == 0);
    return redo.finish();
  }
  // An update behind which an age ends.
  Status outcome_of(int index) {
    Redo redo(*memory_.region, places_);
    REQUIRE(redo.apply(commit(index).entry(kRecord)).ok());
    REQUIRE(redo.end_earlier_ages().ok());
    redo.begin_age();
    return redo.end_earlier_ages().status();
  }
  // The update is decided an age later than those behind it.
  Status check_late(int index, const std::vector<int>& earlier) {
    Redo redo(*memory_.region, places_);
    const auto end_age = [&redo] {
      Status status = redo.end_earlier_ages().status();
      redo.begin_age();
      return status;
    };
    for (const int each : earlier) REQUIRE(redo.apply(commit(each).entry(kRecord)).ok());
    REQUIRE(end_age().ok());
    REQUIRE(redo.apply(commit(index).entry(kRecord)).ok());
    REQUIRE(end_age().ok());
    Status status = end_age();
    CHECK(redo.waiting() == 0);
    return status;
  }
  Body standing() const {
    Body body(lives_.shape.body_bytes());
    memory_.region->read(kRecord.offset() + 8, body);
    return body;
  }
  bool stands(int index) const { return standing() == commit(index).body; }
  bool stands_empty() const {
    const Body body = standing();
    return std::ranges::all_of(body, [](std::byte byte) { return byte == std::byte{0}; });
  }
  std::uint64_t header() const { return memory_.region->load(kRecord.offset()); }
  FakePlaces& places() { return places_; }

 private:
  RedoRegion& memory_;
  const Lives& lives_;
  FakePlaces places_;
};

std::string describe_order(const Checkpoint& checkpoint, const std::vector<int>& log) {
  std::string text = "checkpoint at " + std::to_string(checkpoint.last) +
                     (checkpoint.empty ? ", empty" : "") + ", life " + std::to_string(checkpoint.life) +
                     ", log";
  for (const int index : log) text += " " + std::to_string(index);
  return text;
}

// Every order of the entries `first` to `last`. Stops at the first wrong outcome.
void check_every_order(RedoRun& run, const Checkpoint& checkpoint, int first, int last) {
  std::vector<int> log(static_cast<std::size_t>(last - first + 1));
  std::iota(log.begin(), log.end(), first);
  const bool empty = checkpoint.empty && last == checkpoint.last;
  do {
    // A part of the entries may be there already.
    for (std::size_t there = 0; there <= log.size(); ++there) {
      run.load(checkpoint);
      run.begin({log.begin(), log.begin() + static_cast<std::ptrdiff_t>(there)});
      const Status status = run.redo(log);
      INFO(describe_order(checkpoint, log) << ", the first " << there << " twice: " << status.to_string());
      REQUIRE(status.ok());
      REQUIRE((empty ? run.stands_empty() : run.stands(last)));
    }
  } while (std::ranges::next_permutation(log).found);
}

void check_all_histories(const layout::RecordLayout& shape, layout::ImageForm form) {
  RedoRegion memory;
  const Lives lives(shape, form);
  RedoRun run(memory, lives);
  for (const Checkpoint& checkpoint : kCheckpoints) {
    for (int first = 0; first <= checkpoint.last + 1; ++first) {
      for (int last = std::max(checkpoint.last, first - 1); last < 6; ++last)
        check_every_order(run, checkpoint, first, last);
    }
  }
}

layout::RecordLayout shape_of(std::uint32_t ring_slots, bool timestamps) {
  layout::RecordLayout shape;
  shape.payload_bytes = 128;
  shape.ring_slots = ring_slots;
  shape.timestamps = timestamps;
  return shape;
}

// Runs with one record, whole bodies.
struct OneRecord {
  RedoRegion memory;
  Lives lives{shape_of(0, false), layout::ImageForm::whole};
  RedoRun run{memory, lives};
};

bool names(const Status& status, const std::string& words) {
  return !status.ok() && status.code() == ErrorCode::corrupt_data &&
         status.message().find(words) != std::string::npos;
}

}  // namespace

TEST_CASE("the log's last commit stands after redo, in every order, from every checkpoint", "[redo]") {
  check_all_histories(shape_of(4, false), layout::ImageForm::shorter);
}

TEST_CASE("so it does with whole images, and where records have timestamps", "[redo]") {
  check_all_histories(shape_of(0, false), layout::ImageForm::whole);
  check_all_histories(shape_of(2, true), layout::ImageForm::shorter);
}

TEST_CASE("a record is left unlocked, with an empty ring, and its place is known by its grant", "[redo]") {
  RedoRegion memory;
  const Lives lives(shape_of(2, false), layout::ImageForm::shorter);
  RedoRun run(memory, lives);
  run.load(kCheckpoints[0]);
  REQUIRE(run.redo({1, 0}).ok());
  CHECK(run.header() == layout::decode_body_header(run.commit(1).body.data()).header_word().value());
  for (std::uint32_t slot = 0; slot < 2; ++slot) {
    const std::uint64_t word = memory.region->load(kRecord.offset() + lives.shape.ring_header_offset(slot));
    CHECK(HeaderWord(word) == HeaderWord(Stamp{}).with_moved());
  }
  CHECK(run.places().lives[kRecord.offset()] == kFirstGrant);
  CHECK(run.places().changes == 1);
}

TEST_CASE("redo stops where a version is missing, and names record and versions", "[redo]") {
  OneRecord one;
  one.run.load({0, false, kFirstGrant});
  const Status status = one.run.redo({2});
  CHECK(names(status, "the record at offset 262144 of memory server 0"));
  CHECK(names(status, "stands at version <slot 30, counter 5>"));
  CHECK(names(status, "the log has <slot 40, counter 1> in the place of <slot 20, counter 9>"));
  // The version in between comes: all is well.
  one.run.load({0, false, kFirstGrant});
  CHECK(one.run.redo({2, 1}).ok());
  CHECK(one.run.stands(2));
  // The version that the standing one displaced is older.
  one.run.load({5, false, kSecondGrant});
  CHECK(one.run.redo({4}).ok());
}

TEST_CASE("a log that goes on is judged age by age, and nothing waits for ever", "[redo]") {
  RedoRegion memory;
  const Lives lives(shape_of(4, false), layout::ImageForm::shorter);
  RedoRun run(memory, lives);
  for (const Checkpoint& checkpoint : kCheckpoints) {
    // An age more has to end behind the last entry that waits.
    if (checkpoint.last > 3) continue;
    for (int first = 0; first <= checkpoint.last + 1; ++first) {
      INFO("checkpoint at " << checkpoint.last << ", log from " << first);
      run.load(checkpoint);
      REQUIRE(run.redo_in_ages(first, checkpoint.last).ok());
      REQUIRE(run.stands(5));
    }
  }
  // The version between 0 and 2 is missing.
  run.load({0, false, kFirstGrant});
  CHECK(names(run.outcome_of(2), "stands at version <slot 30, counter 5>"));
}

TEST_CASE("an update that is decided later than the one behind it is older than what stands", "[redo]") {
  RedoRegion memory;
  // Records with timestamps do not say what they displaced.
  const Lives lives(shape_of(4, true), layout::ImageForm::shorter);
  RedoRun run(memory, lives);
  run.load({2, false, kFirstGrant});
  CHECK(run.check_late(1, {2}).ok());
}

TEST_CASE("births and updates at a place that no table has any more are over", "[redo]") {
  OneRecord one;
  one.run.load({-1, true, 0});
  one.run.places().lives.clear();
  CHECK(one.run.redo({1, 0, 2}).ok());
  CHECK(one.run.stands_empty());
}

TEST_CASE("two versions that displaced the same one are refused", "[redo]") {
  OneRecord one;
  one.run.load({-1, true, kFirstGrant - 1});
  Commit other = one.run.commit(1);
  other.body = make_body(one.lives.shape, kRecord,
                         {.stamp = {50, 1}, .displaced = other.displaced, .incarnation = 0x1234}, 99);
  other.image = other.body;
  Redo redo(*one.memory.region, one.run.places());
  REQUIRE(redo.apply(one.run.commit(1).entry(kRecord)).ok());
  REQUIRE(redo.apply(one.run.commit(1).entry(kRecord)).ok());
  CHECK(redo.waiting() == 1);
  CHECK(names(redo.apply(other.entry(kRecord)), "<slot 20, counter 9> and <slot 50, counter 1>"));
}

TEST_CASE("entries of tables that were dropped, and items of other regions, are left out", "[redo]") {
  OneRecord one;
  one.run.load({-1, true, kFirstGrant - 1});
  one.run.places().shapes.clear();
  CHECK(one.run.redo({0, 1}).ok());
  CHECK(one.run.stands_empty());
  one.run.places().shapes[kRedoTable] = one.lives.shape;
  layout::JournalEntry entry = one.run.commit(0).entry(GlobalAddress(1, kRecord.offset()));
  Redo redo(*one.memory.region, one.run.places());
  CHECK(redo.apply(entry).ok());
  CHECK(one.run.stands_empty());
}

TEST_CASE("entries that fit no record change nothing", "[redo]") {
  OneRecord one;
  const auto refused = [&](int index, const std::function<void(layout::JournalEntry&)>& break_it) {
    one.run.load(index == 0 ? Checkpoint{-1, true, kFirstGrant - 1} : Checkpoint{0, false, kFirstGrant});
    const Body before = one.run.standing();
    layout::JournalEntry entry = one.run.commit(index).entry(kRecord);
    break_it(entry);
    Redo redo(*one.memory.region, one.run.places());
    CHECK(names(redo.apply(entry), "does not fit"));
    CHECK(one.run.standing() == before);
  };
  Body damaged = one.run.commit(1).image;
  damaged.back() ^= std::byte{1};
  Body damaged_record = one.run.commit(0).record;
  damaged_record[60] ^= std::byte{1};
  for (const std::uint64_t offset : {std::uint64_t{0}, kRecord.offset() + 4, kRedoRegion_bytes - 8,
                                     kRedoRegion_bytes, std::uint64_t{1} << 47}) {
    refused(
        0, [&](layout::JournalEntry& entry) { entry.items[0].writes[0].address = GlobalAddress(0, offset); });
    refused(1, [&](layout::JournalEntry& entry) { entry.items[0].lock = GlobalAddress(0, offset); });
  }
  refused(0,
          [](layout::JournalEntry& entry) { entry.items[0].writes[0].address = GlobalAddress(1, 262144); });
  refused(0, [](layout::JournalEntry& entry) { entry.items[0].writes[0].grant = 0; });
  refused(0, [&](layout::JournalEntry& entry) { entry.items[0].writes[0].bytes = damaged_record; });
  refused(0, [&](layout::JournalEntry& entry) {
    entry.items[0].writes[0].bytes = entry.items[0].writes[0].bytes.first(damaged_record.size() - 8);
  });
  refused(1, [&](layout::JournalEntry& entry) { entry.items[0].image = damaged; });
  refused(1, [&](layout::JournalEntry& entry) { entry.items[0].image = entry.items[0].image.first(32); });
}

}  // namespace namdb::memory
