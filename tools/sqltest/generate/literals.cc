#include "tools/sqltest/generate/literals.h"

#include <map>
#include <vector>

namespace namdb::sqltest {
namespace {

// Values of a type, one a line: those that are plain, then an empty line, then those at the edges.
struct Values {
  std::string_view plain;
  std::string_view edges;
};

const std::map<std::string, Values>& values() {
  static const std::map<std::string, Values> all = {
      {"int2", {"0\n1\n2\n3\n5\n7\n10\n12\n-1\n-4\n20", "32767\n-32768\n100\n-32767\n181\n182"}},
      {"int4",
       {"0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n12\n15\n17\n20\n25\n30\n-1\n-2\n-7\n42\n100",
        "2147483647\n-2147483648\n-2147483647\n46340\n46341\n65536\n1000000\n-32769\n32768"}},
      {"int8",
       {"0\n1\n2\n3\n5\n8\n10\n11\n20\n-1\n-3\n100\n1000\n4294967296",
        "9223372036854775807\n-9223372036854775808\n-9223372036854775807\n2147483648\n-"
        "2147483649\n3037000500\n"
        "9007199254740993"}},
      {"numeric",
       {"0\n1\n1.0\n1.00\n2.5\n-2.5\n0.5\n3.14159\n10\n12.34\n-0.001\n100\n7\n99.99\n0.1",
        "0.000\n1e10\n1e-10\n123456789012345678\n-99999999999999.999\n0.5000000000000000001\n"
        "1234567890.0987654321\n9999999999.99\n0.05\n-0.5\n1.5\n2147483647.5\n9223372036854775807\n1e18\n"
        "0.00000000000000000001\n1000000000000000000000"}},
      {"float4",
       {"0\n1\n2.5\n-2.5\n0.5\n10\n-7\n100\n0.1\n3",
        "1e30\n-1e-30\nNaN\nInfinity\n-Infinity\n-0\n16777217\n1e-45\n1.1"}},
      {"float8",
       {"0\n1\n2.5\n-2.5\n0.5\n1.5\n10\n-7\n100\n0.25\n3\n12.75",
        "1e300\n-1e300\n1e-300\nNaN\nInfinity\n-Infinity\n-0\n0.1\n9007199254740993\n1e15\n1e16\n123456789."
        "123456789\n"
        "5e-324\n2147483647.5\n-2147483648.5\n9223372036854775807\n1e22\n1e-5\n0.0001"}},
      {"bool", {"true\nfalse", "true\nfalse"}},
      {"text",
       {"a\nb\nab\nabc\nx\nA\nAbC\nhello\nfoo\nbar\n1\n42\n\n \nb c\na,b,c",
        "äöü\n  pad \n%\n_\na%b\na_b\n\\\n''\n2024-02-29\n12.50\n-3\ntrue\nf\n{1,2}\n[1, 2]\n{\"a\": "
        "1}\nNaN\n1 day\n"
        "12:30:00\nlonger text with words\nÄ\n日本語\n1e5\n 7 "
        "\n0x1F\ninfinity\n2147483648\n00ff\nYWJj\ntab\there\nnull\n"
        "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11\n.5\n5.\n+5\nday\n2024-01-31 10:20:30"}},
      {"varchar", {"a\nab\nabc\nfoo\nbar\nA\n\n ", "a  \näöü\n%\n12345678\n7\ntrue"}},
      {"bpchar", {"a\nab\nabc\nfoo\nbar\nA", "a  \n\n äö\n%\n7\nabcdef"}},
      {"bytea", {"\\x00\n\\x01ff\n\\x616263\n\\x", "\\xdeadbeef\n\\x5c\nabc\n\\x27\n\\\\000"}},
      {"date",
       {"2024-01-01\n2024-02-29\n2023-12-31\n2024-03-01\n2000-01-01\n2024-01-31\n1999-12-31",
        "1970-01-01\n0001-01-01\n9999-12-31\n2024-12-30\ninfinity\n-infinity\n4713-01-01 "
        "BC\n1900-02-28\n2100-03-01\n"
        "2021-01-03\n5874897-12-31\n0044-03-15 BC"}},
      {"time",
       {"00:00:00\n12:30:00\n23:59:59\n06:15:30.5\n01:02:03",
        "24:00:00\n23:59:59.999999\n00:00:00.000001\n04:05:06.789\n12:00"}},
      {"timestamp",
       {"2024-01-01 00:00:00\n2024-02-29 12:30:00\n2023-12-31 23:59:59\n2000-01-01 06:00:00\n2024-01-31 "
        "10:20:30.5",
        "1970-01-01 00:00:00\n1999-12-31 23:59:59.999999\ninfinity\n-infinity\n0001-01-01 "
        "00:00:00\n9999-12-31 23:59:59\n"
        "2024-03-31 02:30:00\n2024-10-27 02:30:00\n0044-03-15 12:00:00 BC\n294276-12-31 23:59:59\n"
        "2024-02-29 23:59:59.9999995"}},
      {"timestamptz",
       {"2024-01-01 00:00:00+00\n2024-02-29 12:30:00+02\n2023-12-31 23:59:59-05\n2000-01-01 06:00:00+00",
        "1970-01-01 00:00:00+00\n2024-03-31 01:30:00+00\ninfinity\n-infinity\n2024-06-15 12:00:00 "
        "Europe/Berlin\n"
        "0001-01-01 00:00:00+00\n9999-12-31 23:59:59.999999+14\n2024-07-01 00:00:00-03:30"}},
      {"interval",
       {"1 day\n1 hour\n30 days\n1 mon\n1 year\n00:30:00\n-1 day\n2 days 03:04:05\n0",
        "1 year 2 mons 3 days 04:05:06.789\n-1 mons +1 day\n720:00:00\n1.5 days\n-00:00:01\n100 years\n1 mon "
        "-30 days\n"
        "P1Y2M3DT4H5M6S\n1 week\n0.5 mon\n999999:59:59\n24:00:00\n1 decade\n-2 years -3 mons"}},
      {"uuid",
       {"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11\n00000000-0000-0000-0000-000000000001",
        "ffffffff-ffff-ffff-ffff-ffffffffffff\n{A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11}"
        "\n00000000000000000000000000000000"}},
      {"jsonb",
       {"1\n\"a\"\n{\"a\": 1}\n[1, 2]\n{\"a\": {\"b\": 2}}\nnull\ntrue\n[]\n{}\n[1, \"a\", null]",
        "{\"a\": [1, {\"b\": null}], \"bb\": 1.50}\n1e5\n1.0\n{\"b\": 1, \"a\": 2, \"a\": "
        "3}\n\"\\u00e4\"\n[[1], [2, 3]]\n"
        "{\"\": 0}\n-0.00\n\"tab\\t\"\n[true, false, \"1\"]\n{\"a\": \"x\", \"c\": {\"a\": [0]}}"}},
      {"json",
       {"1\n\"a\"\n{\"a\": 1}\n[1, 2]\n{\"a\": {\"b\": 2}}\nnull",
        "{\"b\": 1,  \"a\": 2, \"a\": 3}\n[ 1 , 2 ]\n1.50\n\"\\u00e4\""}},
      {"gen_mood", {"sad\nok\nhappy\nVery happy", "sad\n\nglad"}},
      {"int4[]",
       {"{}\n{1}\n{1,2}\n{1,2,3}\n{3,2,1}\n{5,NULL}",
        "{NULL}\n{2147483647,-2147483648}\n{1,1,1,1,1,1,1,1}\n{0,10,20}"}},
      {"text[]",
       {"{}\n{a}\n{a,b}\n{foo,bar}\n{abc,NULL}",
        "{\"\"}\n{\"a b\",\"c,d\"}\n{NULL,NULL}\n{\"\\\"q\\\"\",\"\\\\\"}\n{\"NULL\",null}\n{1,2}\n{a%,_b}"}},
      {"numeric[]", {"{}\n{1}\n{1.0,2.50}\n{0.1,NULL}", "{1e10,-0.001}\n{1.00,1.0,1}"}},
      {"float8[]", {"{}\n{1}\n{0.5,2.5}", "{NaN,Infinity}\n{-0,0}\n{1e300,NULL}"}},
      {"date[]", {"{}\n{2024-01-01}\n{2024-02-29,2023-12-31}", "{NULL,infinity}"}},
      {"bool[]", {"{}\n{t}\n{t,f}", "{NULL,t}"}},
      {"int8[]", {"{}\n{1}\n{1,2}", "{9223372036854775807,NULL}"}},
      {"timestamp[]",
       {"{}\n{\"2024-01-01 00:00:00\"}",
        "{NULL,infinity}\n{\"2024-02-29 12:30:00\",\"2000-01-01 06:00:00\"}"}},
  };
  return all;
}

std::string pick_line(Random& random, std::string_view lines) {
  std::vector<std::string_view> all;
  for (std::size_t end = 0; end != std::string_view::npos;) {
    end = lines.find('\n');
    all.push_back(lines.substr(0, end));
    if (end != std::string_view::npos) lines.remove_prefix(end + 1);
  }
  return std::string(all[random.below(all.size())]);
}

std::string value_of(Random& random, const std::string& type, bool plain) {
  const Values& known = values().at(type);
  return pick_line(random, plain || random.chance(0.6) ? known.plain : known.edges);
}

std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') out += "'";
    out += c;
  }
  return out + "'";
}

std::string name_of(const std::string& type) {
  if (type == "bpchar") return "char(6)";
  if (type == "varchar") return "varchar(12)";
  return type;
}

bool is_number(const std::string& text) {
  return text.find_first_not_of("-0123456789.e") == std::string::npos;
}

}  // namespace

std::string pick(Random& random, std::string_view words) {
  if (words.find('\n') != std::string_view::npos) return pick_line(random, words);
  std::vector<std::string> all(1);
  for (const char c : words) {
    if (c == ' ') {
      all.emplace_back();
    } else {
      all.back() += c;
    }
  }
  return all[random.below(all.size())];
}

std::string value_text(Random& random, const std::string& type, bool plain) {
  std::string value = value_of(random, type, plain);
  if (value == "-0") value = "0";  // columns keep no sign of zero
  if (type == "bool") return value;
  if ((type == "int2" || type == "int4" || type == "int8" || type == "numeric") && random.chance(0.9))
    return value;
  return quoted(value);
}

Tree literal(Random& random, const std::string& type, bool plain) {
  const std::string simplest = quoted(pick_line(random, values().at(type).plain)) + "::" + name_of(type);
  if (random.chance(0.05)) return leaf("NULL::" + name_of(type), type);
  if (!plain && random.chance(0.02)) return leaf("NULL", type);
  const std::string value = value_of(random, type, plain);
  if (type == "bool") return leaf(value, type);
  // As programs write them: the text decides what type a number has.
  const bool of_its_type =
      type == "int4" || (type == "numeric" && value.find_first_of(".e") != std::string::npos);
  if (of_its_type && is_number(value) && random.chance(0.7)) {
    return leaf(value.front() == '-' ? "(" + value + ")" : value, type, type == "int4" ? "1" : "1.5");
  }
  if (type == "text" && random.chance(0.5)) return leaf(quoted(value), type);
  if (!plain && random.chance(0.03)) return leaf(quoted(value), type);  // of a type that its place decides
  return leaf(quoted(value) + "::" + name_of(type), type, simplest);
}

std::optional<Tree> special_literal(Random& random, const std::string& hole) {
  static const std::map<std::string, std::string_view> texts = {
      {"pattern",
       "'a%'\n'%b'\n'%a%'\n'_'\n'a_'\n'%'\n''\n'ab\\%'\n'%o_'\n'A%'\n'f%o'\n'__%'\n'%!%%'\n'a!_b'"},
      {"regex",
       "'a'\n'^a'\n'b$'\n'[a-c]+'\n'^$'\n'a|b'\n'^[[:digit:]]+$'\n'o{2}'\n'(ab)*c'\n'.'\n'\\d'\n'\\w+\\s'\n'["
       "^a]'\n'A'"},
      {"digits", "0\n1\n2\n3\n4\n5\n(-1)\n(-2)\n7"},
      {"count", "0\n1\n2\n3\n5\n10\n12"},
      {"zone", "'UTC'\n'Europe/Berlin'\n'America/New_York'\n'+02'\n'Asia/Kolkata'"},
      {"clock field", "'hour'\n'minute'\n'second'\n'milliseconds'\n'microseconds'\n'epoch'"},
      {"clock field name", "hour\nminute\nsecond\nmilliseconds\nmicroseconds\nepoch"},
      {"field",
       "'hour'\n'second'\n'epoch'\n'day'\n'month'\n'year'\n'quarter'\n'week'\n'decade'\n'century'\n'"
       "millennium'\n'dow'\n'doy'\n"
       "'isodow'\n'isoyear'\n'julian'"},
      {"field name",
       "hour\nsecond\nepoch\nday\nmonth\nyear\nquarter\nweek\ndecade\ncentury\nmillennium\ndow\ndoy\nisodow\n"
       "isoyear\njulian\n"
       "minute\nmicroseconds"},
      {"day field", "'day'\n'month'\n'year'\n'quarter'\n'week'\n'decade'\n'century'\n'millennium'\n'hour'"},
      {"day field name",
       "day\nmonth\nyear\nquarter\nweek\ndecade\ncentury\nmillennium\ndow\ndoy\nisodow\nisoyear\njulian\nepoc"
       "h"},
      {"format",
       "'YYYY-MM-DD'\n'HH24:MI:SS'\n'Mon DD, YYYY'\n'Day'\n'FMMonth FMDD'\n'HH12:MI AM'\n'IYYY-IW-ID'\n'DDD "
       "D Q'\n'MS US'\n'J'\n"
       "'YY Y'\n'CC'\n'\"at\" HH'\n'DDth'\n'SSSS'\n'day dy DY'"},
      {"key", "'a'\n'b'\n'bb'\n'c'\n''"},
      {"keys", "'{a}'::text[]\n'{a,b}'::text[]\n'{}'::text[]"},
      {"path",
       "'{a}'::text[]\n'{a,b}'::text[]\n'{0}'::text[]\n'{a,0}'::text[]\n'{}'::text[]\n'{-1}'::text[]\n'{a,b,"
       "c}'::text[]"},
      {"trim", "','\n' '\n'a'\n'ab'\n''\n'xyz'"},
  };
  const auto found = texts.find(hole);
  if (found == texts.end()) return std::nullopt;
  return leaf(pick_line(random, found->second), hole);
}

}  // namespace namdb::sqltest
