// The picture of a number for to_char(), such as 'FM999,990.00': its items, and how many digits they show.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "common/base/error.h"

namespace namdb::sql {

struct NumberPicture {
  enum class Key : std::uint8_t {
    literal,
    comma,
    point,
    zero,
    nine,
    blank,
    currency_code,
    local_point,
    exponent,
    fill_mode,
    group,
    currency,
    minus,
    plus,
    brackets,
    roman,
    small_roman,
    sign,
    spelled,
    local_sign,
    ordinal,
    small_ordinal,
    shift
  };

  enum class SignPlace : std::uint8_t { none, before, behind };

  struct Item {
    Key key = Key::literal;
    std::string_view text;  // of a literal
  };

  std::vector<Item> items;
  int before = 0;  // digits before the point
  int behind = 0;
  int shifted = 0;     // digits behind V
  int first_zero = 0;  // position of the first 0, from 1; 0: none
  int last_zero = 0;
  int digits_before_sign = 0;
  SignPlace local_sign = SignPlace::none;
  bool has_point = false, fills = false, has_zero = false, has_sign = false, has_brackets = false;
  bool has_minus = false, has_plus = false, is_roman = false, shifts = false, has_exponent = false;
  bool leaves_blank = false;

  // Takes the next item into account. Error: syntax_error of one that contradicts those before.
  Status add(Key key);
};

// Reads a picture; its literals borrow from `text`. Errors: syntax_error, limit_exceeded of a long text.
Status read_picture(std::string_view text, NumberPicture& picture);

}  // namespace namdb::sql
