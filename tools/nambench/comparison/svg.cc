#include "tools/nambench/comparison/svg.h"

#include <array>

#include "tools/support/report/text_table.h"

namespace namdb::nambench {
namespace {

struct Colours {
  std::string_view paper, ink, faint, grid, pale;
  std::array<std::string_view, kSvgColours> series;
};
// Neighbours differ in lightness too, for eyes that do not tell all hues apart.
constexpr Colours kLight{"#ffffff",
                         "#1f2328",
                         "#59636e",
                         "#e1e5ea",
                         "#b4bcc6",
                         {"#2a78d6", "#e8622c", "#12976a", "#4a3aa7", "#c98a00", "#d6457f", "#00657a",
                          "#7a4b2b", "#8a9a1c", "#b3261e", "#6d87a8", "#b07cc6"}};
constexpr Colours kDark{"#14171c",
                        "#e6e9ed",
                        "#9aa4af",
                        "#2d333b",
                        "#5a636e",
                        {"#5aa2f2", "#f0884f", "#3cc492", "#a79bf0", "#e3b341", "#f07cab", "#4fc3d9",
                         "#c9a07f", "#b9c64a", "#ef6b62", "#9fb6d3", "#d3a6e6"}};

std::string rules(const Colours& colours) {
  const auto rule = [](std::string_view css, std::string_view property, std::string_view value) {
    return "." + std::string(css) + "{" + std::string(property) + ":" + std::string(value) + "}";
  };
  std::string text = rule("paper", "fill", colours.paper) + rule("title", "fill", colours.ink) +
                     rule("text", "fill", colours.ink) + rule("faint", "fill", colours.faint) +
                     rule("grid", "stroke", colours.grid) + rule("axis", "stroke", colours.faint) +
                     rule("pale", "fill", colours.pale) + rule("pale", "stroke", colours.paper);
  for (std::size_t i = 0; i < kSvgColours; ++i) {
    text += rule("l" + std::to_string(i), "stroke", colours.series[i]);
    text += rule("f" + std::to_string(i), "fill", colours.series[i]);
    text += rule("f" + std::to_string(i), "stroke", colours.paper);
  }
  return text;
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char each : text) {
    switch (each) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += each;
    }
  }
  return out;
}

std::string attribute(std::string_view name, std::string_view value) {
  return " " + std::string(name) + "=\"" + escaped(value) + "\"";
}

std::string attribute(std::string_view name, double value) {
  return attribute(name, Svg::number(value));
}

std::string closed(std::string_view element, std::string_view tooltip) {
  if (tooltip.empty()) return "/>\n";
  return "><title>" + escaped(tooltip) + "</title></" + std::string(element) + ">\n";
}

}  // namespace

Svg::Svg(double width, double height) {
  body_ = "<svg xmlns=\"http://www.w3.org/2000/svg\"" + attribute("width", width) +
          attribute("height", height) + " viewBox=\"0 0 " + number(width) + " " + number(height) + "\">\n" +
          "<style>text{font:12px system-ui,sans-serif}.title{font-weight:600;font-size:14px}" +
          ".grid,.axis{stroke-width:1}.line{fill:none;stroke-width:2;stroke-linejoin:round}" +
          ".spread{stroke-width:1;stroke-opacity:.6}.dashed{stroke-dasharray:6 4}" + rules(kLight) +
          "@media(prefers-color-scheme:dark){" + rules(kDark) + "}" +
          ".band{fill-opacity:.22;stroke:none}</style>\n";
  rectangle(0, 0, width, height, "paper");
}

void Svg::text(double x, double y, Anchor anchor, std::string_view css, std::string_view text) {
  constexpr std::array<std::string_view, 3> kAnchors{"start", "middle", "end"};
  body_ += "<text" + attribute("x", x) + attribute("y", y) +
           attribute("text-anchor", kAnchors[static_cast<std::size_t>(anchor)]) + attribute("class", css) +
           ">" + escaped(text) + "</text>\n";
}

void Svg::line(double x1, double y1, double x2, double y2, std::string_view css) {
  body_ += "<line" + attribute("x1", x1) + attribute("y1", y1) + attribute("x2", x2) + attribute("y2", y2) +
           attribute("class", css) + "/>\n";
}

void Svg::path(std::string_view path, std::string_view css, std::string_view tooltip) {
  body_ += "<path" + attribute("d", path) + attribute("class", css) + closed("path", tooltip);
}

void Svg::rectangle(double x, double y, double width, double height, std::string_view css,
                    std::string_view tooltip) {
  body_ += "<rect" + attribute("x", x) + attribute("y", y) + attribute("width", width) +
           attribute("height", height) + attribute("class", css) + closed("rect", tooltip);
}

std::string Svg::to_text() const {
  return body_ + "</svg>\n";
}

std::string Svg::number(double value) {
  std::string text = support::decimal(value, 1);
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text;
}

std::string Svg::series_line(std::size_t series) {
  return "line l" + std::to_string(series % kSvgColours) + (series / kSvgColours % 2 == 1 ? " dashed" : "");
}

std::string Svg::series_fill(std::size_t series) {
  return "f" + std::to_string(series % kSvgColours);
}

}  // namespace namdb::nambench
