// The grammar of expressions: data only. rules.cc reads it.
#include "tools/sqltest/generate/rule_lines.h"

namespace namdb::sqltest {
namespace {

constexpr std::string_view kRuleLines = R"rules(
int2 int4 int8 numeric float4 float8 ! | {=} + {=}
int2 int4 int8 numeric float4 float8 ! | {=} - {=}
int2 int4 int8 numeric float4 float8 ! | {=} * {=}
int2 int4 int8 numeric float4 float8 ! | {=} / {=}
int2 int4 int8 numeric ! | {=} % {=}
int4 ! | {int2} + {int4}
int4 ! | {int4} * {int2}
int8 ! | {int4} * {int8}
int8 ! | {int8} - {int2}
int8 | {int4} + {int4}::int8
int8 | {int2} * {int4}::int8
numeric ! | {numeric} * {int4}
numeric ! | {int8} + {numeric}
float8 ! | {float8} * {int4}
float8 ! | {numeric} - {float8}
float8 ! | {float4} + {float8}
int2 int4 int8 ! | - {=}
numeric float4 float8 interval | - {=}
int2 int4 int8 numeric float4 float8 | + {=}
int2 int4 int8 ! | abs({=})
numeric float8 | abs({=})
int2 int4 int8 numeric ! | mod({=}, {=})
numeric ! | round({numeric}, {digits})
numeric ! | trunc({numeric}, {digits})
numeric | round({numeric})
numeric | trunc({numeric})
numeric | floor({numeric})
numeric | ceil({numeric})
numeric | ceiling({numeric})
numeric | sign({numeric})
numeric ! | sqrt({numeric})
numeric ! | exp({numeric})
numeric ! | ln({numeric})
numeric ! | log({numeric})
numeric ! | log({numeric}, {numeric})
numeric ! | power({numeric}, {digits})
numeric ! | {numeric} ^ {digits}
numeric ! | power({numeric}, {numeric})
numeric ! | div({numeric}, {numeric})
int4 | scale({numeric})
int4 | min_scale({numeric})
numeric | trim_scale({numeric})
float8 | round({float8})
float8 | trunc({float8})
float8 | floor({float8})
float8 | ceil({float8})
float8 | sign({float8})
float8 ! | sqrt({float8})
float8 ! | exp({float8})
float8 ! | ln({float8})
float8 ! | log({float8})
float8 ! | power({float8}, {float8})
float8 ! | {float8} ^ {float8}
int2 ! | {int4}::int2
int2 ! | {int8}::int2
int2 ! | {numeric}::int2
int2 ! | {float8}::int2
int2 ! | {text}::int2
int4 ! | {int8}::int4
int4 ! | {numeric}::int4
int4 ! | {float8}::int4
int4 ! | {float4}::int4
int4 ! | {text}::int4
int4 | {bool}::int4
int4 | {int2}::int4
int8 | {int4}::int8
int8 | {int2}::int8
int8 ! | {numeric}::int8
int8 ! | {float8}::int8
int8 ! | CAST({text} AS bigint)
numeric | {int4}::numeric
numeric | {int8}::numeric
numeric ! | {float8}::numeric
numeric ! | {float4}::numeric
numeric ! | {text}::numeric
numeric ! | {numeric}::numeric(10, 2)
numeric ! | {numeric}::numeric(38, 5)
numeric ! | CAST({numeric} AS decimal(4, 1))
float8 | {int4}::float8
float8 | {int8}::float8
float8 | {float4}::float8
float8 ! | {numeric}::float8
float8 ! | {text}::float8
float4 ! | {float8}::real
float4 | {int4}::real
float4 ! | {numeric}::real
bool ! | {text}::bool
bool | {int4}::bool
text | {any}::text
text | CAST({any} AS text)
text | {json}::text
varchar | {text}::varchar(5)
varchar | {any}::varchar(8)
varchar | {text}::varchar
bpchar | {text}::char(4)
bpchar | {any}::char(7)
bpchar | {bool}::char
text | {varchar}::text
text | {bpchar}::text
text | {varchar} || {bpchar}
text | {text} || {text}
text | {text} || {int4}
text | {numeric} || {text}
text | {bpchar} || {varchar}
text | {text} || {date}
text | lower({text})
text | upper({text})
text | lower({bpchar})
text ~ | initcap({text})
text ~ | reverse({text})
text | substring({text}, {digits})
text ! | substring({text}, {digits}, {digits})
text ! | substring({text} FROM {digits} FOR {count})
text | substring({text} FOR {count})
text ! | substr({text}, {digits}, {digits})
text | trim({text})
text | trim(BOTH {trim} FROM {text})
text | ltrim({text}, {trim})
text | rtrim({text}, {trim})
text | btrim({text}, {trim})
text | rtrim({bpchar})
text | left({text}, {digits})
text | right({text}, {digits})
text | replace({text}, {text}, {text})
text | repeat({text}, {digits})
text | lpad({text}, {count})
text | rpad({text}, {count}, {text})
text | lpad({text}, {digits}, {trim})
text ! | split_part({text}, {trim}, {digits})
text ~ | concat({text}, {int4}, {bool})
text ~ | concat_ws({trim}, {text}, {varchar})
text ~ | translate({text}, {trim}, {trim})
text | quote_literal({text})
text | quote_ident({text})
text | md5({text})
text | encode({bytea}, 'hex')
text | encode({bytea}, 'base64')
text | encode({bytea}, 'escape')
text | array_to_string({array}, {trim})
text | array_to_string({text[]}, ',', '*')
text | to_char({timestamp}, {format})
text | to_char({timestamptz}, {format})
text | jsonb_typeof({jsonb})
text | {jsonb} ->> {key}
text | {jsonb} ->> {digits}
text | {jsonb} #>> {path}
text | {json} ->> {key}
text | {json} #>> {path}
text | jsonb_pretty({jsonb})
text | array_dims({array})
int4 | length({text})
int4 | char_length({varchar})
int4 | length({bpchar})
int4 | octet_length({text})
int4 | octet_length({bpchar})
int4 | length({bytea})
int4 | octet_length({bytea})
int4 | strpos({text}, {text})
int4 | position({text} IN {text})
int4 ! ~ | ascii({text})
int4 | cardinality({array})
int4 | array_length({array}, 1)
int4 | array_length({array}, {digits})
int4 | array_upper({array}, 1)
int4 | array_position({array}, {element})
int4 | array_ndims({array})
int4 | {date} - {date}
int4 ! | jsonb_array_length({jsonb})
int4 | gen_add({int2}, {int2})
int4 ! | gen_add({int4}, {int4})
int8 ! | gen_twice({int8})
text | gen_word({int4})
text | gen_label({text}, {bool})
bool | gen_between({int4}, {int4}, {int4})
bytea | {bytea} || {bytea}
bytea ! | decode({text}, 'hex')
bytea ! | decode({text}, 'base64')
bytea | sha256({bytea})
bytea ! ~ | substring({bytea}, {digits}, {count})
uuid ! | {text}::uuid
date ! | {text}::date
date | {timestamp}::date
date | {timestamptz}::date
date ! | {date} + {digits}
date ! | {date} - {count}
date ! | make_date({count}, {count}, {count})
timestamp | {date}::timestamp
timestamp | {timestamptz}::timestamp
timestamp ! | {text}::timestamp
timestamp ! | {date} + {interval}
timestamp ! | {timestamp} + {interval}
timestamp ! | {timestamp} - {interval}
timestamp ! | {date} + {time}
timestamp | {timestamptz} AT TIME ZONE {zone}
timestamp ! | date_trunc({day field}, {timestamp})
timestamp ~ | {timestamp}::timestamp(2)
timestamptz | {timestamp}::timestamptz
timestamptz | {date}::timestamptz
timestamptz ! | {text}::timestamptz
timestamptz ! | {timestamptz} + {interval}
timestamptz ! | {timestamptz} - {interval}
timestamptz | {timestamp} AT TIME ZONE {zone}
timestamptz ! | date_trunc({day field}, {timestamptz})
timestamptz ! | date_trunc({day field}, {timestamptz}, {zone})
timestamptz ! | to_timestamp({float8})
time | {timestamp}::time
time | {timestamptz}::time
time | {interval}::time
time ! | {text}::time
time | {time} + {interval}
time | {time} - {interval}
time ~ | {time}::time(1)
interval | {time}::interval
interval ! | {text}::interval
interval | {timestamp} - {timestamp}
interval | {timestamptz} - {timestamptz}
interval | {time} - {time}
interval ! | {interval} + {interval}
interval ! | {interval} - {interval}
interval ! | {interval} * {float8}
interval ! | {int4} * {interval}
interval ! | {interval} / {float8}
interval | age({timestamp}, {timestamp})
interval | age({timestamptz}, {timestamptz})
interval ! | justify_hours({interval})
interval ! | justify_days({interval})
interval ! | justify_interval({interval})
interval ! | make_interval({digits}, {digits}, {digits}, {digits}, {digits}, {digits}, {float8})
interval ! | make_interval(days => {digits}, hours => {digits})
interval ! | date_trunc({day field}, {interval})
interval ! | {interval}::interval(3)
interval | {interval}::interval day to minute
gen_mood ! | {text}::gen_mood
gen_mood | enum_first({gen_mood})
gen_mood | enum_last({gen_mood})
text | {gen_mood}::text
int4 | array_length(enum_range({gen_mood}), 1)
bool | {gen_mood} = ANY (ARRAY[{gen_mood}, {gen_mood}])
numeric | extract({day field name} FROM {date})
numeric | extract({field name} FROM {timestamp})
numeric | extract({field name} FROM {timestamptz})
numeric | extract({clock field name} FROM {time})
numeric | extract({field name} FROM {interval})
float8 | date_part({day field}, {date})
float8 | date_part({field}, {timestamp})
float8 | date_part({field}, {interval})
bool | isfinite({date})
bool | isfinite({timestamp})
bool ~ | ({date}, {date}) OVERLAPS ({date}, {date})
jsonb | {jsonb} -> {key}
jsonb | {jsonb} -> {digits}
jsonb | {jsonb} #> {path}
jsonb | {jsonb} || {jsonb}
jsonb ! | {jsonb} - {key}
jsonb ! | {jsonb} - {digits}
jsonb ! | {jsonb} - {keys}
jsonb ! | {jsonb} #- {path}
jsonb ! | jsonb_set({jsonb}, {path}, {jsonb})
jsonb ! | jsonb_set({jsonb}, {path}, {jsonb}, {bool})
jsonb | jsonb_strip_nulls({jsonb})
jsonb | to_jsonb({any})
jsonb | jsonb_build_object({key}, {any}, {key}, {jsonb})
jsonb | jsonb_build_array({any}, {jsonb}, {text})
jsonb | {json}::jsonb
jsonb ! | {text}::jsonb
jsonb | jsonb_extract_path({jsonb}, {key}, {key})
json | to_json({any})
json | json_build_array({any}, {text})
json | json_build_object({key}, {any})
json | {json} -> {key}
json | {json} -> {digits}
json | {jsonb}::json
bool | {jsonb} @> {jsonb}
bool | {jsonb} <@ {jsonb}
bool | {jsonb} ? {key}
bool | {jsonb} ?| {keys}
bool | {jsonb} ?& {keys}
numeric ! | ({jsonb})::numeric
int4 ! | ({jsonb} -> {key})::int4
bool ! | ({jsonb} -> {key})::bool
bool | {any} = {any}
bool | {any} <> {any}
bool | {any} < {any}
bool | {any} >= {any}
bool | {any} <= {any}
bool | {any} > {any}
bool | {int4} = {int8}
bool | {int2} < {numeric}
bool | {float8} >= {int4}
bool | {float4} = {float8}
bool | {numeric} < {float8}
bool | {date} <= {timestamp}
bool | {timestamptz} > {date}
bool | {timestamp} = {timestamptz}
bool | {varchar} = {text}
bool | {bpchar} = {varchar}
bool | {bpchar} < {text}
bool | {any} IS NULL
bool | {any} IS NOT NULL
bool | {any} IS DISTINCT FROM {any}
bool | {any} IS NOT DISTINCT FROM {any}
bool | {any} BETWEEN {any} AND {any}
bool | {any} NOT BETWEEN {any} AND {any}
bool ~ | {any} BETWEEN SYMMETRIC {any} AND {any}
bool | {any} IN ({any}, {any}, {any})
bool | {any} NOT IN ({any}, {any})
bool | {int8} IN ({int4}, {int2}, {int8})
bool | {element} = ANY ({array})
bool | {element} <> ALL ({array})
bool | {element} > ANY ({array})
bool | {element} <= ALL ({array})
bool ~ | ({int4}, {text}) = ({int4}, {text})
bool ~ | ({int4}, {text}) < ({int4}, {text})
bool ~ | ({date}, {int8}) >= ({date}, {int8})
bool ~ | ({int4}, {text}) IN (({int4}, {text}), ({int4}, {text}))
bool ~ | ({int4}, {text}) IS DISTINCT FROM ({int4}, {text})
bool | {text} LIKE {pattern}
bool | {text} NOT LIKE {pattern}
bool | {text} ILIKE {pattern}
bool | {varchar} LIKE {pattern}
bool | {bpchar} LIKE {pattern}
bool ! | {text} LIKE {text}
bool | {text} LIKE {pattern} ESCAPE '!'
bool ~ | {text} LIKE ANY ({text[]})
bool ~ | {text} SIMILAR TO {pattern}
bool | {text} ~ {regex}
bool | {text} !~ {regex}
bool | {text} ~* {regex}
bool | {bpchar} !~* {regex}
bool | starts_with({text}, {text})
bool ~ | {text} ^@ {text}
bool | {bool} AND {bool}
bool | {bool} OR {bool}
bool | NOT {bool}
bool | {bool} IS TRUE
bool | {bool} IS NOT FALSE
bool | {bool} IS UNKNOWN
bool | {array} @> {array}
bool | {array} <@ {array}
bool | {array} && {array}
int4[] text[] numeric[] float8[] date[] bool[] int8[] timestamp[] | {=} || {=}
int4[] | {int4[]} || {int4}
text[] | {text} || {text[]}
int4[] | array_append({int4[]}, {int4})
text[] | array_prepend({text}, {text[]})
numeric[] | array_cat({numeric[]}, {numeric[]})
int4[] | array_remove({int4[]}, {int4})
text[] | array_replace({text[]}, {text}, {text})
int4[] | array_positions({array}, {element})
int4[] text[] numeric[] date[] | {=}[{digits}:{count}]
int4[] text[] ! | trim_array({=}, {count})
int4[] | ARRAY[{int4}, {int4}]
text[] | ARRAY[{text}, {text}, {text}]
numeric[] | ARRAY[{numeric}, {numeric}]
numeric[] | ARRAY[{int4}, {numeric}]
float8[] | ARRAY[{float8}, {float8}]
date[] | ARRAY[{date}, {date}]
bool[] | ARRAY[{bool}, {bool}]
int8[] | ARRAY[{int4}, {int8}]
timestamp[] | ARRAY[{timestamp}, {timestamp}]
text[] | string_to_array({text}, {trim})
text[] | {int4[]}::text[]
int4[] ! | {text[]}::int4[]
numeric[] | {int4[]}::numeric[]
int8[] | {int4[]}::int8[]
int4 | ({int4[]})[{digits}]
text | ({text[]})[{digits}]
numeric | ({numeric[]})[{count}]
date | ({date[]})[1]
= | CASE WHEN {bool} THEN {=} ELSE {=} END
= | CASE WHEN {bool} THEN {=} WHEN {bool} THEN {=} END
= | CASE {any} WHEN {any} THEN {=} WHEN {any} THEN {=} ELSE {=} END
= | coalesce({=}, {=})
= | coalesce({=}, {=}, {=})
any | nullif({=}, {=})
any | greatest({=}, {=})
any | least({=}, {=}, {=})
aggregate int8 | count(*)
aggregate int8 | count({any})
aggregate int8 | count(DISTINCT {any})
aggregate int8 | sum({int4})
aggregate int8 | sum({int2})
aggregate numeric | sum({int8})
aggregate numeric ! | sum({numeric})
aggregate numeric ! | sum(DISTINCT {numeric})
aggregate float8 ! | sum({float8})
aggregate float4 ! | sum({float4})
aggregate numeric | avg({int4})
aggregate numeric | avg({int8})
aggregate numeric ! | avg({numeric})
aggregate float8 ! | avg({float8})
aggregate interval ! | sum({interval})
aggregate interval ! | avg({interval})
aggregate int4 | min({int4})
aggregate int4 | max({int4})
aggregate int8 | min({int8})
aggregate int2 | max({int2})
aggregate numeric | max({numeric})
aggregate float8 | min({float8})
aggregate text | min({text})
aggregate text | max({text})
aggregate text | max({varchar})
aggregate bpchar | min({bpchar})
aggregate date | max({date})
aggregate timestamp | min({timestamp})
aggregate timestamptz | max({timestamptz})
aggregate interval | min({interval})
aggregate time | max({time})
aggregate bool | bool_and({bool})
aggregate bool | bool_or({bool})
aggregate bool | every({bool})
aggregate text | string_agg({text}, ',' ORDER BY {1})
aggregate text | string_agg(DISTINCT {text}, '')
aggregate int4[] | array_agg({int4} ORDER BY {1})
aggregate int4[] | array_agg(DISTINCT {int4})
aggregate text[] | array_agg({text} ORDER BY {1} DESC)
aggregate date[] | array_agg({date} ORDER BY {1} NULLS FIRST)
aggregate jsonb | jsonb_agg({int4} ORDER BY {1})
)rules";

}  // namespace

std::string_view rule_lines() {
  return kRuleLines;
}

}  // namespace namdb::sqltest
