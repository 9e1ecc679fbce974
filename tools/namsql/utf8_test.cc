#include "tools/namsql/utf8.h"

#include <catch2/catch.hpp>

namespace namdb::namsql::utf8_test {

TEST_CASE("characters have the columns that a terminal gives them", "[utf8]") {
  CHECK(display_width("abc") == 3);
  CHECK(display_width("äöü") == 3);
  CHECK(display_width("日本") == 4);
  CHECK(display_width("e\u0301") == 1);
  CHECK(display_width("😀") == 2);
  CHECK(display_width("ﬀ") == 1);
}

TEST_CASE("malformed bytes are taken one by one", "[utf8]") {
  for (const std::string_view text :
       {"\xff", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82", "\x80"}) {
    const CodePoint point = first_code_point(text);
    CHECK_FALSE(point.valid);
    CHECK(point.bytes == 1);
  }
  const CodePoint euro = first_code_point("€!");
  CHECK(euro.valid);
  CHECK(euro.value == 0x20AC);
  CHECK(euro.bytes == 3);
}

TEST_CASE("nothing that is shown controls the terminal", "[utf8]") {
  CHECK(printable("a\x1b[31mb") == "a\\x1B[31mb");
  CHECK(printable("\xff") == "\\xFF");
  CHECK(printable("\u0085") == "\\xC2\\x85");
  CHECK(printable("a\tb") == "a       b");
  CHECK(printable("日本\tb") == "日本    b");
  CHECK(printable("a\nb") == "a\\x0Ab");
  CHECK(printable("a\nb\tc", LineEnds::keep) == "a\nb       c");
  CHECK(printable("a\r") == "a\\r");
}

}  // namespace namdb::namsql::utf8_test
