#include "tools/sqltest/generate/schema.h"

#include <map>

#include "tools/sqltest/generate/literals.h"

namespace namdb::sqltest {
namespace {

std::string insert_text(Random& random, const Relation& table,
                        const std::map<std::string, std::string>& fixed) {
  std::string names;
  std::string texts;
  for (const Column& column : table.columns) {
    if (column.name == "s" && table.name == "gen_given") continue;
    const auto found = fixed.find(column.name);
    std::string text = found != fixed.end()  ? found->second
                       : random.chance(0.12) ? "NULL"
                                             : value_text(random, column.type, random.chance(0.75));
    names += (names.empty() ? "" : ", ") + column.name;
    texts += (texts.empty() ? "" : ", ") + text;
  }
  return "INSERT INTO " + table.name + " (" + names + ") VALUES (" + texts + ")";
}

}  // namespace

const std::vector<Relation>& relations() {
  static const std::vector<Relation> all = {
      {"gen_all",
       {{"id", "int4"},      {"i2", "int2"},        {"i4", "int4"},     {"i8", "int8"},      {"n", "numeric"},
        {"n2", "numeric"},   {"f4", "float4"},      {"f8", "float8"},   {"b", "bool"},       {"t", "text"},
        {"v", "varchar"},    {"c", "bpchar"},       {"by", "bytea"},    {"d", "date"},       {"ti", "time"},
        {"ts", "timestamp"}, {"tz", "timestamptz"}, {"iv", "interval"}, {"u", "uuid"},       {"j", "jsonb"},
        {"js", "json"},      {"ia", "int4[]"},      {"ta", "text[]"},   {"na", "numeric[]"}, {"da", "date[]"},
        {"m", "gen_mood"}},
       {"id"},
       {},
       {}},
      {"gen_pair",
       {{"a", "int4"}, {"b", "int4"}, {"x", "text"}, {"y", "float8"}, {"z", "numeric"}, {"w", "timestamp"}},
       {"a", "b"},
       {},
       {}},
      {"gen_bag", {{"k", "int4"}, {"t", "text"}, {"n", "numeric"}, {"b", "bool"}}, {}, {}, {}},
      {"gen_parent", {{"code", "text"}, {"num", "int4"}, {"note", "varchar"}}, {"code"}, {"num"}, {}},
      {"gen_child",
       {{"id", "int8"}, {"code", "text"}, {"num", "int4"}, {"q", "int2"}, {"day", "date"}},
       {"id"},
       {},
       {}},
      {"gen_given", {{"s", "int4"}, {"t", "text"}, {"n", "int4"}, {"created", "date"}}, {"s"}, {"n"}, {"s"}},
      {"gen_plain_view",
       {{"id", "int4"}, {"i4", "int4"}, {"t", "text"}, {"double_n", "numeric"}},
       {},
       {},
       {},
       false},
      {"gen_group_view", {{"a", "int4"}, {"rows", "int8"}, {"most", "text"}}, {}, {}, {}, false},
  };
  return all;
}

std::vector<std::string> schema_removal() {
  return {
      "DROP VIEW IF EXISTS gen_plain_view, gen_group_view",
      "DROP TABLE IF EXISTS gen_child, gen_parent, gen_all, gen_pair, gen_bag, gen_given",
      "DROP SEQUENCE IF EXISTS gen_numbers", "DROP TYPE IF EXISTS gen_mood",
      "DROP FUNCTION IF EXISTS gen_add, gen_twice, gen_word, gen_label, gen_between, gen_upto, gen_pairs"};
}

std::vector<std::string> schema_statements() {
  return {
      "CREATE TYPE gen_mood AS ENUM ('sad', 'happy')",
      "ALTER TYPE gen_mood ADD VALUE 'ok' BEFORE 'happy'",
      "ALTER TYPE gen_mood ADD VALUE 'Very happy'",
      "ALTER TYPE gen_mood ADD VALUE 'glad' AFTER 'ok'",
      "ALTER TYPE gen_mood ADD VALUE ''",
      "CREATE TABLE gen_all (id int PRIMARY KEY, i2 smallint, i4 int, i8 bigint, n numeric, n2 numeric(12, "
      "2), f4 real, "
      "f8 double precision, b boolean, t text, v varchar(12), c char(6), by bytea, d date, ti time, ts "
      "timestamp, "
      "tz timestamptz, iv interval, u uuid, j jsonb, js json, ia int[], ta text[], na numeric[], da date[], "
      "m gen_mood)",
      "CREATE INDEX gen_all_m ON gen_all (m)",
      "CREATE INDEX gen_all_i4 ON gen_all (i4)",
      "CREATE INDEX gen_all_t ON gen_all (t, i4 DESC)",
      "CREATE INDEX gen_all_d ON gen_all (d)",
      "CREATE INDEX gen_all_n ON gen_all (n)",
      "CREATE INDEX gen_all_v ON gen_all USING hash (v)",
      "CREATE TABLE gen_pair (a int, b int, x text, y double precision, z numeric(8, 3), w timestamp, "
      "PRIMARY KEY (a, b))",
      "CREATE INDEX gen_pair_b ON gen_pair (b, x)",
      "CREATE TABLE gen_bag (k int, t text, n numeric, b boolean)",
      "CREATE INDEX gen_bag_k ON gen_bag (k)",
      "CREATE TABLE gen_parent (code text PRIMARY KEY, num int UNIQUE, note varchar(12) DEFAULT 'none')",
      "CREATE TABLE gen_child (id bigint PRIMARY KEY, code text REFERENCES gen_parent ON DELETE CASCADE, "
      "num int REFERENCES gen_parent (num) ON DELETE SET NULL ON UPDATE CASCADE, "
      "q smallint NOT NULL DEFAULT 3 CHECK (q BETWEEN -5 AND 50), day date, CONSTRAINT gen_day CHECK (day > "
      "'1980-01-01'))",
      "CREATE INDEX gen_child_code ON gen_child (code)",
      "CREATE TABLE gen_given (s serial PRIMARY KEY, t text NOT NULL, n int UNIQUE, created date DEFAULT "
      "'2024-05-05')",
      "CREATE VIEW gen_plain_view AS SELECT id, i4, t, n * 2 AS double_n FROM gen_all WHERE id < 25",
      "CREATE VIEW gen_group_view AS SELECT a, count(*) AS rows, max(x) AS most FROM gen_pair GROUP BY a",
      "CREATE SEQUENCE gen_numbers",
      "CREATE FUNCTION gen_add(x int, y int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT x + y'",
      "CREATE FUNCTION gen_twice(x bigint) RETURNS bigint LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN x * "
      "2; END $$",
      "CREATE FUNCTION gen_word(x int) RETURNS text LANGUAGE plpgsql STABLE AS $$ DECLARE found text; BEGIN "
      "SELECT t INTO found FROM gen_all WHERE id = x; IF found IS NULL THEN RETURN 'none of ' || x; END IF; "
      "RETURN found; "
      "END $$",
      "CREATE FUNCTION gen_label(x text, loud boolean) RETURNS text LANGUAGE sql IMMUTABLE STRICT AS "
      "'SELECT CASE WHEN loud THEN upper(x) ELSE lower(x) END'",
      "CREATE FUNCTION gen_between(x int, low int, high int) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS "
      "$$ BEGIN "
      "IF low > high THEN RETURN gen_between(x, high, low); END IF; RETURN x >= low AND x <= high; END $$",
      "CREATE FUNCTION gen_upto(x int) RETURNS SETOF int LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN "
      "FOR i IN 1..x LOOP RETURN NEXT i * i; END LOOP; END $$",
      "CREATE FUNCTION gen_pairs(x int) RETURNS TABLE (b2 int, x2 text) LANGUAGE sql STABLE AS "
      "'SELECT b, x FROM gen_pair WHERE a = $1'",
  };
}

std::vector<std::string> fill_statements(Random& random) {
  std::vector<std::string> all = {
      "TRUNCATE gen_child, gen_parent, gen_all, gen_pair, gen_bag, gen_given RESTART IDENTITY"};
  const std::vector<Relation>& tables = relations();
  for (int id = 1; id <= 30; ++id)
    all.push_back(insert_text(random, tables[0],
                              {{"id", std::to_string(id)}, {"n2", value_text(random, "int2", true)}}));
  for (int a = 1; a <= 6; ++a) {
    for (int b = 0; b < a; ++b) {
      all.push_back(insert_text(
          random, tables[1],
          {{"a", std::to_string(a)},
           {"b", std::to_string(b * 3)},
           {"z", std::to_string(random.below(1000)) + "." + std::to_string(random.below(1000))}}));
    }
  }
  for (int i = 0; i < 20; ++i) all.push_back(insert_text(random, tables[2], {}));
  for (int i = 0; i < 8; ++i) {
    all.push_back(insert_text(random, tables[3],
                              {{"code", "'" + std::string(1, static_cast<char>('a' + i)) + "'"},
                               {"num", i % 4 == 3 ? "NULL" : std::to_string(i * 2)}}));
  }
  for (int i = 1; i <= 16; ++i) {
    const std::string code =
        "'" + std::string(1, static_cast<char>('a' + static_cast<char>(random.below(8)))) + "'";
    static constexpr std::string_view kNumbers = "0 2 4 8 10 12 NULL";
    all.push_back(insert_text(random, tables[4],
                              {{"id", std::to_string(i)},
                               {"code", random.chance(0.2) ? "NULL" : code},
                               {"num", pick(random, kNumbers)},
                               {"q", std::to_string(random.below(20))},
                               {"day", "'20" + std::to_string(10 + random.below(15)) + "-03-0" +
                                           std::to_string(1 + random.below(9)) + "'"}}));
  }
  for (int i = 1; i <= 5; ++i) {
    all.push_back(
        insert_text(random, tables[5], {{"t", "'t" + std::to_string(i) + "'"}, {"n", std::to_string(i)}}));
  }
  return all;
}

}  // namespace namdb::sqltest
