#include "tools/namctl/chopping_view.h"

#include <nlohmann/json.hpp>
#include <string_view>

#include "tools/namctl/output.h"

namespace namdb::namctl {

using procedure::ChoppingGraph;
using procedure::ConflictEdge;
using procedure::Piece;

namespace {

std::string joined(const std::vector<std::string>& names) {
  std::string all;
  for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
  return all;
}

std::string accesses_of(const Piece& piece) {
  std::string all;
  for (const auto& [verb, names] : {std::pair("reads ", &piece.reads), std::pair("writes ", &piece.writes),
                                    std::pair("adds to ", &piece.commutes)}) {
    if (!names->empty()) all += (all.empty() ? "" : "; ") + (verb + joined(*names));
  }
  return all;
}

// Sizes of the picture.
constexpr double kColumn = 210;
constexpr double kRow = 46;
constexpr double kBoxWidth = 130;
constexpr double kBoxHeight = 26;
constexpr double kLeft = 30;
constexpr double kTop = 60;

struct Point {
  double x = 0;
  double y = 0;
};

// The middle of that piece's box.
Point place(const ChoppingGraph& graph, ConflictEdge::End end) {
  std::size_t row = 0;
  for (const auto& group : graph.chopped[end.procedure].groups) {
    for (const std::size_t piece : group) {
      if (piece == end.piece)
        return {kLeft + kColumn * static_cast<double>(end.procedure) + kBoxWidth / 2,
                kTop + kRow * static_cast<double>(row) + kBoxHeight / 2};
      ++row;
    }
  }
  return {};
}

std::string escaped(std::string_view text) {
  std::string all;
  for (const char c : text) {
    if (c == '&') {
      all += "&amp;";
    } else if (c == '<') {
      all += "&lt;";
    } else if (c == '>') {
      all += "&gt;";
    } else if (c == '"') {
      all += "&quot;";
    } else {
      all += c;
    }
  }
  return all;
}

std::string conflict_svg(const ChoppingGraph& graph, const ConflictEdge& edge) {
  const Point one = place(graph, edge.one);
  const Point other = place(graph, edge.other);
  const std::string title = "<title>" + escaped(joined(edge.tables)) + "</title>";
  if (edge.one == edge.other)
    return text("<circle class=\"c\" cx=\"%g\" cy=\"%g\" r=\"7\">", one.x + kBoxWidth / 2,
                one.y - kBoxHeight / 2) +
           title + "</circle>\n";
  // Between pieces of one column, of two runs: around them.
  const bool same_column = edge.one.procedure == edge.other.procedure;
  const double from = one.x + kBoxWidth / 2;
  const double to = same_column ? from : other.x - kBoxWidth / 2;
  const double bend = same_column ? 45 : 30;
  return text("<path class=\"c\" d=\"M %g %g C %g %g %g %g %g %g\">", from, one.y, from + bend, one.y,
              same_column ? to + bend : to - bend, other.y, to, other.y) +
         title + "</path>\n";
}

std::string procedure_svg(const ChoppingGraph& graph, std::size_t number) {
  const procedure::Chopping& chopping = graph.procedures[number];
  const double left = kLeft + kColumn * static_cast<double>(number);
  std::string svg = text("<text class=\"p\" x=\"%g\" y=\"%g\">", left, kTop - 24) +
                    escaped(chopping.procedure) + "</text>\n";
  std::size_t row = 0;
  for (const auto& group : graph.chopped[number].groups) {
    svg += text("<rect class=\"g\" x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\" rx=\"8\"/>\n", left - 8,
                kTop + kRow * static_cast<double>(row) - 7, kBoxWidth + 16,
                kRow * static_cast<double>(group.size()) - kRow + kBoxHeight + 14);
    for (const std::size_t piece : group) {
      const double top = kTop + kRow * static_cast<double>(row);
      if (row != 0)
        svg += text("<line class=\"s\" x1=\"%g\" y1=\"%g\" x2=\"%g\" y2=\"%g\"/>\n", left + kBoxWidth / 2,
                    top - kRow + kBoxHeight, left + kBoxWidth / 2, top);
      const Piece& shown = chopping.pieces[piece];
      svg += text("<rect class=\"b\" x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\"/>", left, top, kBoxWidth,
                  kBoxHeight);
      svg += text("<text x=\"%g\" y=\"%g\">", left + 6, top + 17) +
             escaped(shown.name + (shown.aborts ? " (may abort)" : "")) + "<title>" +
             escaped(accesses_of(shown)) + "</title></text>\n";
      ++row;
    }
  }
  return svg;
}

}  // namespace

std::vector<std::string> to_lines(const ChoppingGraph& graph) {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < graph.procedures.size(); ++i) {
    const procedure::Chopping& chopping = graph.procedures[i];
    const auto& groups = graph.chopped[i].groups;
    lines.push_back(text("%s: %zu piece%s, %zu transaction%s", chopping.procedure.c_str(),
                         chopping.pieces.size(), chopping.pieces.size() == 1 ? "" : "s", groups.size(),
                         groups.size() == 1 ? "" : "s"));
    for (std::size_t group = 0; group < groups.size(); ++group) {
      for (std::size_t k = 0; k < groups[group].size(); ++k) {
        const Piece& piece = chopping.pieces[groups[group][k]];
        std::string line = k == 0 ? text("  %zu. ", group + 1) : "     ";
        line += piece.name + ": " + accesses_of(piece);
        if (piece.aborts) line += "; may abort";
        if (graph.is_free(i, groups[group][k])) line += "; conflicts with none";
        lines.push_back(std::move(line));
      }
    }
  }
  return lines;
}

nlohmann::json to_json(const ChoppingGraph& graph) {
  nlohmann::json procedures = nlohmann::json::array();
  for (std::size_t i = 0; i < graph.procedures.size(); ++i) {
    nlohmann::json transactions = nlohmann::json::array();
    for (const auto& group : graph.chopped[i].groups) {
      nlohmann::json pieces = nlohmann::json::array();
      for (const std::size_t piece : group) pieces.push_back(graph.procedures[i].pieces[piece].name);
      transactions.push_back(std::move(pieces));
    }
    procedures.push_back(
        {{"procedure", graph.procedures[i].procedure}, {"transactions", std::move(transactions)}});
  }
  const auto end = [&graph](ConflictEdge::End at) {
    return nlohmann::json{{"procedure", graph.procedures[at.procedure].procedure},
                          {"piece", graph.procedures[at.procedure].pieces[at.piece].name}};
  };
  nlohmann::json conflicts = nlohmann::json::array();
  for (const ConflictEdge& edge : graph.conflicts)
    conflicts.push_back({{"one", end(edge.one)}, {"other", end(edge.other)}, {"on", edge.tables}});
  return {{"procedures", std::move(procedures)}, {"conflicts", std::move(conflicts)}};
}

std::string to_svg(const ChoppingGraph& graph) {
  std::size_t rows = 0;
  for (const procedure::Chopping& chopping : graph.procedures) rows = std::max(rows, chopping.pieces.size());
  std::string svg = text(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%g\" height=\"%g\" font-family=\"sans-serif\" "
      "font-size=\"12\">\n",
      kLeft + kColumn * static_cast<double>(graph.procedures.size()),
      kTop + kRow * static_cast<double>(rows));
  svg +=
      "<style>.p{font-weight:bold}.b{fill:#fff;stroke:#000}.g{fill:#eef;stroke:#88a}"
      ".s{stroke:#000;stroke-width:2}.c{fill:none;stroke:#c00}</style>\n";
  for (std::size_t i = 0; i < graph.procedures.size(); ++i) svg += procedure_svg(graph, i);
  for (const ConflictEdge& edge : graph.conflicts) svg += conflict_svg(graph, edge);
  return svg + "</svg>\n";
}

}  // namespace namdb::namctl
