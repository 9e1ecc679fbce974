#include "tools/nambench/comparison/compare_report.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tools/nambench/comparison/line_plot.h"
#include "tools/nambench/comparison/markdown.h"
#include "tools/nambench/comparison/stacked_bars.h"
#include "tools/nambench/comparison/stage_search.h"
#include "tools/nambench/comparison/tables.h"
#include "tools/support/report/text_table.h"

namespace namdb::nambench {
namespace {

std::vector<Trial> chosen(const std::vector<Trial>& trials, const Rows& rows) {
  std::vector<Trial> all;
  for (const std::size_t position : rows.trials) all.push_back(trials[position]);
  return all;
}

std::string protocol_and_stages(const Trial& trial) {
  return trial.subject.protocol + ", " + stage_text(trial.subject.protocol, trial.subject.stages);
}

// The name of the protocol alone where all are one-sided.
Label label_of(const std::vector<Trial>& trials) {
  if (std::ranges::all_of(trials, [](const Trial& trial) { return trial.subject.stages.one_sided(); })) {
    return [](const Trial& trial) { return trial.subject.protocol; };
  }
  return protocol_and_stages;
}

// "12", "0.5".
std::string column_title(double x) {
  return support::decimal(x, x == static_cast<double>(static_cast<std::int64_t>(x)) ? 0 : 1);
}

StackedBars breakdown_picture(const std::vector<Trial>& trials, const std::string& title) {
  StackedBars bars{.title = title, .x_label = "us of the mean transaction", .parts = {}, .rows = {}};
  const std::vector<std::size_t> shown = shown_shares(trials);
  for (const std::size_t i : shown) {
    const std::string name = trials.front().time_shares()[i].name;
    bars.parts.push_back({.name = name, .faint = name == support::kRestOfTime});
  }
  for (const Trial& trial : trials) {
    const std::vector<support::TimeShare> shares = trial.time_shares();
    StackedBars::Row& row = bars.rows.emplace_back();
    row.name = protocol_and_stages(trial);
    for (const std::size_t i : shown) row.values.push_back(shares[i].us);
  }
  return bars;
}

class Writer {
 public:
  explicit Writer(const ComparePlan& plan) : plan_(plan) {}

  CompareReport write(const std::string& preface) {
    out_.markdown = "# Concurrency-control protocols compared\n\n" + preface;
    for (const FabricPlan& fabric : plan_.fabrics) {
      out_.markdown += "\n## Over " + fabric.fabric + "\n";
      for (const Rows& rows : fabric.overviews) {
        const std::vector<Trial> trials = chosen(plan_.trials, rows);
        section(rows.title + ", " + fabric.fabric + ", " + under_way(trials.front().subject.coroutines));
        out_.markdown += figures_table(trials, label_of(trials));
      }
      for (const Panel& panel : fabric.panels) show(panel);
      if (!fabric.attempts.empty()) attempts(fabric);
      if (!fabric.breakdowns.empty()) breakdowns(fabric);
    }
    return std::move(out_);
  }

 private:
  void section(const std::string& title) { out_.markdown += "\n### " + title + "\n\n"; }

  void show(const Panel& panel) {
    section(panel.title);
    for (const Figure& figure : panel.figures) {
      const std::string file = panel.file + "-" + std::string(figure.key) + ".svg";
      out_.pictures.push_back({file, picture(panel, figure)});
      out_.markdown += "![" + panel.title + ", " + std::string(figure.title) + "](" + file + ")\n\n";
    }
    for (const Figure& figure : panel.figures) {
      std::vector<std::string> header = {std::string(figure.title) + " at " + panel.x_label};
      for (const double x : panel.xs) header.push_back(column_title(x));
      MarkdownTable table(std::move(header));
      for (const Panel::Series& series : panel.series) {
        std::vector<std::string> row = {series.name};
        for (const std::size_t position : series.trials)
          row.push_back(figure_text(plan_.trials[position], figure));
        table.add(std::move(row));
      }
      out_.markdown += table.to_text() + (&figure == &panel.figures.back() ? "" : "\n");
    }
  }

  std::string picture(const Panel& panel, const Figure& figure) const {
    LinePlot plot{.title = panel.title,
                  .x_label = panel.x_label,
                  .y_label = std::string(figure.title),
                  .logarithmic_x = panel.logarithmic_x,
                  .series = {}};
    for (const Panel::Series& series : panel.series) {
      PlotSeries& line = plot.series.emplace_back();
      line.name = series.name;
      for (std::size_t i = 0; i < series.trials.size(); ++i) {
        const Spread spread = plan_.trials[series.trials[i]].of(figure.value);
        line.points.push_back({.x = panel.xs[i], .y = spread.median, .half_range = spread.half_range});
      }
    }
    return plot.to_svg();
  }

  void attempts(const FabricPlan& fabric) {
    section("Attempts, " + fabric.fabric);
    out_.markdown +=
        "The share of attempts that ended in a conflict, and the worst of all runs: the most attempts that "
        "one call "
        "needed, and the\nlongest call. A type that starves has many.\n";
    for (const Rows& rows : fabric.attempts) {
      const std::vector<Trial> trials = chosen(plan_.trials, rows);
      out_.markdown += "\n**" + rows.title + "**\n\n" + attempts_table(trials, label_of(trials));
    }
  }

  void breakdowns(const FabricPlan& fabric) {
    section("Where a transaction's time goes, " + fabric.fabric);
    out_.markdown += "The mean transaction, one under way: microseconds, and round trips in parentheses.\n";
    for (const Rows& rows : fabric.breakdowns) {
      const std::vector<Trial> trials = chosen(plan_.timed, rows);
      const std::string file = fabric.fabric + "-time-" + trials.front().subject.workload.name + ".svg";
      const std::string title = "Where the time goes in " + rows.title + ", " + fabric.fabric;
      out_.pictures.push_back({file, breakdown_picture(trials, title).to_svg()});
      out_.markdown += "\n**" + rows.title + "**\n\n![" + title + "](" + file + ")\n\n" +
                       breakdown_table(trials, protocol_and_stages);
    }
  }

  const ComparePlan& plan_;
  CompareReport out_;
};

Status cannot_write(const std::string& what, const std::string& why) {
  return Status(ErrorCode::configuration, "cannot write " + what + ": " + why,
                "--report names the folder for the report");
}

}  // namespace

CompareReport compare_report(const ComparePlan& plan, const std::string& preface) {
  return Writer(plan).write(preface);
}

nlohmann::ordered_json to_json(const ComparePlan& plan) {
  nlohmann::ordered_json json;
  json["trials"] = nlohmann::ordered_json::array();
  for (const Trial& trial : plan.trials) json["trials"].push_back(trial_json(trial));
  json["breakdowns"] = nlohmann::ordered_json::array();
  for (const Trial& trial : plan.timed) json["breakdowns"].push_back(trial_json(trial));
  return json;
}

Status prepare_folder(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return cannot_write(folder, error.message());
  // An old report's pictures must not be taken for this one's, and an error of writing is known at once.
  return write_file(folder, "report.md", "The comparison is under way.\n");
}

Status write_file(const std::string& folder, const std::string& file, const std::string& text) {
  const std::string path = (std::filesystem::path(folder) / file).string();
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.close();
  return out ? Status() : cannot_write(path, "see its permissions and the space on its disk");
}

}  // namespace namdb::nambench
