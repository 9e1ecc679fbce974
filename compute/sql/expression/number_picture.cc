#include "compute/sql/expression/number_picture.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "compute/sql/value/characters.h"

namespace namdb::sql {
namespace {

constexpr std::size_t kMaxPicture_bytes = 8'192;

struct Keyword {
  std::string_view text;  // in capitals
  NumberPicture::Key key;
};

// A longer one comes before its beginning.
constexpr auto kKeywords =
    std::to_array<Keyword>({{",", NumberPicture::Key::comma},       {".", NumberPicture::Key::point},
                            {"0", NumberPicture::Key::zero},        {"9", NumberPicture::Key::nine},
                            {"B", NumberPicture::Key::blank},       {"C", NumberPicture::Key::currency_code},
                            {"D", NumberPicture::Key::local_point}, {"EEEE", NumberPicture::Key::exponent},
                            {"FM", NumberPicture::Key::fill_mode},  {"G", NumberPicture::Key::group},
                            {"L", NumberPicture::Key::currency},    {"MI", NumberPicture::Key::minus},
                            {"PL", NumberPicture::Key::plus},       {"PR", NumberPicture::Key::brackets},
                            {"RN", NumberPicture::Key::roman},      {"SG", NumberPicture::Key::sign},
                            {"SP", NumberPicture::Key::spelled},    {"S", NumberPicture::Key::local_sign},
                            {"TH", NumberPicture::Key::ordinal},    {"V", NumberPicture::Key::shift}});

Status contradiction(std::string message) {
  return Status(ErrorCode::syntax_error, std::move(message));
}

char in_small(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
}

// A word in capitals or in small letters.
std::optional<NumberPicture::Item> keyword_at(std::string_view text) {
  for (const Keyword& keyword : kKeywords) {
    const std::string_view written = text.substr(0, keyword.text.size());
    const bool is_small = std::ranges::equal(written, keyword.text, {}, {}, in_small);
    if (written != keyword.text && !is_small) continue;
    const NumberPicture::Key key =
        !is_small || written == keyword.text         ? keyword.key
        : keyword.key == NumberPicture::Key::roman   ? NumberPicture::Key::small_roman
        : keyword.key == NumberPicture::Key::ordinal ? NumberPicture::Key::small_ordinal
                                                     : keyword.key;
    return NumberPicture::Item{key, written};
  }
  return std::nullopt;
}

}  // namespace

Status NumberPicture::add(Key key) {
  if (has_exponent && key != Key::exponent) return contradiction("\"EEEE\" must be the last pattern used");
  switch (key) {
    case Key::nine:
      if (has_brackets) return contradiction("\"9\" must be ahead of \"PR\"");
      ++(shifts ? shifted : has_point ? behind : before);
      break;
    case Key::zero:
      if (has_brackets) return contradiction("\"0\" must be ahead of \"PR\"");
      if (!has_zero && !has_point) {
        has_zero = true;
        first_zero = before + 1;
      }
      ++(has_point ? behind : before);
      last_zero = before + behind;
      break;
    case Key::blank:
      if (before == 0 && behind == 0 && !has_zero) leaves_blank = true;
      break;
    case Key::local_point:
    case Key::point:
      if (has_point) return contradiction("multiple decimal points");
      if (shifts) return contradiction("cannot use \"V\" and decimal point together");
      has_point = true;
      break;
    case Key::fill_mode:
      fills = true;
      break;
    case Key::local_sign:
      if (has_sign) return contradiction("cannot use \"S\" twice");
      if (has_plus || has_minus || has_brackets)
        return contradiction("cannot use \"S\" and \"PL\"/\"MI\"/\"SG\"/\"PR\" together");
      has_sign = true;
      local_sign = has_point ? SignPlace::behind : SignPlace::before;
      if (!has_point) digits_before_sign = before;
      break;
    case Key::minus:
      if (has_sign) return contradiction("cannot use \"S\" and \"MI\" together");
      has_minus = true;
      break;
    case Key::plus:
      if (has_sign) return contradiction("cannot use \"S\" and \"PL\" together");
      has_plus = true;
      break;
    case Key::sign:
      if (has_sign) return contradiction("cannot use \"S\" and \"SG\" together");
      has_minus = has_plus = true;
      break;
    case Key::brackets:
      if (has_sign || has_plus || has_minus)
        return contradiction("cannot use \"PR\" and \"S\"/\"PL\"/\"MI\"/\"SG\" together");
      has_brackets = true;
      break;
    case Key::roman:
    case Key::small_roman:
      is_roman = true;
      break;
    case Key::shift:
      if (has_point) return contradiction("cannot use \"V\" and decimal point together");
      shifts = true;
      break;
    case Key::exponent:
      if (has_exponent) return contradiction("cannot use \"EEEE\" twice");
      if (leaves_blank || fills || has_sign || has_brackets || has_minus || has_plus || is_roman || shifts)
        return contradiction("\"EEEE\" is incompatible with other formats");
      has_exponent = true;
      break;
    default:
      break;
  }
  return {};
}

Status read_picture(std::string_view text, NumberPicture& picture) {
  if (text.size() > kMaxPicture_bytes) {
    return Status(ErrorCode::limit_exceeded,
                  "the format of a number can have at most " + std::to_string(kMaxPicture_bytes) + " bytes");
  }
  while (!text.empty()) {
    if (const std::optional<NumberPicture::Item> item = keyword_at(text)) {
      if (Status status = picture.add(item->key); !status.ok()) return status;
      picture.items.push_back(*item);
      text.remove_prefix(item->text.size());
      continue;
    }
    const auto add_literal = [&] {
      const std::size_t bytes = std::min(character_bytes(text), text.size());
      picture.items.push_back({NumberPicture::Key::literal, text.substr(0, bytes)});
      text.remove_prefix(bytes);
    };
    if (text.front() == '"') {
      text.remove_prefix(1);
      while (!text.empty() && text.front() != '"') {
        if (text.front() == '\\' && text.size() > 1) text.remove_prefix(1);
        add_literal();
      }
      if (!text.empty()) text.remove_prefix(1);
    } else {
      if (text.starts_with("\\\"")) text.remove_prefix(1);
      add_literal();
    }
  }
  return {};
}

}  // namespace namdb::sql
