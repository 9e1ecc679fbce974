// {protocol x stage codes x transport}: the same cases (cases.h) for all of them, and a table of the runs.
//
// By default a covering sample: every protocol over every transport with all stages one-sided and with all
// two-sided, and every single stage of every protocol by call over one transport, which differs from stage to
// stage. NAMDB_WHOLE=1: single stages over every transport. NAMDB_ALL_STAGE_CODES=1: every stage code over
// every transport. Over verbs, where it is slow, those that are all of one kind.
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <map>

#include "tools/conformance/cases.h"

namespace namdb::conformance {
namespace {

constexpr std::uint64_t kShort_ns = 500 * kMillisecond_ns;

bool whole_matrix() {
  return std::getenv("NAMDB_WHOLE") != nullptr;
}

// Stages that the protocol does not have are not named. `turn` differs from transport to transport, of
// `turns`.
std::vector<protocol::StageCode> stage_codes(std::string_view transport,
                                             const protocol::ProtocolTraits& protocol, std::size_t turn,
                                             std::size_t turns) {
  std::vector<protocol::Stage> stages;
  for (std::size_t i = 0; i < protocol::kStageNames.size(); ++i) {
    if (protocol.has(static_cast<protocol::Stage>(i))) stages.push_back(static_cast<protocol::Stage>(i));
  }
  std::vector<protocol::StageCode> codes = {*protocol::StageCode::parse("one-sided"),
                                            *protocol::StageCode::parse("two-sided")};
  if (transport == "verbs") return codes;
  if (std::getenv("NAMDB_ALL_STAGE_CODES") != nullptr) {
    codes.clear();
    for (std::uint32_t bits = 0; bits < 1U << stages.size(); ++bits) {
      protocol::StageCode code;
      for (std::size_t i = 0; i < stages.size(); ++i) {
        if ((bits >> i & 1) != 0) code = code.with(stages[i]);
      }
      codes.push_back(code);
    }
    return codes;
  }
  for (const protocol::Stage stage : stages) {
    if (whole_matrix() || static_cast<std::size_t>(stage) % turns == turn) {
      codes.push_back(protocol::StageCode().with(stage));
    }
  }
  return codes;
}

// One line of the table at the end.
struct Tally {
  std::size_t passed = 0;
  std::size_t failed = 0;
  std::map<std::string, std::size_t> skipped;  // by reason
};

class Suite {
 public:
  Suite(std::string transport, const protocol::ProtocolTraits& protocol, protocol::StageCode stages,
        layout::VectorSpread timestamp_vector = layout::VectorSpread::whole, bool shared_read_locks = false,
        txn::LockTime lock_time = txn::LockTime::automatic)
      : options_{.transport = std::move(transport),
                 .protocol = std::string(protocol.name),
                 .stages = stages,
                 .timestamp_vector = timestamp_vector,
                 .shared_read_locks = shared_read_locks,
                 .lock_time = lock_time},
        protocol_(protocol) {}

  Tally run(bool long_transactions) {
    {
      const std::unique_ptr<Database> database = open_with_table();
      std::int64_t base = 0;
      for (const Case& each : cases()) {
        Trial trial = begin(*database, base += 100);
        each.run(trial);
        note(each.name, trial);
      }
    }
    constexpr const char* kLong = "long transactions end";
    if (!long_transactions) {
      ++tally_.skipped["takes E of real time: once for each protocol"];
      return tally_;
    }
    options_.max_transaction_ns = kShort_ns;
    const std::unique_ptr<Database> database = open_with_table();
    Trial trial = begin(*database, 100);
    long_transactions_end(trial, kShort_ns);
    note(kLong, trial);
    return tally_;
  }

 private:
  std::unique_ptr<Database> open_with_table() const {
    std::unique_ptr<Database> database = open(options_);
    const Status created = Client(*database, 0).create_table();
    INFO(created.to_string());
    REQUIRE(created.ok());
    return database;
  }
  Trial begin(Database& database, std::int64_t base) const {
    return {.database = database,
            .traits = protocol_,
            .shared_read_locks = options_.shared_read_locks,
            .a = Client(database, 0),
            .b = Client(database, 1),
            .base = base,
            .mistakes = {},
            .skipped = {}};
  }
  void note(std::string_view name, const Trial& trial) {
    for (const std::string& mistake : trial.mistakes) {
      UNSCOPED_INFO(options_.protocol << ", " << options_.stages.text() << ", " << options_.transport << ", "
                                      << name << ": " << mistake);
    }
    CHECK(trial.mistakes.empty());
    if (!trial.mistakes.empty()) {
      ++tally_.failed;
    } else if (!trial.skipped.empty()) {
      ++tally_.skipped[trial.skipped];
    } else {
      ++tally_.passed;
    }
  }

  DatabaseOptions options_;
  const protocol::ProtocolTraits& protocol_;
  Tally tally_;
};

// "18 passed, 1 skipped (why)".
std::string text_of(const Tally& tally) {
  std::string text = std::to_string(tally.passed) + " passed";
  if (tally.failed != 0) text += ", " + std::to_string(tally.failed) + " FAILED";
  for (const auto& [reason, count] : tally.skipped)
    text += ", " + std::to_string(count) + " skipped (" + reason + ")";
  return text;
}

std::string table_line(const std::string& transport, const protocol::ProtocolTraits& protocol,
                       const std::string& stages, const Tally& tally) {
  char line[512];
  std::snprintf(line, sizeof line, "%-6s %-8s %-10s %s\n", transport.c_str(),
                std::string(protocol.name).c_str(), stages.c_str(), text_of(tally).c_str());
  return line;
}

}  // namespace

TEST_CASE("every protocol does the same over every transport, whichever stages are two-sided",
          "[conformance]") {
  std::string table;
  const std::vector<std::string> over = transports();
  for (std::size_t transport = 0; transport < over.size(); ++transport) {
    std::size_t protocol_number = 0;
    for (const protocol::ProtocolTraits& protocol : protocol::protocol_traits()) {
      const std::size_t turn = (transport + protocol_number++) % over.size();
      // A case that takes E of real time runs once for each protocol; over the simulator no time is real.
      bool long_transactions = turn == 0 || whole_matrix() || over[transport] == "verbs";
      for (const protocol::StageCode code : stage_codes(over[transport], protocol, turn, over.size())) {
        const Tally tally =
            Suite(over[transport], protocol, code).run(long_transactions || over[transport] == "sim");
        long_transactions = false;
        table += table_line(over[transport], protocol, code.text(), tally);
      }
    }
  }
  std::printf("%s", table.c_str());
}

// Every single stage by call, too: lock, read and find differ in how they take and check reader words.
TEST_CASE("protocols that lock rows do the same over every transport where readers share locks",
          "[conformance]") {
  std::string table;
  const std::vector<std::string> over = transports();
  for (std::size_t transport = 0; transport < over.size(); ++transport) {
    std::size_t protocol_number = 0;
    for (const protocol::ProtocolTraits& protocol : protocol::protocol_traits()) {
      if (!protocol.locks_rows) continue;
      const std::size_t turn = (transport + protocol_number++) % over.size();
      for (const protocol::StageCode code : stage_codes(over[transport], protocol, turn, over.size())) {
        const Tally tally = Suite(over[transport], protocol, code, layout::VectorSpread::whole, true)
                                .run(over[transport] == "sim");
        table += table_line(over[transport], protocol, code.text() + ", shared", tally);
      }
    }
  }
  std::printf("%s", table.c_str());
}

TEST_CASE("protocols with timestamps do the same whenever they lock what they write", "[conformance]") {
  std::string table;
  const std::vector<std::string> over = transports();
  for (std::size_t transport = 0; transport < over.size(); ++transport) {
    std::size_t protocol_number = 0;
    for (const protocol::ProtocolTraits& protocol : protocol::protocol_traits()) {
      if (!protocol.timestamps) continue;
      const std::size_t turn = (transport + protocol_number++) % over.size();
      for (const protocol::StageCode code : stage_codes(over[transport], protocol, turn, over.size())) {
        const Tally tally =
            Suite(over[transport], protocol, code, layout::VectorSpread::whole, false, txn::LockTime::fetch)
                .run(over[transport] == "sim");
        table += table_line(over[transport], protocol, code.text() + ", locks at fetch", tally);
      }
    }
  }
  std::printf("%s", table.c_str());
}

TEST_CASE("every protocol does the same over every transport where the timestamp vector is partitioned",
          "[conformance]") {
  std::string table;
  std::size_t run = 0;
  for (const std::string& transport : transports()) {
    for (const protocol::ProtocolTraits& protocol : protocol::protocol_traits()) {
      std::vector<protocol::StageCode> codes = {protocol::StageCode(), protocol::StageCode::two_sided()};
      // Kind and transport take turns, so that each protocol meets both.
      if (!whole_matrix()) codes = {codes[run++ % codes.size()]};
      for (const protocol::StageCode code : codes) {
        const Tally tally =
            Suite(transport, protocol, code, layout::VectorSpread::partitioned).run(transport == "sim");
        table += table_line(transport, protocol, code.text() + ", partitioned", tally);
      }
    }
    ++run;
  }
  std::printf("%s", table.c_str());
}

}  // namespace namdb::conformance
