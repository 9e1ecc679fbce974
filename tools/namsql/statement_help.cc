#include "tools/namsql/statement_help.h"

#include <algorithm>

#include "tools/namsql/text.h"

namespace namdb::namsql {
namespace {

constexpr StatementHelp kStatements[] = {
    {"ALTER INDEX", "renames an index", "ALTER INDEX [IF EXISTS] name RENAME TO new_name",
     "ALTER INDEX account_by_owner RENAME TO account_owners;"},
    {"ALTER ROLE", "changes a role; its user may change the password",
     R"(ALTER {ROLE | USER} {name | CURRENT_USER} [WITH] option ...
ALTER ROLE name RENAME TO new_name
ALTER GROUP name {ADD | DROP} USER role, ...

option: as in CREATE ROLE)",
     "CREATE ROLE clerk;\nALTER ROLE clerk LOGIN CONNECTION LIMIT 10;\nDROP ROLE clerk;"},
    {"ALTER SEQUENCE", "lets a sequence begin anew, or renames it",
     "ALTER SEQUENCE [IF EXISTS] name RESTART [[WITH] number]",
     "CREATE SEQUENCE ticket;\nALTER SEQUENCE ticket RESTART 100;\nDROP SEQUENCE ticket;"},
    {"ALTER TABLE", "changes a table; some changes copy its rows",
     R"(ALTER TABLE [IF EXISTS] name change [, ...]
ALTER TABLE [IF EXISTS] name RENAME TO new_name
ALTER TABLE [IF EXISTS] name RENAME [COLUMN] column TO new_name
ALTER TABLE [IF EXISTS] name RENAME CONSTRAINT constraint TO new_name

change: ADD [COLUMN] column type [constraint ...]
        DROP [COLUMN] column
        ALTER [COLUMN] column TYPE type [USING expression]
        ALTER [COLUMN] column {SET DEFAULT expression | DROP DEFAULT | SET NOT NULL | DROP NOT NULL}
        ADD [CONSTRAINT name] {CHECK (condition) | UNIQUE (column, ...) | PRIMARY KEY (column, ...)}
        ADD [CONSTRAINT name] FOREIGN KEY (column, ...) REFERENCES table [(column, ...)] [action ...]
            [NOT VALID]
        VALIDATE CONSTRAINT constraint
        DROP CONSTRAINT constraint [CASCADE])",
     "ALTER TABLE account ADD COLUMN opened date;"},
    {"ALTER VIEW", "renames a view", "ALTER VIEW [IF EXISTS] name RENAME TO new_name",
     "CREATE VIEW owners AS SELECT owner FROM account;\nALTER VIEW owners RENAME TO who;\nDROP VIEW who;"},
    {"ANALYZE", "is accepted, and has nothing to do", "ANALYZE [table]", "ANALYZE account;"},
    {"BEGIN", "begins a transaction block",
     R"(BEGIN [TRANSACTION] [ISOLATION LEVEL level] [READ ONLY | READ WRITE]

level: READ UNCOMMITTED | READ COMMITTED | REPEATABLE READ | SERIALIZABLE)",
     "BEGIN;\nUPDATE account SET balance = balance - 10 WHERE id = 1;\nUPDATE account SET balance = balance "
     "+ 10 "
     "WHERE id = 2;\nCOMMIT;"},
    {"CALL", "runs a stored procedure", "CALL procedure(argument, ...)",
     "CREATE OR REPLACE PROCEDURE pay_in(account_id int, amount numeric) LANGUAGE sql AS\n"
     "  'UPDATE account SET balance = balance + $2 WHERE id = $1';\nCALL pay_in(1, 5);"},
    {"CLOSE", "ends cursors", "CLOSE {name | ALL}",
     "BEGIN;\nDECLARE c CURSOR FOR SELECT * FROM account;\nCLOSE c;\nCOMMIT;"},
    {"COMMENT", "is accepted, and has nothing to do", "COMMENT ON kind name IS 'text'",
     "COMMENT ON TABLE account IS 'who has how much';"},
    {"COMMIT", "ends a transaction block, whose changes are there from now on", "COMMIT [TRANSACTION]",
     "BEGIN;\nDELETE FROM account WHERE id = 2;\nCOMMIT;"},
    {"COPY", "reads rows from the client, or sends it rows; \\copy does it with a file",
     R"(COPY table [(column, ...)] FROM STDIN [WITH (option, ...)]
COPY {table [(column, ...)] | (query)} TO STDOUT [WITH (option, ...)]

option: FORMAT text | csv | binary
        DELIMITER 'character'    NULL 'text'    HEADER
        QUOTE 'character'    ESCAPE 'character'    ENCODING 'UTF8')",
     "COPY (SELECT id, owner FROM account) TO STDOUT WITH (FORMAT csv, HEADER);"},
    {"CREATE FUNCTION", "makes a function that is written in SQL or PL/pgSQL",
     R"(CREATE [OR REPLACE] FUNCTION name ([IN | OUT | INOUT] parameter type [DEFAULT value], ...)
    [RETURNS {[SETOF] type | void | TABLE (column type, ...)}]
    LANGUAGE {plpgsql | sql} [IMMUTABLE | STABLE | VOLATILE] [STRICT] AS 'body')",
     "CREATE OR REPLACE FUNCTION doubled(amount numeric) RETURNS numeric LANGUAGE sql IMMUTABLE AS\n"
     "  'SELECT amount * 2';\nSELECT owner, doubled(balance) FROM account;"},
    {"CREATE INDEX", "makes an index while others use the table",
     R"(CREATE [UNIQUE] INDEX [CONCURRENTLY] [[IF NOT EXISTS] name] ON table [USING btree | hash]
       ({column | (expression)} [ASC | DESC], ...) [WHERE condition])",
     "CREATE INDEX account_by_balance ON account (balance DESC);\n"
     "CREATE UNIQUE INDEX ON account (lower(owner)) WHERE balance > 0;"},
    {"CREATE PROCEDURE", "makes a stored procedure that is written in SQL or PL/pgSQL",
     R"(CREATE [OR REPLACE] PROCEDURE name ([IN | OUT | INOUT] parameter type [DEFAULT value], ...)
    LANGUAGE {plpgsql | sql} AS 'body')",
     "CREATE OR REPLACE PROCEDURE pay(source int, target int, amount numeric) LANGUAGE plpgsql AS $$\n"
     "BEGIN\n  UPDATE account SET balance = balance - amount WHERE id = source;\n"
     "  IF NOT FOUND THEN\n    RAISE EXCEPTION 'no account %', source;\n  END IF;\n"
     "  UPDATE account SET balance = balance + amount WHERE id = target;\nEND\n$$;"},
    {"CREATE ROLE", "makes a role: a user, who may log in, or a group",
     R"(CREATE {ROLE | USER | GROUP} name [[WITH] option ...]

option: [NO]SUPERUSER | [NO]LOGIN | [NO]CREATEROLE | [NO]CREATEDB | [NO]INHERIT
        PASSWORD {'password' | NULL} | VALID UNTIL 'time' | CONNECTION LIMIT number
        IN ROLE role, ... | ROLE role, ... | ADMIN role, ...)",
     "CREATE USER clerk PASSWORD 'secret' VALID UNTIL '2040-01-01';\nDROP USER clerk;"},
    {"CREATE SEQUENCE", "makes a source of numbers",
     R"(CREATE SEQUENCE [IF NOT EXISTS] name [AS type] [INCREMENT number] [MINVALUE number]
    [MAXVALUE number] [START number] [CYCLE])",
     "CREATE SEQUENCE ticket START 10;\nSELECT nextval('ticket');\nDROP SEQUENCE ticket;"},
    {"CREATE TABLE", "makes a table",
     R"(CREATE TABLE [IF NOT EXISTS] name (
    column type [constraint ...], ...
    [, [CONSTRAINT name] {PRIMARY KEY (column, ...) | UNIQUE (column, ...) | CHECK (condition)
        | FOREIGN KEY (column, ...) REFERENCES table [(column, ...)] [action ...]} ...]
) [PARTITION BY HASH (column, ...)] [WITH (option = value, ...)]

constraint: NOT NULL | DEFAULT value | PRIMARY KEY | UNIQUE | CHECK (condition)
          | GENERATED {ALWAYS | BY DEFAULT} AS IDENTITY
          | GENERATED ALWAYS AS (expression) STORED
          | REFERENCES table [(column)] [action ...]
action:     ON {DELETE | UPDATE} {NO ACTION | RESTRICT | CASCADE | SET NULL | SET DEFAULT}
option:     size_hint | primary_key (btree, hash) | ring_versions | text_bytes)",
     "CREATE TABLE payment (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, payer bigint NOT NULL,\n"
     "  amount numeric(12,2) CHECK (amount > 0), at timestamptz DEFAULT now());"},
    {"CREATE VIEW", "gives a query a name, by which it is read like a table",
     "CREATE [OR REPLACE] VIEW name [(column, ...)] AS query",
     "CREATE VIEW rich AS SELECT id, owner FROM account WHERE balance > 1000;\nSELECT * FROM rich;\n"
     "DROP VIEW rich;"},
    {"DEALLOCATE", "forgets prepared statements, which clients prepare by the protocol",
     "DEALLOCATE {name | ALL}", "DEALLOCATE ALL;"},
    {"DECLARE", "makes a cursor, which reads the rows of a query in parts",
     "DECLARE name [SCROLL] CURSOR [WITH HOLD] FOR query",
     "BEGIN;\nDECLARE c CURSOR FOR SELECT * FROM account ORDER BY id;\nFETCH 1 FROM c;\nCOMMIT;"},
    {"DELETE", "deletes rows",
     R"(DELETE FROM table [[AS] alias] [WHERE condition] [RETURNING expression [AS name], ...])",
     "DELETE FROM account WHERE balance = 0 RETURNING id;"},
    {"DISCARD", "brings the session back to its beginning", "DISCARD ALL", "DISCARD ALL;"},
    {"DO", "runs code of PL/pgSQL once", "DO 'code' [LANGUAGE plpgsql]",
     "DO $$ BEGIN\n  FOR i IN 1..10 LOOP UPDATE account SET balance = balance + 1 WHERE id = i; END "
     "LOOP;\nEND "
     "$$;"},
    {"DROP FUNCTION", "removes functions that are written in SQL",
     "DROP FUNCTION [IF EXISTS] name [(type, ...)], ...", "DROP FUNCTION IF EXISTS doubled;"},
    {"DROP INDEX", "removes indexes", "DROP INDEX [CONCURRENTLY] [IF EXISTS] name, ...",
     "DROP INDEX account_by_owner;"},
    {"DROP OWNED", "takes all privileges from roles that own nothing", "DROP OWNED BY role, ...",
     "CREATE ROLE clerk;\nGRANT SELECT ON account TO clerk;\nDROP OWNED BY clerk;\nDROP ROLE clerk;"},
    {"DROP PROCEDURE", "removes procedures that are written in SQL",
     "DROP PROCEDURE [IF EXISTS] name [(type, ...)], ...", "DROP PROCEDURE IF EXISTS pay;"},
    {"DROP ROLE", "removes roles that own nothing and have no privileges",
     "DROP {ROLE | USER | GROUP} [IF EXISTS] name, ...", "DROP ROLE IF EXISTS clerk;"},
    {"DROP SEQUENCE", "removes sequences", "DROP SEQUENCE [IF EXISTS] name, ...",
     "DROP SEQUENCE IF EXISTS ticket;"},
    {"DROP TABLE", "removes tables with their indexes", "DROP TABLE [IF EXISTS] name, ... [CASCADE]",
     "DROP TABLE IF EXISTS payment;"},
    {"DROP VIEW", "removes views", "DROP VIEW [IF EXISTS] name, ... [CASCADE]", "DROP VIEW IF EXISTS rich;"},
    {"END", "is COMMIT", "END [TRANSACTION]", "BEGIN;\nEND;"},
    {"EXECUTE", "runs a prepared statement", "EXECUTE name [(value, ...)]",
     "PREPARE owner_of (int) AS SELECT owner FROM account WHERE id = $1;\nEXECUTE owner_of(1);"},
    {"EXPLAIN", "shows the way to the rows; with ANALYZE it runs the statement and counts its operations",
     "EXPLAIN [ANALYZE | (ANALYZE, FORMAT JSON)] statement",
     "EXPLAIN ANALYZE SELECT * FROM account WHERE owner = 'Ada';"},
    {"FETCH", "gives the next rows of a cursor; MOVE skips them",
     "FETCH [NEXT | number | ALL | PRIOR | FIRST | LAST | ...] [FROM] cursor",
     "BEGIN;\nDECLARE c CURSOR FOR SELECT * FROM account;\nFETCH ALL FROM c;\nCOMMIT;"},
    {"GRANT", "gives roles privileges, or makes them members of other roles",
     R"(GRANT {privilege, ... | ALL} ON {[TABLE] name, ... | ALL TABLES IN SCHEMA public} TO role, ... [WITH GRANT OPTION]
GRANT {USAGE | SELECT | UPDATE}, ... ON SEQUENCE name, ... TO role, ...
GRANT EXECUTE ON PROCEDURE name, ... TO role, ...
GRANT CREATE ON SCHEMA public TO role, ...
GRANT role, ... TO role, ... [WITH ADMIN OPTION]

privilege: SELECT | INSERT | UPDATE | DELETE | TRUNCATE | REFERENCES
role: a name, PUBLIC or CURRENT_USER)",
     "CREATE ROLE clerk;\nGRANT SELECT, UPDATE ON account TO clerk;\nDROP OWNED BY clerk;\nDROP ROLE clerk;"},
    {"INSERT", "inserts rows",
     R"(INSERT INTO table [AS alias] [(column, ...)]
    {DEFAULT VALUES | VALUES ({expression | DEFAULT}, ...), ... | query}
    [ON CONFLICT [(column, ...) | ON CONSTRAINT name]
        {DO NOTHING | DO UPDATE SET column = expression, ... [WHERE condition]}]
    [RETURNING expression [AS name], ...])",
     "INSERT INTO account VALUES (1, 'Ada', 5) ON CONFLICT (id)\n  DO UPDATE SET balance = account.balance + "
     "EXCLUDED.balance RETURNING balance;"},
    {"MOVE", "skips rows of a cursor", "MOVE [NEXT | number | ALL | ...] [FROM] cursor",
     "BEGIN;\nDECLARE c CURSOR FOR SELECT * FROM account;\nMOVE 1 FROM c;\nCOMMIT;"},
    {"PREPARE", "prepares a statement for EXECUTE", "PREPARE name [(type, ...)] AS statement",
     "PREPARE owner_of (int) AS SELECT owner FROM account WHERE id = $1;\nEXECUTE owner_of(1);"},
    {"REASSIGN OWNED", "gives all that roles own to another one", "REASSIGN OWNED BY role, ... TO role",
     "CREATE ROLE clerk;\nREASSIGN OWNED BY clerk TO CURRENT_USER;\nDROP ROLE clerk;"},
    {"REINDEX", "builds an index, or all of a table, anew while others use it",
     "REINDEX {INDEX | TABLE} [CONCURRENTLY] name", "REINDEX TABLE account;"},
    {"RELEASE SAVEPOINT", "forgets a savepoint and keeps the changes", "RELEASE [SAVEPOINT] name",
     "BEGIN;\nSAVEPOINT here;\nRELEASE SAVEPOINT here;\nCOMMIT;"},
    {"RESET", "gives a setting its first value back", "RESET {name | ALL}", "RESET statement_timeout;"},
    {"REVOKE", "takes privileges, or memberships, from roles",
     R"(REVOKE [GRANT OPTION FOR] {privilege, ... | ALL} ON object, ... FROM role, ... [CASCADE]
REVOKE [ADMIN OPTION FOR] role, ... FROM role, ...

object: as in GRANT)",
     "REVOKE ALL ON account FROM PUBLIC;"},
    {"ROLLBACK", "ends a transaction block and undoes it", "ROLLBACK [TRANSACTION]",
     "BEGIN;\nDELETE FROM account;\nROLLBACK;"},
    {"ROLLBACK TO SAVEPOINT", "undoes all since a savepoint", "ROLLBACK TO [SAVEPOINT] name",
     "BEGIN;\nSAVEPOINT here;\nDELETE FROM account;\nROLLBACK TO SAVEPOINT here;\nCOMMIT;"},
    {"SAVEPOINT", "names a point of a transaction block", "SAVEPOINT name",
     "BEGIN;\nSAVEPOINT here;\nCOMMIT;"},
    {"SELECT", "reads rows",
     R"([WITH [RECURSIVE] name [(column, ...)] AS ({query | insert | update | delete}), ...]
SELECT [DISTINCT] expression [AS name], ...
    [FROM source [, ...]] [WHERE condition]
    [GROUP BY group, ...] [HAVING condition]
    [{UNION | INTERSECT | EXCEPT} [ALL] query]
    [ORDER BY expression [ASC | DESC] [NULLS {FIRST | LAST}], ...] [LIMIT count] [OFFSET count]
    [FOR {UPDATE | NO KEY UPDATE | SHARE | KEY SHARE} [OF table, ...] [NOWAIT | SKIP LOCKED]]

group:  expression | {ROLLUP | CUBE | GROUPING SETS} (group | (expression, ...) | (), ...)
source: table [[AS] alias] | (query) [AS] alias | function(argument, ...) [[AS] alias]
      | source {[INNER] JOIN | LEFT JOIN | RIGHT JOIN} source {ON condition | USING (column, ...)}
      | source {CROSS | NATURAL} JOIN source)",
     "SELECT owner, sum(balance) FROM account GROUP BY owner HAVING count(*) >= 1 ORDER BY owner LIMIT 10;"},
    {"SET", "changes a setting of the session, or with LOCAL of the transaction",
     R"(SET [SESSION | LOCAL] name {TO | =} {value | DEFAULT}
SET [SESSION | LOCAL] TIME ZONE {value | LOCAL | DEFAULT})",
     "SET statement_timeout = '5s';"},
    {"SET ROLE", "lets the session act as a role that its user is a member of",
     "SET [LOCAL] ROLE {role | NONE}\nRESET ROLE", "SET ROLE NONE;"},
    {"SHOW", "shows a setting, or all", "SHOW {name | ALL}", "SHOW statement_timeout;"},
    {"START TRANSACTION", "is BEGIN", "START TRANSACTION [ISOLATION LEVEL level] [READ ONLY | READ WRITE]",
     "START TRANSACTION READ ONLY;\nSELECT count(*) FROM account;\nCOMMIT;"},
    {"TRUNCATE", "deletes all rows of tables", "TRUNCATE [TABLE] name, ... [RESTART IDENTITY] [CASCADE]",
     "TRUNCATE account;"},
    {"UPDATE", "changes rows; not the columns of their primary key",
     R"(UPDATE table [[AS] alias] SET column = {expression | DEFAULT}, ... [WHERE condition]
    [RETURNING expression [AS name], ...])",
     "UPDATE account SET balance = balance * 1.02 WHERE balance > 0;"},
    {"VACUUM", "is accepted, and has nothing to do", "VACUUM [table]", "VACUUM;"},
    {"VALUES", "gives rows", "VALUES (expression, ...), ... [ORDER BY ...] [LIMIT count] [OFFSET count]",
     "VALUES (1, 'one'), (2, 'two');"},
};

constexpr std::string_view kExampleTable = R"(The examples use this table:
    CREATE TABLE account (id bigint PRIMARY KEY, owner varchar(40) NOT NULL, balance numeric(12,2));
    CREATE INDEX account_by_owner ON account (owner);
)";

std::string indented(std::string_view text) {
  std::string out;
  for (const std::string& line : split_lines(text)) out += line.empty() ? "\n" : concat("    ", line, "\n");
  return out;
}

std::string list_of_names() {
  constexpr std::size_t kColumns = 3;
  constexpr std::size_t kWidth = 26;
  const std::size_t lines = (std::size(kStatements) + kColumns - 1) / kColumns;
  std::string out = "Statements, of which \\h NAME shows more:\n";
  for (std::size_t line = 0; line < lines; ++line) {
    std::string text = "  ";
    for (std::size_t i = line; i < std::size(kStatements); i += lines) {
      text += kStatements[i].name;
      if (i + lines < std::size(kStatements)) text += std::string(kWidth - kStatements[i].name.size(), ' ');
    }
    out += text + "\n";
  }
  return out + std::string(kExampleTable);
}

}  // namespace

std::span<const StatementHelp> statement_list() {
  return kStatements;
}

std::string statement_help(std::string_view name) {
  std::string wanted(trimmed(name));
  while (!wanted.empty() && (wanted.back() == ';' || wanted.back() == ' ')) wanted.pop_back();
  if (wanted.empty()) return list_of_names();
  const auto exact = std::find_if(
      std::begin(kStatements), std::end(kStatements),
      [&](const StatementHelp& statement) { return equals_ignoring_case(statement.name, wanted); });
  std::string out;
  for (const StatementHelp& statement : kStatements) {
    if (exact != std::end(kStatements) ? statement.name != exact->name
                                       : !starts_ignoring_case(statement.name, wanted))
      continue;
    out += concat(statement.name, ": ", statement.text, "\n\nSyntax:\n", indented(statement.syntax),
                  "\nExample:\n", indented(statement.example), "\n");
  }
  return out;
}

}  // namespace namdb::namsql
