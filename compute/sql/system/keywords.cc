#include "compute/sql/system/keywords.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace namdb::sql {
namespace {

struct Words {
  char kind;
  bool is_label;  // of a column without AS
  std::string_view words;
};

// clang-format off
constexpr std::array kWords = std::to_array<Words>({
    {'C', false,
     "char character precision"},
    {'C', true,
     "between bigint bit boolean coalesce dec decimal exists extract float greatest grouping inout "
     "int integer interval least national nchar none normalize nullif numeric out overlay position "
     "real row setof smallint substring time timestamp treat trim values varchar xmlattributes "
     "xmlconcat xmlelement xmlexists xmlforest xmlnamespaces xmlparse xmlpi xmlroot xmlserialize "
     "xmltable"},
    {'R', false,
     "array as create except fetch for from grant group having intersect into limit offset on order "
     "returning to union where window with"},
    {'R', true,
     "all analyse analyze and any asc asymmetric both case cast check collate column constraint "
     "current_catalog current_date current_role current_time current_timestamp current_user default "
     "deferrable desc distinct do else end false foreign in initially lateral leading localtime "
     "localtimestamp not null only or placing primary references select session_user some symmetric "
     "table then trailing true unique user using variadic when"},
    {'T', false,
     "isnull notnull overlaps"},
    {'T', true,
     "authorization binary collation concurrently cross current_schema freeze full ilike inner is "
     "join left like natural outer right similar tablesample verbose"},
    {'U', false,
     "day filter hour minute month over second varying within without year"},
    {'U', true,
     "abort absolute access action add admin after aggregate also alter always asensitive assertion "
     "assignment at atomic attach attribute backward before begin breadth by cache call called "
     "cascade cascaded catalog chain characteristics checkpoint class close cluster columns comment "
     "comments commit committed compression configuration conflict connection constraints content "
     "continue conversion copy cost csv cube current cursor cycle data database deallocate declare "
     "defaults deferred definer delete delimiter delimiters depends depth detach dictionary disable "
     "discard document domain double drop each enable encoding encrypted enum escape event exclude "
     "excluding exclusive execute explain expression extension external family finalize first "
     "following force forward function functions generated global granted groups handler header hold "
     "identity if immediate immutable implicit import include including increment index indexes "
     "inherit inherits inline input insensitive insert instead invoker isolation key label language "
     "large last leakproof level listen load local location lock locked logged mapping match matched "
     "materialized maxvalue merge method minvalue mode move name names new next nfc nfd nfkc nfkd no "
     "normalized nothing notify nowait nulls object of off oids old operator option options "
     "ordinality others overriding owned owner parallel parameter parser partial partition passing "
     "password plans policy preceding prepare prepared preserve prior privileges procedural procedure "
     "procedures program publication quote range read reassign recheck recursive ref referencing "
     "refresh reindex relative release rename repeatable replace replica reset restart restrict "
     "return returns revoke role rollback rollup routine routines rows rule savepoint schema schemas "
     "scroll search security sequence sequences serializable server session set sets share show "
     "simple skip snapshot sql stable standalone start statement statistics stdin stdout storage "
     "stored strict strip subscription support sysid system tables tablespace temp template temporary "
     "text ties transaction transform trigger truncate trusted type types uescape unbounded "
     "uncommitted unencrypted unknown unlisten unlogged until update vacuum valid validate validator "
     "value version view views volatile whitespace work wrapper write xml yes zone"},
});
// clang-format on

std::string_view description(char kind) {
  switch (kind) {
    case 'C':
      return "unreserved (cannot be function or type name)";
    case 'R':
      return "reserved";
    case 'T':
      return "reserved (can be function or type name)";
    default:
      return "unreserved";
  }
}

}  // namespace

std::vector<std::vector<Datum>> keyword_rows(Arena& arena) {
  std::vector<std::vector<Datum>> rows;
  for (const Words& group : kWords) {
    std::string_view rest = group.words;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find(' '), rest.size());
      rows.push_back({Datum::of_text(arena.copy(rest.substr(0, end))),
                      Datum::of_text(std::string_view(&group.kind, 1)), Datum::of_boolean(group.is_label),
                      Datum::of_text(description(group.kind)),
                      Datum::of_text(group.is_label ? "can be bare label" : "requires AS")});
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  std::ranges::sort(rows, {}, [](const std::vector<Datum>& row) { return row.front().text; });
  return rows;
}

}  // namespace namdb::sql
