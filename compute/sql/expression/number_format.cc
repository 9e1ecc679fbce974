#include "compute/sql/expression/number_format.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <optional>

#include "compute/sql/expression/number_picture.h"
#include "compute/sql/value/characters.h"

namespace namdb::sql {
namespace {

// As printf() shows it with so many digits behind the point; `format` takes both.
std::string printed(const char* format, int behind, double number) {
  std::string text(static_cast<std::size_t>(std::snprintf(nullptr, 0, format, behind, number)) + 1, ' ');
  std::snprintf(text.data(), text.size(), format, behind, number);
  text.pop_back();
  return text;
}

std::string roman_numeral(std::int64_t number) {
  if (number < 1 || number > 3999) return std::string(15, '#');
  struct Letter {
    int value;
    std::string_view letters;
  };
  constexpr auto kLetters = std::to_array<Letter>({{1000, "M"},
                                                   {900, "CM"},
                                                   {500, "D"},
                                                   {400, "CD"},
                                                   {100, "C"},
                                                   {90, "XC"},
                                                   {50, "L"},
                                                   {40, "XL"},
                                                   {10, "X"},
                                                   {9, "IX"},
                                                   {5, "V"},
                                                   {4, "IV"},
                                                   {1, "I"}});
  std::string text;
  for (const Letter& letter : kLetters) {
    for (; number >= letter.value; number -= letter.value) text += letter.letters;
  }
  return text;
}

// The end of an ordinal number: "st", "nd", "rd", "th".
std::string_view ordinal_end(std::string_view number) {
  const bool is_teen = number.size() > 1 && number[number.size() - 2] == '1';
  if (is_teen || number.empty()) return "th";
  return number.back() == '1' ? "st" : number.back() == '2' ? "nd" : number.back() == '3' ? "rd" : "th";
}

// Writes a number's digits by a picture.
class PictureWriter {
 public:
  // `number`: digits, perhaps with a point. `missing`: so many digits of the picture are before the first.
  PictureWriter(const NumberPicture& picture, std::string_view number, char sign, int missing,
                std::string& out)
      : picture_(picture), number_(number), sign_(sign), missing_(missing), out_(out) {
    first_zero_ = picture.first_zero - (picture.first_zero > 0 ? 1 : 0);
    brackets_ = picture.has_brackets;
    local_sign_ = picture.local_sign;
    prepare_sign();
    last_position_ = picture.behind + picture.before - 1;
    find_last_digit();
    if (!sign_written_ && missing_ == 0) ++last_position_;
  }

  void write() {
    for (const NumberPicture::Item& item : picture_.items) write_item(item);
    if (end_) out_.resize(*end_);
  }

 private:
  void prepare_sign() {
    if (picture_.has_plus || picture_.has_minus) {
      sign_written_ = picture_.has_minus;
      return;
    }
    if (sign_ != '-' && picture_.fills) brackets_ = false;
    sign_written_ = sign_ == '+' && picture_.fills && !picture_.has_sign;
    if (local_sign_ == NumberPicture::SignPlace::before && picture_.before == picture_.digits_before_sign)
      local_sign_ = NumberPicture::SignPlace::behind;
  }

  // In fill mode zeros at the end are left out, up to the last 0 of the picture.
  void find_last_digit() {
    const std::size_t point = number_.find('.');
    if (!picture_.fills || !picture_.has_point || point == std::string_view::npos) return;
    last_digit_ = point;
    for (std::size_t i = point + 1; i < number_.size(); ++i) {
      if (number_[i] != '0') last_digit_ = i;
    }
    if (picture_.last_zero <= missing_) return;
    const std::size_t last_zero =
        std::min(number_.size() - 1, static_cast<std::size_t>(picture_.last_zero - missing_));
    last_digit_ = std::max(*last_digit_, last_zero);
  }

  bool ends_with_point() const { return last_digit_ && number_[*last_digit_] == '.'; }
  // The 0 before the point of 0.1, for which a 9 shows nothing.
  bool is_lone_zero() const {
    return !picture_.has_zero && at_ == 0 && number_.starts_with('0') && picture_.behind != 0;
  }

  void write_sign() {
    const bool shows_digit = position_ >= missing_ || (picture_.has_zero && first_zero_ == position_);
    if (sign_written_ || !shows_digit || (is_lone_zero() && !ends_with_point())) return;
    if (picture_.has_sign) {
      if (local_sign_ != NumberPicture::SignPlace::before) return;
      out_ += sign_ == '-' ? '-' : '+';
    } else if (brackets_) {
      out_ += sign_ == '+' ? ' ' : '<';
    } else if (sign_ == '-') {
      out_ += '-';
    } else if (!picture_.fills) {
      out_ += ' ';
    }
    sign_written_ = true;
  }

  void write_digit(NumberPicture::Key key) {
    const char digit = at_ < number_.size() ? number_[at_] : '\0';
    if (digit == '.') {
      out_ += '.';
    } else if (last_digit_ && at_ > *last_digit_ && key != NumberPicture::Key::zero) {
      // Left out.
    } else if (is_lone_zero()) {
      if (!picture_.fills) {
        out_ += ' ';
      } else if (ends_with_point()) {
        out_ += '0';
      }
    } else if (digit != '\0') {
      out_ += digit;
      in_number_ = true;
    } else {
      // PostgreSQL's text ends where a number has no digits left.
      if (!end_) end_ = out_.size();
      in_number_ = true;
    }
    if (digit != '\0') ++at_;
  }

  void write_place(NumberPicture::Key key) {
    if (picture_.is_roman) return;
    in_number_ = false;
    write_sign();
    if (position_ < missing_ && (first_zero_ > position_ || !picture_.has_zero)) {
      if (!picture_.fills) out_ += ' ';
    } else if (picture_.has_zero && position_ < missing_) {
      out_ += '0';
      in_number_ = true;
    } else {
      write_digit(key);
    }
    int end = last_position_ + (missing_ != 0 ? 1 : 0) + (picture_.has_point ? 1 : 0);
    if (last_digit_ && *last_digit_ == at_) end = position_;
    if (position_ + 1 == end) {
      if (sign_written_ && brackets_) {
        out_ += sign_ == '+' ? ' ' : '>';
      } else if (picture_.has_sign && local_sign_ == NumberPicture::SignPlace::behind) {
        out_ += sign_ == '-' ? '-' : '+';
      }
    }
    ++position_;
  }

  void write_ordinal(bool is_small) {
    if (picture_.is_roman || number_.starts_with('#') || sign_ == '-' || picture_.has_point) return;
    const std::string end(ordinal_end(number_));
    out_ += is_small ? end : in_upper_case(end);
  }

  static std::string in_upper_case(std::string text) {
    for (char& letter : text) letter = static_cast<char>(letter - 'a' + 'A');
    return text;
  }

  void write_item(const NumberPicture::Item& item) {
    switch (item.key) {
      case NumberPicture::Key::literal:
        out_ += item.text;
        return;
      case NumberPicture::Key::nine:
      case NumberPicture::Key::zero:
      case NumberPicture::Key::point:
      case NumberPicture::Key::local_point:
        write_place(item.key);
        return;
      case NumberPicture::Key::comma:
      case NumberPicture::Key::group:
        if (in_number_) {
          out_ += ',';
        } else if (!picture_.fills) {
          out_ += ' ';
        }
        return;
      case NumberPicture::Key::currency:
        out_ += ' ';
        return;
      case NumberPicture::Key::roman:
      case NumberPicture::Key::small_roman: {
        const std::string text =
            item.key == NumberPicture::Key::roman ? std::string(number_) : in_lower_case(number_);
        if (!picture_.fills && text.size() < 15) out_.append(15 - text.size(), ' ');
        out_ += text;
        return;
      }
      case NumberPicture::Key::ordinal:
      case NumberPicture::Key::small_ordinal:
        write_ordinal(item.key == NumberPicture::Key::small_ordinal);
        return;
      case NumberPicture::Key::minus:
        if (sign_ == '-') {
          out_ += '-';
        } else if (!picture_.fills) {
          out_ += ' ';
        }
        return;
      case NumberPicture::Key::plus:
        if (sign_ == '+') {
          out_ += '+';
        } else if (!picture_.fills) {
          out_ += ' ';
        }
        return;
      case NumberPicture::Key::sign:
        out_ += sign_;
        return;
      default:
        return;
    }
  }

  const NumberPicture& picture_;
  std::string_view number_;
  char sign_;
  int missing_;
  std::string& out_;
  int first_zero_ = 0;
  bool brackets_ = false;
  NumberPicture::SignPlace local_sign_ = NumberPicture::SignPlace::none;
  bool sign_written_ = false;
  bool in_number_ = false;
  int last_position_ = 0;
  std::optional<std::size_t> last_digit_;
  std::optional<std::size_t> end_;
  std::size_t at_ = 0;  // in the number
  int position_ = 0;    // in the picture's digits
};

// `text`: of the number, rounded to the picture's digits.
void write_number(const NumberPicture& picture, std::string text, std::string& out) {
  const char sign = text.starts_with('-') ? '-' : '+';
  if (sign == '-') text.erase(0, 1);
  const int before = static_cast<int>(std::min(text.find('.'), text.size()));
  const int places = picture.before;
  int missing = 0;
  if (before < places) {
    missing = places - before;
  } else if (before > places) {
    text.assign(static_cast<std::size_t>(places + picture.behind + 1), '#');
    text[static_cast<std::size_t>(places)] = '.';
  }
  PictureWriter(picture, text, sign, missing, out).write();
}

Status write_roman(const NumberPicture& picture, const Decimal& number, std::string& out) {
  const Result<std::int64_t> whole = to_integer(number);
  if (!whole.ok() || *whole < INT32_MIN || *whole > INT32_MAX)
    return Status(ErrorCode::numeric_out_of_range, "integer out of range");
  PictureWriter(picture, roman_numeral(*whole), '+', 0, out).write();
  return {};
}

// "e+03"
std::string printed_exponent(int exponent) {
  const std::string digits = std::to_string(std::abs(exponent));
  return (exponent < 0 ? "e-" : "e+") + (digits.size() < 2 ? "0" + digits : digits);
}

// "1.25e+03", with so many digits behind the point.
std::string in_scientific(const Decimal& number, int behind) {
  std::string digits = to_string(Decimal{number.value < 0 ? -number.value : number.value, 0});
  int exponent = static_cast<int>(digits.size()) - 1 - static_cast<int>(number.scale);
  if (number.value == 0) exponent = 0;
  const auto wanted = static_cast<std::size_t>(behind) + 1;
  std::string before = digits.substr(0, 1);
  if (digits.size() > wanted) {
    const bool up = digits[wanted] >= '5';
    digits.resize(wanted);
    if (up) {
      std::size_t at = digits.size();
      while (at > 0 && digits[at - 1] == '9') digits[--at] = '0';
      if (at > 0) {
        ++digits[at - 1];
      } else {
        digits.insert(digits.begin(), '1');
        before = digits.substr(0, 2);
      }
    }
  }
  before = digits.substr(0, before.size());
  std::string rest = digits.substr(before.size());
  rest.resize(static_cast<std::size_t>(behind), '0');
  return (number.value < 0 ? "-" : " ") + before + (behind > 0 ? "." + rest : "") +
         printed_exponent(exponent);
}

}  // namespace

Status append_formatted(std::string& out, const Decimal& number, std::string_view text) {
  NumberPicture picture;
  if (Status status = read_picture(text, picture); !status.ok()) return status;
  if (text.empty()) return {};
  if (picture.is_roman) return write_roman(picture, number, out);
  if (picture.has_exponent) {
    out += in_scientific(number, picture.behind);
    return {};
  }
  Decimal shown = number;
  for (int i = 0; i < picture.shifted; ++i) {
    const Result<Decimal> next = multiply(shown, {10, 0});
    if (!next.ok()) return next.status();
    shown = *next;
  }
  picture.before += picture.shifted;
  const Result<Decimal> rounded = rescale(shown, static_cast<unsigned>(picture.behind));
  if (!rounded.ok()) return rounded.status();
  write_number(picture, to_string(*rounded), out);
  return {};
}

Status append_formatted(std::string& out, double number, int digits, std::string_view text) {
  NumberPicture picture;
  if (Status status = read_picture(text, picture); !status.ok()) return status;
  if (text.empty()) return {};
  if (picture.is_roman) {
    const double whole = std::rint(number);
    const bool has_numeral = whole >= 1 && whole < 4000;
    return write_roman(picture, {has_numeral ? static_cast<Int128>(whole) : 0, 0}, out);
  }
  if (picture.has_exponent) {
    if (!std::isfinite(number)) {
      out += ' ';
      std::string marks(static_cast<std::size_t>(picture.before + picture.behind + 6 - 1), '#');
      marks[static_cast<std::size_t>(picture.before)] = '.';
      out += marks;
      return {};
    }
    std::string scientific = printed("%+.*e", picture.behind, number);
    if (scientific.front() == '+') scientific.front() = ' ';
    out += scientific;
    return {};
  }
  if (picture.shifts) number *= std::pow(10.0, picture.shifted);
  if (digits < 15) number = static_cast<float>(number);
  picture.before += picture.shifted;
  std::string shown = std::isnan(number) ? "NaN" : number < 0 ? "-Infinity" : "Infinity";
  if (std::isfinite(number)) {
    const auto whole = static_cast<int>(printed("%.*f", 0, std::fabs(number)).size());
    if (whole >= digits) {
      picture.behind = 0;
    } else if (whole + picture.behind > digits) {
      picture.behind = digits - whole;
    }
    shown = printed("%.*f", picture.behind, number);
  }
  write_number(picture, std::move(shown), out);
  return {};
}

}  // namespace namdb::sql
