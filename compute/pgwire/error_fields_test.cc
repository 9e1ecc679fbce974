// Errors have the fields of PostgreSQL's errors, beside SQLSTATE and message.
#include <catch2/catch.hpp>

#include "compute/pgwire/testing/test_client.h"

namespace namdb::pgwire {

using namespace testing;  // NOLINT: the messages are the vocabulary of this file

namespace {

// A client, and a table with a primary key, a constraint and an index.
struct Scene {
  Scene() {
    CHECK(sqlstate(client.ask(query("CREATE TABLE t (id integer PRIMARY KEY, code varchar(9) UNIQUE, "
                                    "n integer NOT NULL DEFAULT 0, \"Odd\" char(3))"))) == "");
    CHECK(sqlstate(client.ask(query("CREATE UNIQUE INDEX pairs ON t (n, \"Odd\")"))) == "");
    CHECK(sqlstate(client.ask(query("INSERT INTO t VALUES (7, 'seven', 1, 'x')"))) == "");
  }
  Received error_of(const std::string& sql) {
    const auto messages = client.ask(query(sql));
    const Received* error = find_error(messages);
    return error == nullptr ? Received() : *error;
  }
  // The statement's text from the error's position on.
  std::string at(const std::string& sql) {
    const std::string position = error_of(sql).field('P');
    return position.empty() ? "nowhere" : sql.substr(std::stoul(position) - 1, 4);
  }

  World world;
  TestClient client = TestClient::ready(world);
};

// SQLSTATE, schema, table, column, constraint, DETAIL.
std::string said(const Received& error) {
  std::string all;
  for (const char code : std::string_view("CstcnD")) all += (all.empty() ? "" : "|") + error.field(code);
  return all;
}

}  // namespace

TEST_CASE("a duplicate key names the constraint, its columns and their values", "[errors]") {
  Scene scene;
  CHECK(said(scene.error_of("INSERT INTO t VALUES (8, NULL, 8), (7, 'other', 2)")) ==
        "23505|public|t||t_pkey|Key (id)=(7) already exists.");
  CHECK(said(scene.error_of("INSERT INTO t VALUES (8, 'seven', 2)")) ==
        "23505|public|t||t_code_key|Key (code)=(seven) already exists.");
  CHECK(said(scene.error_of("INSERT INTO t VALUES (8, 'eight', 1, 'x')")) ==
        "23505|public|t||pairs|Key (n, \"Odd\")=(1, x  ) already exists.");
  // In a block, and by the extended protocol.
  CHECK(said(scene.error_of("BEGIN; INSERT INTO t VALUES (9, 'seven', 3)")) ==
        "23505|public|t||t_code_key|Key (code)=(seven) already exists.");
  CHECK(scene.error_of("ROLLBACK").field('C').empty());
  const auto extended = scene.client.ask(parse("", "INSERT INTO t VALUES ($1, 'q', 4)") +
                                         bind("", "", {{"7"}}) + execute("") + sync());
  REQUIRE(find_error(extended) != nullptr);
  CHECK(said(*find_error(extended)) == "23505|public|t||t_pkey|Key (id)=(7) already exists.");
  CHECK(said(scene.error_of("SELECT 1 / 0")) == "22012|||||");
}

TEST_CASE("duplicates that keep a constraint from being made name it and their values", "[errors]") {
  Scene scene;
  CHECK(scene.error_of("INSERT INTO t VALUES (20, 'a', 5), (21, 'b', 5)").field('C').empty());
  CHECK(said(scene.error_of("CREATE UNIQUE INDEX ns ON t (n)")) ==
        "23505|public|t||ns|Key (n)=(5) is duplicated.");
  CHECK(said(scene.error_of("CREATE UNIQUE INDEX ON t ((n + 1), n)")) ==
        "23505|public|t||t_expr_n_idx|Key ((n + 1), n)=(6, 5) is duplicated.");
  CHECK(said(scene.error_of("ALTER TABLE t ADD UNIQUE (n)")) ==
        "23505|public|t||t_n_key|Key (n)=(5) is duplicated.");
  CHECK(said(scene.error_of("ALTER TABLE t ADD CONSTRAINT once UNIQUE (n)")) ==
        "23505|public|t||once|Key (n)=(5) is duplicated.");
  CHECK(scene.error_of("CREATE TABLE bare (a integer, \"B\" char(3))").field('C').empty());
  CHECK(scene.error_of("INSERT INTO bare VALUES (1, 'x'), (2, 'x'), (1, 'x')").field('C').empty());
  CHECK(said(scene.error_of("ALTER TABLE bare ADD PRIMARY KEY (a, \"B\")")) ==
        "23505|public|bare||bare_pkey|Key (a, \"B\")=(1, x  ) is duplicated.");
  CHECK(said(scene.error_of("BEGIN; ALTER TABLE bare ADD PRIMARY KEY (\"B\")")) ==
        "23505|public|bare||bare_pkey|Key (\"B\")=(x  ) is duplicated.");
  CHECK(scene.error_of("ROLLBACK").field('C').empty());
}

TEST_CASE("a NULL where there must be a value names the column and shows the row", "[errors]") {
  Scene scene;
  CHECK(said(scene.error_of("INSERT INTO t VALUES (8, 'eight', NULL, 'ab')")) ==
        "23502|public|t|n||Failing row contains (8, eight, null, ab ).");
  CHECK(said(scene.error_of("UPDATE t SET n = NULL WHERE id = 7")) ==
        "23502|public|t|n||Failing row contains (7, seven, null, x  ).");
  CHECK(said(scene.error_of("INSERT INTO t (n) VALUES (1)")) ==
        "23502|public|t|id||Failing row contains (null, null, 1, null).");
  // The values come first.
  CHECK(scene.error_of("INSERT INTO t VALUES (8, NULL, NULL, 'abcd')").field('C') == "22001");
  CHECK(scene.error_of("CREATE TABLE w (id text PRIMARY KEY, n integer NOT NULL)").field('C').empty());
  const std::string detail =
      scene.error_of("INSERT INTO w VALUES ('" + std::string(63, 'a') + "äb', NULL)").field('D');
  CHECK(detail == "Failing row contains (" + std::string(63, 'a') + "..., null).");
}

TEST_CASE("a row that violates a CHECK names the constraint and shows the row", "[errors]") {
  Scene scene;
  CHECK(scene
            .error_of("CREATE TABLE c (id integer PRIMARY KEY, n integer CHECK (n > 0), "
                      "CONSTRAINT small CHECK (n < 10))")
            .field('C')
            .empty());
  CHECK(said(scene.error_of("INSERT INTO c VALUES (1, 5), (2, 0)")) ==
        "23514|public|c||c_n_check|Failing row contains (2, 0).");
  CHECK(scene.error_of("INSERT INTO c VALUES (1, 5)").field('C').empty());
  CHECK(said(scene.error_of("UPDATE c SET n = 10")) == "23514|public|c||small|Failing row contains (1, 10).");
}

TEST_CASE("a row that violates a foreign key names the constraint, the key and the other table", "[errors]") {
  Scene scene;
  CHECK(scene.error_of("CREATE TABLE child (id integer PRIMARY KEY, t integer REFERENCES t)")
            .field('C')
            .empty());
  CHECK(said(scene.error_of("INSERT INTO child VALUES (1, 8)")) ==
        "23503|public|child||child_t_fkey|Key (t)=(8) is not present in table \"t\".");
  CHECK(scene.error_of("INSERT INTO child VALUES (1, 7)").field('C').empty());
  CHECK(said(scene.error_of("DELETE FROM t")) ==
        "23503|public|child||child_t_fkey|Key (id)=(7) is still referenced from table \"child\".");
}

TEST_CASE("a text that is no array is told of what is wrong with it", "[errors]") {
  Scene scene;
  const std::vector<std::pair<std::string, std::string>> faults = {
      {"1,2}", "Array value must start with \"{\" or dimension information."},
      {"", "Array value must start with \"{\" or dimension information."},
      {"{1,2", "Unexpected end of input."},
      {"{\"a", "Unexpected end of input."},
      {"{\"a\"", "Unexpected end of input."},
      {"{", "Unexpected end of input."},
      {"{1,,2}", "Unexpected \",\" character."},
      {"{,1}", "Unexpected \",\" character."},
      {"{1,}", "Unexpected \"}\" character."},
      {"{1{2}", "Unexpected \"{\" character."},
      {"{\"a\"b}", "Unexpected array element."},
      {"{a\"b\"}", "Unexpected array element."},
      {"{1,2}x", "Junk after closing right brace."},
  };
  for (const auto& [literal, detail] : faults) {
    CAPTURE(literal);
    const Received error = scene.error_of("SELECT '" + literal + "'::text[]");
    CHECK(error.field('C') == "22P02");
    CHECK(error.field('D') == detail);
  }
}

TEST_CASE("a text that is no json is told of what is wrong with it", "[errors]") {
  Scene scene;
  const std::vector<std::pair<std::string, std::string>> faults = {
      {"", "The input string ended unexpectedly."},
      {"[1,", "The input string ended unexpectedly."},
      {"{\"a\":", "The input string ended unexpectedly."},
      {"{\"a\"", "The input string ended unexpectedly."},
      {"[[1]", "The input string ended unexpectedly."},
      {"nul", "Token \"nul\" is invalid."},
      {"[1, yes]", "Token \"yes\" is invalid."},
      {"+1", "Token \"+\" is invalid."},
      {"01", "Token \"01\" is invalid."},
      {"-", "Token \"-\" is invalid."},
      {"1.", "Token \"1.\" is invalid."},
      {"1e+", "Token \"1e+\" is invalid."},
      {"12ab_c ", "Token \"12ab_c\" is invalid."},
      {"\"abc", "Token \"\"abc\" is invalid."},
      {"\"\\u12", "Token \"\"\\u12\" is invalid."},
      {"\"\\u12g4\"", "\"\\u\" must be followed by four hexadecimal digits."},
      {"\"\\x\"", "Escape sequence \"\\x\" is invalid."},
      {"\"a\tb\"", "Character with value 0x09 must be escaped."},
      {"1 2", "Expected end of input, but found \"2\"."},
      {"{} []", "Expected end of input, but found \"[\"."},
      {"}", "Expected JSON value, but found \"}\"."},
      {"[1,]", "Expected JSON value, but found \"]\"."},
      {"[,1]", "Expected JSON value, but found \",\"."},
      {"{1:2}", "Expected string or \"}\", but found \"1\"."},
      {"{\"a\":1,}", "Expected string, but found \"}\"."},
      {"{\"a\" 1}", "Expected \":\", but found \"1\"."},
      {"{\"a\":}", "Expected JSON value, but found \"}\"."},
      {"{\"a\":1 \"b\":2}", "Expected \",\" or \"}\", but found \"\"b\"\"."},
      {"{\"a\":[1}", "Expected \",\" or \"]\", but found \"}\"."},
  };
  for (const auto& [literal, detail] : faults) {
    for (const std::string type : {"json", "jsonb"}) {
      CAPTURE(literal, type);
      const Received error = scene.error_of("SELECT '" + literal + "'::" + type);
      CHECK(error.field('C') == "22P02");
      CHECK(error.field('D') == detail);
    }
  }
}

TEST_CASE("a view that cannot be changed is told of the reason", "[errors]") {
  Scene scene;
  const auto views = [](const std::string& those) {
    return "Views " + those + " are not automatically updatable.";
  };
  const std::vector<std::pair<std::string, std::string>> reasons = {
      {"SELECT DISTINCT n FROM t LIMIT 1", views("containing DISTINCT")},
      {"SELECT n, count(*) FROM t GROUP BY n HAVING count(*) > 1", views("containing GROUP BY")},
      {"SELECT 1 AS one FROM t HAVING count(*) > 1", views("containing HAVING")},
      {"SELECT n FROM t UNION ALL SELECT n FROM t", views("containing UNION, INTERSECT, or EXCEPT")},
      {"WITH w AS (SELECT 1 AS n) SELECT t.n FROM t, w", views("containing WITH")},
      {"SELECT n FROM t LIMIT 1", views("containing LIMIT or OFFSET")},
      {"SELECT n FROM t OFFSET 1", views("containing LIMIT or OFFSET")},
      {"SELECT max(n) AS n FROM t", views("that return aggregate functions")},
      {"SELECT rank() OVER (ORDER BY n) AS n FROM t", views("that return window functions")},
      {"SELECT a.n FROM t a JOIN t b ON a.id = b.id",
       views("that do not select from a single table or view")},
      {"SELECT a.n FROM t a, t b", views("that do not select from a single table or view")},
      {"SELECT 1 AS n", views("that do not select from a single table or view")},
      {"SELECT n + 1 AS n FROM t", views("that have no updatable columns")},
  };
  for (const auto& [sql, detail] : reasons) {
    CAPTURE(sql);
    CHECK(scene.error_of("CREATE OR REPLACE VIEW v AS " + sql).field('C').empty());
    const Received error = scene.error_of("DELETE FROM v");
    CHECK(error.field('C') == "55000");
    CHECK(error.field('D') == detail);
    CHECK(scene.error_of("DROP VIEW v").field('C').empty());
  }
}

TEST_CASE("a function whose last statement gives another result is told of the difference", "[errors]") {
  Scene scene;
  const std::vector<std::pair<std::string, std::string>> faults = {
      {"RETURNS integer LANGUAGE sql AS 'INSERT INTO t VALUES (1)'",
       "Function's final statement must be SELECT or INSERT/UPDATE/DELETE RETURNING."},
      {"RETURNS integer LANGUAGE sql AS 'SELECT 1, 2'", "Final statement must return exactly one column."},
      {"RETURNS integer LANGUAGE sql AS 'SELECT code FROM t'", "Actual return type is character varying."},
      {"RETURNS TABLE (a integer, b integer) LANGUAGE sql AS 'SELECT 1'",
       "Final statement returns too few columns."},
      {"RETURNS TABLE (a integer, b integer) LANGUAGE sql AS 'SELECT 1, 2, 3'",
       "Final statement returns too many columns."},
      {"RETURNS TABLE (a integer, b integer) LANGUAGE sql AS 'SELECT 1, code, 3 FROM t'",
       "Final statement returns character varying instead of integer at column 2."},
  };
  for (const auto& [definition, detail] : faults) {
    CAPTURE(definition);
    const Received error = scene.error_of("CREATE FUNCTION f() " + definition);
    CHECK(error.field('C') == "42P13");
    CHECK(error.field('D') == detail);
  }
  CHECK(scene.error_of("CREATE FUNCTION g(OUT a integer, OUT b integer) LANGUAGE sql AS 'SELECT 1, 2'")
            .field('C')
            .empty());
  CHECK(said(scene.error_of(
            "CREATE OR REPLACE FUNCTION g(OUT a integer, OUT b bigint) LANGUAGE sql AS 'SELECT 1, 2'")) ==
        "42P13|||||Row type defined by OUT parameters is different.");
}

TEST_CASE("an error says where in the statement it lies", "[errors]") {
  Scene scene;
  CHECK(scene.at("SELEC 1; SELECT 2") == "SELE");
  CHECK(scene.at("SELECT id FROM t WHERE nosuch = 1") == "nosu");
  CHECK(scene.at("SELECT id FROM nowhere") == "nowh");
  CHECK(scene.at("SELECT 1; SELECT id FROM nowhere") == "nowh");
  CHECK(scene.at("SELECT id, frobnicate(n) FROM t") == "frob");
  CHECK(scene.at("SELECT other.id FROM t") == "othe");
  CHECK(scene.at("SELECT other.* FROM t") == "othe");
  CHECK(scene.at("SELECT * FROM t ORDER BY 9") == "9");
  CHECK(scene.at("SELECT * FROM t WHERE id = 'abc'") == "'abc");
  CHECK(scene.at("SELECT id FROM t WHERE id + 1") == "id +");
  CHECK(scene.at("SELECT true + id FROM t") == "+ id");
  CHECK(scene.at("SELECT '1'::nosuch") == "nosu");
  CHECK(scene.at("SELECT id FROM t LIMIT id") == "id");
  CHECK(scene.at("INSERT INTO t (id, nosuch) VALUES (1, 2)") == "nosu");
  CHECK(scene.at("INSERT INTO t (id) VALUES (1, 2)") == "2)");
  CHECK(scene.at("INSERT INTO t (id, n) VALUES (1)") == "n) V");
  CHECK(scene.at("INSERT INTO t (id) VALUES (1), ('one')") == "'one");
  CHECK(scene.at("INSERT INTO t (id) VALUES (now())") == "now(");
  CHECK(scene.at("INSERT INTO nowhere VALUES (1)") == "nowh");
  CHECK(scene.at("UPDATE t SET nosuch = 1") == "nosu");
  CHECK(scene.at("UPDATE t SET n = now()") == "now(");
  CHECK(scene.at("DELETE FROM nowhere") == "nowh");
  CHECK(scene.at("CALL frobnicate(1)") == "frob");
  CHECK(scene.at("CREATE TABLE u (id nosuch PRIMARY KEY)") == "nosu");
  CHECK(scene.at("SELECT id, code FROM t GROUP BY code") == "id, ");
  CHECK(scene.at("SELECT max(id), t.id FROM t GROUP BY code") == "t.id");
  CHECK(scene.at("SELECT * FROM t GROUP BY code") == "* FR");
  CHECK(scene.at("SELECT code FROM t GROUP BY code HAVING n > 1") == "n > ");
  CHECK(scene.at("SELECT code FROM t GROUP BY code ORDER BY n + 1") == "n + ");
  CHECK(scene.at("SELECT DISTINCT code FROM t ORDER BY code, n") == "n");
  CHECK(scene.at("SELECT rank() OVER nosuch FROM t") == "nosu");
  CHECK(scene.at("SELECT rank() OVER (nosuch) FROM t") == "(nos");
  CHECK(scene.at("SELECT 1 FROM t WINDOW v AS (ORDER BY n), w AS (nosuch)") == "(nos");
  CHECK(scene.at("SELECT 1 FROM t WINDOW w AS (ORDER BY n), w AS (PARTITION BY id)") == "(PAR");
  CHECK(scene.at("SELECT rank() OVER (w PARTITION BY id) FROM t WINDOW w AS (ORDER BY n)") == "(w P");
  CHECK(scene.at("SELECT rank() OVER (w ORDER BY id) FROM t WINDOW w AS (ORDER BY n)") == "(w O");
  CHECK(scene.at("SELECT rank() OVER (w) FROM t WINDOW w AS (ROWS 1 PRECEDING)") == "(w) ");
  CHECK(scene.at("SELECT sum(n) OVER (GROUPS 1 PRECEDING) FROM t") == "(GRO");
  CHECK(scene.at("SELECT sum(n) OVER w FROM t WINDOW w AS (ORDER BY n, id RANGE 1 PRECEDING)") == "(ORD");
  CHECK(scene.at("SELECT sum(n) OVER (ORDER BY n ROWS n PRECEDING) FROM t") == "n PR");
  CHECK(scene.at("SELECT sum(n) OVER (ORDER BY n ROWS true PRECEDING) FROM t") == "true");
  CHECK(scene.at("SELECT sum(n) OVER (ORDER BY code RANGE 1 PRECEDING) FROM t") == "1 PR");
  CHECK(scene.at("INSERT INTO t VALUES (7)") == "nowhere");
  // In characters, and in prepared statements too.
  CHECK(scene.error_of("SELECT 'äöü', nosuch").field('P') == "15");
  const auto prepared = scene.client.ask(parse("", "SELECT $1::integer + nosuch FROM t") + sync());
  REQUIRE(find_error(prepared) != nullptr);
  CHECK(find_error(prepared)->field('P') == "22");
  // Fields of an earlier error are not repeated with the next.
  const auto unknown = scene.client.ask(bind("", "nosuch") + sync());
  REQUIRE(find_error(unknown) != nullptr);
  CHECK(find_error(unknown)->field('P').empty());
}

TEST_CASE("the context of an error within a CASE has the line of that statement", "[errors]") {
  Scene scene;
  const std::string created =
      "CREATE PROCEDURE p(n int) LANGUAGE plpgsql AS $$\n"
      "BEGIN\n"
      "  CASE 10 / n\n"
      "    WHEN 10 / (n - 2) THEN NULL;\n"
      "    ELSE NULL;\n"
      "  END CASE;\n"
      "  CASE WHEN n = 10 THEN NULL; END CASE;\n"
      "END $$";
  CHECK(scene.error_of(created).field('C').empty());
  CHECK(scene.error_of("CALL p(0)").field('W') == "PL/pgSQL function p(integer) line 3 at CASE");
  CHECK(scene.error_of("CALL p(2)").field('W') == "PL/pgSQL function p(integer) line 3 at CASE");
  CHECK(scene.error_of("CALL p(5)").field('W') == "PL/pgSQL function p(integer) line 7 at CASE");
}

TEST_CASE("a misspelt column is told of the one that it looks like", "[errors]") {
  Scene scene;
  CHECK(scene.error_of("SELECT cod FROM t").field('H') ==
        "Perhaps you meant to reference the column \"t.code\".");
  CHECK(scene.error_of("SELECT a.coed FROM t a").field('H') ==
        "Perhaps you meant to reference the column \"a.code\".");
  CHECK(scene.error_of("SELECT something FROM t").field('H').empty());
}

// As psql 15 asks.
TEST_CASE("psql completes words without failing the block that its user is in", "[errors]") {
  const std::vector<std::pair<std::string, std::size_t>> asked = {
      {"SELECT c.relname, NULL::pg_catalog.text FROM pg_catalog.pg_class c WHERE c.relkind IN ('r', 'S', "
       "'v', "
       "'m', 'f', 'p') AND (c.relname) LIKE 'foo%' AND pg_catalog.pg_table_is_visible(c.oid) AND "
       "c.relnamespace <> (SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = 'pg_catalog')\nUNION "
       "ALL\nSELECT NULL::pg_catalog.text, n.nspname FROM pg_catalog.pg_namespace n WHERE n.nspname LIKE "
       "'foo%' AND n.nspname NOT LIKE E'pg\\\\_%'\nLIMIT 1000",
       2},
      {"SELECT a.attname, NULL::pg_catalog.text FROM pg_catalog.pg_attribute a, pg_catalog.pg_class c WHERE "
       "c.oid = a.attrelid and a.attnum > 0 and not a.attisdropped AND (a.attname) LIKE '%' AND c.relname = "
       "'foo' AND pg_catalog.pg_table_is_visible(c.oid)\nLIMIT 1000",
       2},
      {"SELECT pg_catalog.lower(name) FROM pg_catalog.pg_settings  WHERE context IN ('user', 'superuser')    "
       "AND pg_catalog.lower(name) LIKE pg_catalog.lower('%')\nLIMIT 1000",
       1},
      {"SELECT pg_catalog.quote_literal(name) AS name   FROM pg_catalog.pg_timezone_names()  WHERE "
       "pg_catalog.lower(name) LIKE pg_catalog.lower('%')\nLIMIT 1000",
       1},
      {" SELECT rolname    FROM pg_catalog.pg_roles   WHERE rolname LIKE '%'\nLIMIT 1000", 1},
      {"SELECT pg_catalog.quote_ident(c.relname) FROM pg_catalog.pg_class c WHERE c.relkind IN ('r') AND "
       "substring(pg_catalog.quote_ident(c.relname),1,3)='foo' AND pg_catalog.pg_table_is_visible(c.oid) "
       "LIMIT 1000",
       1},
  };
  Scene scene;
  scene.client.ask(query("BEGIN; UPDATE t SET n = 5"));
  for (const auto& [sql, columns] : asked) {
    CAPTURE(sql);
    const auto messages = scene.client.ask(query(sql));
    REQUIRE(kinds(messages).front() == 'T');
    REQUIRE(kinds(messages).ends_with("CZ"));
    CHECK(static_cast<std::size_t>(messages[0].payload[1]) == columns);
    CHECK(messages.back().payload == "T");
  }
  CHECK(scene.client.ask(query("COMMIT"))[0].payload == zero_terminated("COMMIT"));
  // Other queries that ask for what is not there get an error.
  for (const std::string sql : {
           "SELECT name FROM pg_catalog.pg_timezone_names()",
           "SELECT name FROM pg_catalog.pg_timezone_names(), t LIMIT 1000",
           "SELECT pg_terminate_backend(1) FROM pg_catalog.pg_class, pg_catalog.pg_timezone_names() LIMIT "
           "1000",
       }) {
    CAPTURE(sql);
    CHECK(scene.error_of(sql).field('C') == "42883");
  }
}

}  // namespace namdb::pgwire
