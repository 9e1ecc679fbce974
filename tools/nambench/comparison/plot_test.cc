// Pictures and tables: where things lie on them, and that readers of their formats can read them.
#include <catch2/catch.hpp>
#include <cctype>
#include <limits>

#include "tools/nambench/comparison/axis.h"
#include "tools/nambench/comparison/line_plot.h"
#include "tools/nambench/comparison/markdown.h"
#include "tools/nambench/comparison/stacked_bars.h"
#include "tools/nambench/comparison/timeline_plot.h"

using namespace namdb::nambench;

namespace {

// Checks that elements nest and that only markup has angle brackets. The first fault, or an empty string.
std::string xml_complaint(const std::string& text) {
  std::vector<std::string> open;
  std::size_t position = 0;
  while ((position = text.find('<', position)) != std::string::npos) {
    const std::size_t end = text.find('>', position);
    if (end == std::string::npos) return "an element does not end";
    const std::string tag = text.substr(position + 1, end - position - 1);
    if (tag.find('<') != std::string::npos) return "an element in an element: " + tag;
    if (std::count(tag.begin(), tag.end(), '"') % 2 != 0) return "an open quote: " + tag;
    if (tag.front() == '/') {
      if (open.empty() || open.back() != tag.substr(1)) return "unexpected " + tag;
      open.pop_back();
    } else if (tag.back() != '/') {
      open.push_back(tag.substr(0, tag.find(' ')));
    }
    position = end;
  }
  return open.empty() ? "" : "not closed: " + open.back();
}

LinePlot some_plot(std::size_t series) {
  LinePlot plot{
      .title = "YCSB & <others>", .x_label = "hot \"%\"", .y_label = "transactions/s", .series = {}};
  for (std::size_t i = 0; i < series; ++i) {
    plot.series.push_back({"series " + std::to_string(i), {}});
    for (const double x : {1.0, 4.0, 11.0}) {
      plot.series.back().points.push_back(
          {.x = x, .y = x * 1000 + 10 * static_cast<double>(i), .half_range = 50});
    }
  }
  return plot;
}

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t found = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

}  // namespace

TEST_CASE("ticks from zero are round numbers that reach beyond the greatest value") {
  CHECK(Axis::from_zero(97, 5).ticks() == std::vector<double>{0, 20, 40, 60, 80, 100});
  CHECK(Axis::from_zero(100, 5).ticks() == std::vector<double>{0, 20, 40, 60, 80, 100});
  CHECK(Axis::from_zero(12.3, 5).ticks().back() == Approx(12.5));
  CHECK(Axis::from_zero(0, 5).ticks() == std::vector<double>{0, 1});
  for (double greatest = 1e-3; greatest < 1e9; greatest *= 1.7) {
    const Axis axis = Axis::from_zero(greatest, 5);
    CAPTURE(greatest);
    CHECK(axis.ticks().size() >= 3);
    CHECK(axis.ticks().size() <= 7);
    CHECK(axis.position(greatest) <= 1 + 1e-9);
    CHECK(axis.position(greatest) > 0.5);
  }
}

TEST_CASE("values lie between the ends of their axis, in proportion or by their logarithms") {
  const Axis linear = Axis::at({1, 4, 11}, false);
  CHECK(linear.position(1) == 0);
  CHECK(linear.position(6) == Approx(0.5));
  CHECK(linear.position(11) == 1);
  const Axis logarithmic = Axis::at({1, 16, 256}, true);
  CHECK(logarithmic.position(16) == Approx(0.5));
  CHECK(Axis::at({0, 50, 90}, true).position(45) == Approx(0.5));  // there is no logarithm of 0
  CHECK(Axis::at({7}, false).position(7) == 0.5);
}

TEST_CASE("labels are short and tell ticks apart") {
  const Axis thousands = Axis::from_zero(9000, 5);
  CHECK(thousands.label(0) == "0");
  CHECK(thousands.label(2000) == "2 k");
  CHECK(Axis::from_zero(12000, 5).label(2500) == "2.5 k");
  CHECK(Axis::from_zero(9e6, 5).label(4e6) == "4 M");
  CHECK(Axis::from_zero(3, 5).label(0.5) == "0.5");
  CHECK(Axis::at({1, 16, 256}, true).label(256) == "256");
}

TEST_CASE("plots are well-formed, whatever their texts say, and have a line and markers for each series") {
  for (const std::size_t series : {0U, 1U, 6U, 20U}) {
    const std::string svg = some_plot(series).to_svg();
    CAPTURE(series, svg);
    CHECK(xml_complaint(svg) == "");
    CHECK(count(svg, "nan") == 0);
    CHECK(count(svg, "inf") == 0);
    CHECK(count(svg, "class=\"line l") == 2 * series);  // in the plot and in the legend
    CHECK(count(svg, "class=\"spread") == 3 * series);
    CHECK(count(svg, "<title>") == 3 * series);
    CHECK(count(svg, "YCSB &amp; &lt;others&gt;") == 1);
    CHECK(count(svg, "prefers-color-scheme:dark") == 1);
  }
  LinePlot flat{.title = "t", .x_label = "x", .y_label = "y", .series = {{"s", {{.x = 3, .y = 0}}}}};
  CHECK(xml_complaint(flat.to_svg()) == "");
  CHECK(count(flat.to_svg(), "nan") == 0);
}

TEST_CASE("a line of many points has no markers, and round ticks") {
  LinePlot plot{.title = "t", .x_label = "x", .y_label = "y", .series = {{"s", {}}}};
  for (int i = 0; i < 90; ++i) plot.series[0].points.push_back({.x = static_cast<double>(i), .y = 1});
  const std::string svg = plot.to_svg();
  CAPTURE(svg);
  CHECK(count(svg, "<title>") == 0);
  CHECK(count(svg, ">10</text>") == 1);
  CHECK(count(svg, ">90</text>") == 1);
  CHECK(count(svg, ">89</text>") == 0);
}

TEST_CASE("bands lie behind the lines, inside the plot, and have one place in the legend for each name") {
  LinePlot plot = some_plot(2);
  plot.bands = {{"a", 2, 3}, {"b", 4, 4}, {"a", 10, 400}, {"a", 300, 400}};
  const std::string svg = plot.to_svg();
  CAPTURE(svg);
  CHECK(xml_complaint(svg) == "");
  CHECK(count(svg, "class=\"band f2\"><title>a</title>") == 2);  // the last one is not in the plot
  CHECK(count(svg, "class=\"band f3\"><title>b</title>") == 1);
  CHECK(count(svg, "class=\"band ") == 3 + 2);
  CHECK(count(svg, ">a</text>") == 1);
  CHECK(svg.find("class=\"band ") < svg.find("class=\"grid"));
}

TEST_CASE("a timeline shows what went on beside it") {
  namdb::support::RunReport report;
  report.begin_ns = 1'000'000'000;
  report.timeline.resize(10);
  const TimelineEvent event{3'500'000'000, 5'500'000'000, "a checkpoint"};
  const LinePlot plot = timeline_plot(report, {&event, 1});
  REQUIRE(plot.bands.size() == 1);
  CHECK(plot.bands[0].name == "a checkpoint");
  CHECK(plot.bands[0].begin == Approx(2));
  CHECK(plot.bands[0].end == Approx(4));
}

TEST_CASE("a timeline shows commits and the outcomes that occurred, without the second that was cut short") {
  namdb::support::RunReport report;
  report.timeline = {{.committed = 30, .aborted = 0, .failed = 0},
                     {.committed = 0, .aborted = 0, .failed = 4},
                     {.committed = 1, .aborted = 1, .failed = 0}};
  const LinePlot plot = timeline_plot(report);
  REQUIRE(plot.series.size() == 3);
  CHECK(plot.series[0].name == "committed");
  CHECK(plot.series[1].name == "aborted");
  CHECK(plot.series[2].name == "failed");
  for (const PlotSeries& series : plot.series) CHECK(series.points.size() == 2);
  CHECK(plot.series[0].points[0].y == 30);
  CHECK(plot.series[2].points[1].y == 4);
  report.timeline = {{.committed = 5, .aborted = 0, .failed = 0}};
  REQUIRE(timeline_plot(report).series.size() == 1);
  CHECK(timeline_plot(report).series[0].points.size() == 1);
  report.timeline.clear();
  CHECK(xml_complaint(timeline_plot(report).to_svg()) == "");
}

TEST_CASE("bars are well-formed, end to end, and parts without length are not drawn") {
  const StackedBars bars{
      .title = "time of <one> transaction",
      .x_label = "us",
      .parts = {{.name = "read"}, {.name = "lock & log"}, {.name = "other", .faint = true}},
      .rows = {{"occ", {10, 20, 70}}, {"si", {30, 0, 20}}}};
  const std::string svg = bars.to_svg();
  CAPTURE(svg);
  CHECK(xml_complaint(svg) == "");
  CHECK(count(svg, "<title>") == 5);
  CHECK(count(svg, "<title>occ, lock &amp; log: 20.00</title>") == 1);
  CHECK(count(svg, "class=\"pale\"") == 3);
  CHECK(count(svg, "class=\"f0\"") == 3);
  const StackedBars none{.title = "t", .x_label = "us", .parts = {}, .rows = {{"occ", {}}}};
  CHECK(xml_complaint(none.to_svg()) == "");
}

TEST_CASE("text that is not well-formed is noticed") {
  CHECK(xml_complaint("<a><b></a></b>") != "");
  CHECK(xml_complaint("<a>") != "");
  CHECK(xml_complaint("<a x=\"1/>") != "");
}

TEST_CASE("tables are padded Markdown") {
  MarkdownTable table({"", "rate"});
  table.add({"si", "1,000 ±2 %"});
  table.add({"nowait", "5"});
  CHECK(table.to_text() ==
        "|        |       rate |\n"
        "| ------ | ---------: |\n"
        "| si     | 1,000 ±2 % |\n"
        "| nowait |          5 |\n");
  CHECK(grouped(1234567.891, 1) == "1,234,567.9");
  CHECK(grouped(-1234, 0) == "-1,234");
  CHECK(grouped(999, 0) == "999");
}
