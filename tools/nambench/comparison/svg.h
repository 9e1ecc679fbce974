// Pieces of SVG that all plots share: the frame, text, and colours for light and for dark screens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace namdb::nambench {

// More series than that share colours; shapes and dashes then tell them apart.
inline constexpr std::size_t kSvgColours = 12;

enum class Anchor : std::uint8_t { begin, middle, end };

// A picture of that size in pixels. Each element covers those that were added before it.
class Svg {
 public:
  Svg(double width, double height);

  // `css` is a class of the style sheet: title, text, faint; of shapes series_fill(), or pale.
  void text(double x, double y, Anchor anchor, std::string_view css, std::string_view text);
  // css: grid, axis, or series_line().
  void line(double x1, double y1, double x2, double y2, std::string_view css);
  // `path` as in SVG's d attribute. `tooltip`: the text under a pointer; no text if empty.
  void path(std::string_view path, std::string_view css, std::string_view tooltip = {});
  void rectangle(double x, double y, double width, double height, std::string_view css,
                 std::string_view tooltip = {});

  std::string to_text() const;

  // About how wide a text is.
  static double text_width(std::string_view text) { return 6.6 * static_cast<double>(text.size()); }
  static double title_width(std::string_view text) { return 8.4 * static_cast<double>(text.size()); }
  static std::string number(double value);
  // Classes of a series' line and of its filled shapes.
  static std::string series_line(std::size_t series);
  static std::string series_fill(std::size_t series);

 private:
  std::string body_;
};

}  // namespace namdb::nambench
