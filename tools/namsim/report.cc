#include "tools/namsim/report.h"

namespace namdb::sim {

using Json = nlohmann::ordered_json;

Json to_json(const history::Report& report, const history::History& history, const history::Level& level) {
  Json json;
  json["ok"] = report.ok();
  json["level"] = level.name;
  json["model"] = history.model() == history::Model::registers ? "registers" : "lists";
  json["transactions"] = report.transactions;
  json["committed"] = report.committed;
  json["aborted"] = report.aborted;
  json["unknown"] = report.unknown;
  json["operations"] = report.operations;
  json["edges"] = report.edges;
  json["search_cut_short"] = report.search_cut_short;
  json["anomalies"] = Json::array();
  for (const history::Anomaly& anomaly : report.anomalies) {
    Json one;
    one["name"] = anomaly.name();
    one["sentence"] = anomaly.sentence;
    one["transactions"] = anomaly.transactions;
    one["keys"] = anomaly.keys;
    one["cycle"] = Json::array();
    for (const history::Step& step : anomaly.cycle) {
      Json edge;
      edge["from"] = step.from;
      edge["to"] = step.to;
      edge["kind"] = history::edge_name(step.kind);
      edge["key"] = step.key ? Json(*step.key) : Json();
      edge["reason"] = step.reason;
      one["cycle"].push_back(std::move(edge));
    }
    json["anomalies"].push_back(std::move(one));
  }
  return json;
}

std::string to_text(const history::Report& report, const history::History& history,
                    const history::Level& level) {
  std::string text = std::to_string(report.transactions) + " transactions (" +
                     std::to_string(report.committed) + " committed, " + std::to_string(report.aborted) +
                     " aborted, " + std::to_string(report.unknown) + " unknown), " +
                     std::to_string(report.operations) + " operations\n";
  for (const history::Anomaly& anomaly : report.anomalies)
    text += "\n" + history::to_text(anomaly, history) + "\n";
  if (report.search_cut_short)
    text += "\nThe search for cycles was cut short: there are dependency cycles of undetermined kind.\n";
  if (!report.anomalies.empty()) text += "\n";
  text += report.ok() ? "ok: " : "violated: ";
  text += level.name;
  return text + "\n";
}

Json to_json(const Scenario& scenario, const Verdict& verdict, const history::Level& level) {
  Json json;
  json["ok"] = verdict.anomaly.empty();
  json["seed"] = scenario.seed;
  json["level"] = level.name;
  json["workload"] = scenario.workload;
  for (const Size::Field& field : Size::fields()) {
    std::string name = field.name;
    for (char& letter : name) letter = letter == '-' ? '_' : letter;
    json[name] = *(scenario.size.*field.value);
  }
  json["options"] = scenario.describe();
  json["flags"] = scenario.flags();
  json["transactions"] = verdict.transactions;
  json["committed"] = verdict.committed;
  json["virtual_ns"] = verdict.virtual_ns;
  json["fingerprint"] = verdict.fingerprint;
  json["faults"] = Json::object();
  for (std::size_t kind = 0; kind < verdict.happened.size(); ++kind)
    json["faults"][Fault::kind_name(static_cast<Fault::Kind>(kind))] = verdict.happened[kind];
  json["takeovers"] = verdict.takeovers;
  json["machines_lost"] = verdict.lost;
  json["anomaly"] = verdict.anomaly.empty() ? Json() : Json(verdict.anomaly);
  return json;
}

std::string to_text(const Scenario& scenario, const Verdict& verdict, const history::Level& level) {
  std::string text = "options: " + scenario.describe() + "\n" + std::to_string(verdict.transactions) +
                     " transactions, " + std::to_string(verdict.committed) + " committed by clients, " +
                     std::to_string(verdict.virtual_ns / 1000) + " µs of virtual time, fingerprint " +
                     std::to_string(verdict.fingerprint) + "\n";
  const std::string faults = to_text(verdict.happened);
  if (!faults.empty()) text += "faults: " + faults + "\n";
  if (verdict.takeovers != 0 || verdict.lost != 0) {
    text += std::to_string(verdict.takeovers) + " takeovers, " + std::to_string(verdict.lost) +
            " machines lost for good\n";
  }
  if (verdict.anomaly.empty()) return text + "ok: " + std::string(level.name) + "\n";
  return text + "\n" + verdict.anomaly + "\n\nviolated: " + std::string(level.name) + "\n";
}

}  // namespace namdb::sim
