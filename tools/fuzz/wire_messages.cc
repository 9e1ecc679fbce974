#include "tools/fuzz/wire_messages.h"

#include <optional>
#include <string_view>

#include "compute/pgwire/testing/password_client.h"
#include "tools/fuzz/targets.h"

namespace namdb::fuzz {
namespace {

using namespace pgwire::testing;

struct Value {
  std::optional<std::string> bytes;
};

// Formats: as Bind has them, none, one, or one each.
std::string bind_with(std::string_view portal, std::string_view statement,
                      const std::vector<std::uint16_t>& formats, const std::vector<Value>& values,
                      const std::vector<std::uint16_t>& result_formats) {
  std::string payload = zero_terminated(portal) + zero_terminated(statement) + big_endian(formats.size(), 2);
  for (const std::uint16_t format : formats) payload += big_endian(format, 2);
  payload += big_endian(values.size(), 2);
  for (const Value& value : values)
    payload += value.bytes ? big_endian(value.bytes->size(), 4) + *value.bytes : big_endian(0xffffffff, 4);
  payload += big_endian(result_formats.size(), 2);
  for (const std::uint16_t format : result_formats) payload += big_endian(format, 2);
  return message('B', payload);
}

std::string parse_with(std::string_view name, std::string_view sql, const std::vector<std::uint32_t>& types) {
  std::string payload = zero_terminated(name) + zero_terminated(sql) + big_endian(types.size(), 2);
  for (const std::uint32_t type : types) payload += big_endian(type, 4);
  return message('P', payload);
}

// Two columns, a row of them, and the end.
const std::string kBinaryCopy = "PGCOPY\n\377\r\n" + std::string(9, '\0') + big_endian(2, 2) +
                                big_endian(4, 4) + big_endian(7, 4) + big_endian(1, 4) + "x\377\377";

}  // namespace

const std::vector<std::string>& wire_messages() {
  static const std::vector<std::string> messages = {
      query("SELECT a, b FROM t"),
      query("SELECT * FROM types"),
      query("SELECT 1; SELECT 2 / 0; SELECT 3"),
      query("BEGIN"),
      query("COMMIT"),
      query("ROLLBACK"),
      query("SAVEPOINT s"),
      query("ROLLBACK TO s"),
      query("INSERT INTO parent VALUES (100, 'x')"),
      query("UPDATE t SET b = b || 'x'"),
      query("DELETE FROM t"),
      query("CREATE TABLE u (a int PRIMARY KEY)"),
      query("DROP TABLE u"),
      query("DROP TABLE child"),
      query("ALTER TABLE t ADD COLUMN z int"),
      query("CALL pay(1, 2)"),
      query("SELECT factorial(5)"),
      query("SELECT * FROM named"),
      query("SELECT nextval('numbers')"),
      query("DECLARE c CURSOR FOR SELECT * FROM child"),
      query("FETCH 3 FROM c"),
      query("CLOSE c"),
      query("PREPARE p AS SELECT $1::int"),
      query("EXECUTE p(1)"),
      query("DEALLOCATE ALL"),
      query("DISCARD ALL"),
      query("SET statement_timeout = 10"),
      query("SELECT pg_sleep(1)"),
      query("SHOW ALL"),
      query("SELECT * FROM pg_stat_activity"),
      query("SELECT pg_terminate_backend(1)"),
      query("SELECT pg_cancel_backend(1)"),
      query("SET ROLE readers"),
      query("RESET ALL"),
      query(""),
      query(";"),
      query("COPY t (a, b) FROM STDIN"),
      query("COPY t (a, b) FROM STDIN (FORMAT csv, HEADER)"),
      query("COPY t (a, b) FROM STDIN (FORMAT binary)"),
      query("COPY types TO STDOUT (FORMAT binary)"),
      query("COPY (SELECT * FROM child) TO STDOUT"),
      query("COPY parent TO STDOUT (FORMAT csv)"),
      message('d', "7\tx\n8\t\\N\n"),
      message('d', "a,b\n7,\"x\n\"\n"),
      message('d', kBinaryCopy),
      message('d', "\\.\n"),
      message('d', ""),
      message('c', ""),
      message('f', zero_terminated("no more")),
      parse("", "SELECT a FROM t WHERE a = $1"),
      parse("s", "SELECT $1, b, c FROM t WHERE a < $2"),
      parse("i", "INSERT INTO t (a, b) VALUES ($1, $2)"),
      parse("", "COPY t (a, b) FROM STDIN"),
      parse("", "CALL pay($1, $2)"),
      parse("", "BEGIN"),
      parse("", "COMMIT"),
      parse("", ""),
      parse("", "SELECT * FROM child"),
      parse_with("", "SELECT $1", {25}),
      parse_with("x", "SELECT $1 + $2", {23, 20}),
      parse_with("y", "SELECT $1, $2, $3, $4, $5, $6", {1700, 1184, 3802, 1007, 2950, 1186}),
      bind("", "", {"1"}),
      bind("", "s", {"1", "2"}),
      bind("p", "", {}),
      bind("", "i", {"50", std::nullopt}),
      bind_with("", "x", {1}, {{big_endian(1, 4)}, {big_endian(2, 8)}}, {1}),
      bind_with("", "y", {1},
                {{std::string("\0\1\0\0\0\0\0\2\0\5\23\210", 12)},
                 {big_endian(0, 8)},
                 {"\1{\"a\": [1, 2]}"},
                 {big_endian(1, 4) + big_endian(0, 4) + big_endian(23, 4) + big_endian(1, 4) +
                  big_endian(1, 4) + big_endian(4, 4) + big_endian(9, 4)},
                 {std::string(16, '\1')},
                 {big_endian(5, 8) + big_endian(2, 4) + big_endian(1, 4)}},
                {1}),
      bind_with("", "", {0, 1}, {{"1"}, {std::nullopt}}, {0, 1, 0}),
      describe('S', ""),
      describe('S', "s"),
      describe('P', ""),
      describe('P', "p"),
      execute(""),
      execute("", 2),
      execute("p", 1),
      execute("p"),
      close_target('S', ""),
      close_target('S', "s"),
      close_target('P', "p"),
      sync(),
      sync(),
      flush(),
      terminate(),
      message('F', std::string(12, '\0')),
      sasl_initial("SCRAM-SHA-256", "n,,n=,r=fyko+d2lbbFgONRv9qkxdawL"),
      sasl_initial("SCRAM-SHA-256-PLUS", "p=tls-server-end-point,,n=,r=abc"),
      message('p', "c=biws,r=fyko+d2lbbFgONRv9qkxdawL,p=AAAA"),
      message('p', zero_terminated("secret")),
  };
  return messages;
}

const std::vector<std::string>& wire_startups() {
  static const std::vector<std::string> startups = {
      startup({{"user", "tester"}, {"database", "namdb"}}),
      startup({{"user", "visitor"},
               {"database", "namdb"},
               {"application_name", "a"},
               {"options", "-c statement_timeout=5"}}),
      startup({{"user", "tester"},
               {"client_encoding", "UTF8"},
               {"DateStyle", "ISO"},
               {"TimeZone", "Europe/Berlin"}}),
      startup({{"user", "tester"}, {"_pq_.x", "1"}}, 3U << 16 | 2),
      startup({}),
      startup({{"user", "tester"}, {"database", "namdb"}}, 2U << 16),
      big_endian(8, 4) + big_endian(80'877'103, 4),
      big_endian(8, 4) + big_endian(80'877'104, 4),
      big_endian(16, 4) + big_endian(80'877'102, 4) + big_endian(1, 4) + big_endian(7, 4),
  };
  return startups;
}

// Sequences of messages as clients send them.
std::vector<std::string> wire_inputs() {
  const auto input = [](std::uint8_t mode, std::uint8_t read_limit, std::string bytes) {
    return std::string{static_cast<char>(mode), static_cast<char>(read_limit)} + bytes;
  };
  std::vector<std::string> inputs;
  for (const std::string& startup_bytes : wire_startups()) {
    for (const std::uint8_t mode : {0, 1})
      inputs.push_back(input(mode, 0, startup_bytes + query("SELECT 1")));
  }
  const std::string beginning = wire_startups().front();
  inputs.push_back(
      input(0, 1, wire_startups()[6] + wire_startups()[7] + beginning + query("SELECT 1") + terminate()));
  inputs.push_back(input(
      1, 0, beginning + sasl_initial("SCRAM-SHA-256", "n,,n=,r=abc") + message('p', "c=biws,r=abc,p=AA==")));
  inputs.push_back(input(1 | 8, 0, message('p', "c=biws,r=abc,p=AA==") + query("SELECT 1")));
  for (const std::string& one : wire_messages()) {
    for (const std::uint8_t mode : {2, 3, 2 | 4}) inputs.push_back(input(mode, 0, one + sync()));
  }
  for (const std::uint8_t mode : {2, 2 | 4}) {
    inputs.push_back(input(mode, 0,
                           parse("", "SELECT * FROM child") + bind("", "") + describe('P', "") +
                               execute("", 3) + execute("", 3) + close_target('P', "") + execute("") +
                               sync()));
    inputs.push_back(input(mode, 0,
                           query("BEGIN") + parse("s", "SELECT b FROM t WHERE a = $1") +
                               bind("p", "s", {"1"}) + execute("p", 1) + sync() + query("DROP TABLE t") +
                               execute("p", 1) + sync() + query("COMMIT")));
    for (const char end : {'c', 'f', 'S', 'Q', 'X'}) {
      inputs.push_back(input(mode, 0,
                             query("COPY t (a, b) FROM STDIN") + message('d', "9\tx\n10\t") +
                                 message('d', "y\n") + message(end, zero_terminated("end")) +
                                 query("SELECT 1")));
      inputs.push_back(input(mode, 0,
                             parse("", "COPY t (a, b) FROM STDIN") + bind("", "") + execute("") +
                                 message('d', "9\tx\n") + message(end, zero_terminated("end")) + sync() +
                                 query("SELECT 1")));
    }
    inputs.push_back(input(
        mode, 0,
        query("COPY t (a, b) FROM STDIN (FORMAT binary)") + message('d', kBinaryCopy) + message('c', "")));
    inputs.push_back(input(mode, 7,
                           parse("x", "SELECT $1::int + $2::bigint") + describe('S', "x") +
                               bind_with("", "x", {1}, {{big_endian(1, 4)}, {big_endian(2, 8)}}, {1}) +
                               execute("") + sync()));
    inputs.push_back(input(mode, 0,
                           parse("", "SELECT 1") + bind("", "") + execute("") + parse("", "SELECT 1/0") +
                               bind("", "") + execute("") + parse("", "SELECT 2") + bind("", "") +
                               execute("") + sync() + query("SELECT 3")));
    // Values in binary form, of each type that has one.
    for (const std::string& one : wire_messages()) {
      if (one.front() == 'B')
        inputs.push_back(input(
            mode, 0,
            wire_messages()[59] +
                parse("y",
                      "SELECT $1::numeric, $2::timestamptz, $3::jsonb, $4::int[], $5::uuid, $6::interval") +
                one + execute("") + sync()));
    }
  }
  return inputs;
}

}  // namespace namdb::fuzz
