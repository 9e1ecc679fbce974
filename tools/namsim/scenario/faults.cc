#include "tools/namsim/scenario/faults.h"

#include <array>
#include <fstream>
#include <sstream>
#include <string_view>

#include "common/base/clock.h"
#include "tools/namsim/scenario/fault_options.h"
#include "tools/namsim/scenario/json_fields.h"

namespace namdb::sim {
namespace {

using Kind = Fault::Kind;
using Json = nlohmann::json;

constexpr std::array<std::string_view, Fault::kKindCount> kKinds{
    "crash-compute",     "pause-compute", "pause-memory", "crash-memory",    "cut-link",
    "delay-link",        "slow-node",     "clock-rate",   "abandon-session", "set",
    "restart-memory",    "lose-power",    "lose-host",    "split-host",      "cut-store",
    "lose-store-answer", "delay-store"};
constexpr std::array<std::string_view, 3> kDirections{"both", "request", "reply"};
constexpr std::array<std::string_view, 2> kHosts{"primary", "copy"};
constexpr std::array<std::string_view, 3> kStores{"both", "host", "rest"};
constexpr std::uint64_t kMost_ns = 60 * kSecond_ns;

template <std::size_t N>
std::optional<std::size_t> position(const std::array<std::string_view, N>& names, std::string_view name) {
  for (std::size_t i = 0; i < N; ++i) {
    if (names[i] == name) return i;
  }
  return std::nullopt;
}

template <std::size_t N>
std::string one_of(const std::array<std::string_view, N>& names) {
  std::string text = "must be one of";
  for (const std::string_view name : names) text += " " + std::string(name);
  return text;
}

bool of(Kind kind, std::initializer_list<Kind> kinds) {
  return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}

// Only the fields that the kind has are asked for: any other one is unknown.
Result<Fault> parse_fault(const Json& object, const std::string& where) {
  JsonFields fields(object, where);
  Fault fault;
  std::string name;
  if (!fields.has("fault")) fields.fail("fault", "is missing");
  fields.text("fault", name);
  const auto kind = position(kKinds, name);
  if (!kind) fields.fail("fault", one_of(kKinds));
  if (!fields.ok()) return fields.finish();
  fault.kind = static_cast<Kind>(*kind);
  if (fault.kind == Kind::set) {
    fields.text("option", fault.option);
    if (!settable(fault.option))
      fields.fail("option", "unknown option \"" + fault.option + "\"; there are " + settable_names());
    if (!fields.has("value")) fields.fail("value", "is missing");
    fields.number("value", fault.value, 0, std::uint64_t{1} << 40);
    const Status status = fields.finish();
    if (!status.ok()) return status;
    return fault;
  }
  if (fault.kind != Kind::clock_rate) {
    const int given = (fields.has("after_transactions") ? 1 : 0) + (fields.has("at_ns") ? 1 : 0) +
                      (fields.has("probability") ? 1 : 0);
    if (given > 1) fields.fail("fault", "has more than one of after_transactions, at_ns, probability");
    fields.number("after_transactions", fault.after_transactions, 0, 1'000'000);
    fields.number("at_ns", fault.at_ns, 0, 600 * kSecond_ns);
    if (fields.has("probability")) {
      fault.probability = 0;
      fields.probability("probability", *fault.probability);
      fields.number("times", fault.times, 1, 1000);
    }
  }
  if (!of(fault.kind,
          {Kind::pause_memory, Kind::crash_memory, Kind::restart_memory, Kind::lose_power, Kind::lose_host,
           Kind::split_host, Kind::cut_store, Kind::lose_store_answer, Kind::delay_store}))
    fields.number("compute", fault.compute, 0, 99);
  if (!of(fault.kind, {Kind::crash_compute, Kind::pause_compute, Kind::abandon_session, Kind::lose_power}))
    fields.number("memory", fault.memory, 0, 15);
  if (of(fault.kind, {Kind::slow_node, Kind::clock_rate}) &&
      fault.compute.has_value() == fault.memory.has_value())
    fields.fail("fault", "needs compute or memory");
  if (of(fault.kind, {Kind::pause_compute, Kind::pause_memory, Kind::cut_link, Kind::delay_link,
                      Kind::slow_node, Kind::abandon_session, Kind::split_host, Kind::cut_store})) {
    if (!fields.has("duration_ns")) fields.fail("duration_ns", "is missing");
    fields.number("duration_ns", fault.duration_ns, 1, kMost_ns);
  }
  if (of(fault.kind, {Kind::delay_link, Kind::slow_node, Kind::delay_store})) {
    if (!fields.has("delay_ns")) fields.fail("delay_ns", "is missing");
    fields.number("delay_ns", fault.delay_ns, 1, kMost_ns);
  }
  if (of(fault.kind, {Kind::cut_link, Kind::delay_link, Kind::split_host}) && fields.has("direction")) {
    fields.text("direction", name);
    const auto direction = position(kDirections, name);
    if (!direction) fields.fail("direction", one_of(kDirections));
    if (direction) fault.direction = static_cast<Fault::Direction>(*direction);
  }
  if (of(fault.kind, {Kind::pause_memory, Kind::restart_memory, Kind::split_host, Kind::cut_store,
                      Kind::lose_store_answer, Kind::delay_store}) &&
      fields.has("host")) {
    fields.text("host", name);
    const auto host = position(kHosts, name);
    if (!host) fields.fail("host", one_of(kHosts));
    if (host) fault.host = static_cast<Fault::Host>(*host);
  }
  if (fault.kind == Kind::split_host && fields.has("store")) {
    fields.text("store", name);
    const auto store = position(kStores, name);
    if (!store) fields.fail("store", one_of(kStores));
    if (store) fault.store = static_cast<Fault::Store>(*store);
  }
  if (fault.kind == Kind::clock_rate) {
    if (!fields.has("ppm")) fields.fail("ppm", "is missing");
    fields.integer("ppm", fault.ppm, -100'000, 100'000);
  }
  const Status status = fields.finish();
  if (!status.ok()) return status;
  return fault;
}

}  // namespace

std::string_view Fault::kind_name(Kind kind) {
  return kKinds[static_cast<std::size_t>(kind)];
}

std::string to_text(const FaultCounts& counts) {
  std::string text;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == 0) continue;
    text += (text.empty() ? "" : ", ") + std::string(kKinds[i]) + " " + std::to_string(counts[i]);
  }
  return text;
}

std::string Fault::text() const {
  nlohmann::ordered_json json;
  json["fault"] = kind_name(kind);
  if (after_transactions) json["after_transactions"] = *after_transactions;
  if (at_ns) json["at_ns"] = *at_ns;
  if (probability) {
    json["probability"] = *probability;
    json["times"] = times;
  }
  if (compute) json["compute"] = *compute;
  if (memory) json["memory"] = *memory;
  if (host) json["host"] = kHosts[static_cast<std::size_t>(*host)];
  if (store != Store::both) json["store"] = kStores[static_cast<std::size_t>(store)];
  if (direction != Direction::both) json["direction"] = kDirections[static_cast<std::size_t>(direction)];
  if (duration_ns != 0) json["duration_ns"] = duration_ns;
  if (delay_ns != 0) json["delay_ns"] = delay_ns;
  if (kind == Kind::clock_rate) json["ppm"] = ppm;
  if (kind == Kind::set) {
    json["option"] = option;
    json["value"] = value;
  }
  return json.dump();
}

Result<std::string> read_text_file(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  std::ostringstream text;
  if (stream) text << stream.rdbuf();
  if (!stream) return Status(ErrorCode::configuration, file + ": cannot be read");
  return text.str();
}

Result<Json> parse_json(const std::string& text, const std::string& file) {
  Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) return Status(ErrorCode::configuration, file + ": is no JSON");
  return json;
}

Result<Faults> parse_faults(const std::string& text, const std::string& file) {
  const Result<Json> json = parse_json(text, file);
  if (!json.ok()) return json.status();
  JsonFields fields(*json, file);
  if (!fields.has("faults") || !(*json)["faults"].is_array()) fields.fail("faults", "must be a list");
  const Status status = fields.finish();
  if (!status.ok()) return status;
  Faults faults;
  for (const Json& object : (*json)["faults"]) {
    Result<Fault> fault = parse_fault(object, file + ": faults[" + std::to_string(faults.size()) + "]");
    if (!fault.ok()) return fault.status();
    faults.push_back(std::move(fault).value());
  }
  return faults;
}

Result<Faults> read_faults(const std::string& file) {
  const Result<std::string> text = read_text_file(file);
  if (!text.ok()) return text.status();
  return parse_faults(*text, file);
}

Faults draw_faults(std::uint64_t seed) {
  Random draw(seed * 15'485'863);
  Faults faults;
  if (draw.chance(0.5)) return faults;
  const std::uint64_t count = draw.between(1, 4);
  while (faults.size() < count) {
    Fault fault;
    fault.kind = static_cast<Kind>(draw.below(Fault::kAnyCluster));
    if (fault.kind == Kind::crash_memory && draw.chance(0.5)) continue;
    if (fault.kind == Kind::set) {
      const DrawnOption& option = kDrawnOptions[draw.below(kDrawnOptions.size())];
      fault.option = option.name;
      fault.value = option.value;
      faults.push_back(fault);
      continue;
    }
    if (fault.kind != Kind::clock_rate) {
      switch (draw.below(3)) {
        case 0:
          fault.after_transactions = draw.below(60);
          break;
        case 1:
          fault.at_ns = draw.below(2 * kMillisecond_ns);
          break;
        default:
          fault.probability = draw.chance(0.5) ? 0.001 : 0.0001;
          fault.times = fault.kind == Kind::crash_memory ? 1 : draw.between(1, 3);
      }
    }
    constexpr std::array<std::uint64_t, 4> kDurations_ns{50 * kMicrosecond_ns, kMillisecond_ns,
                                                         30 * kMillisecond_ns, 400 * kMillisecond_ns};
    fault.duration_ns = kDurations_ns[draw.below(kDurations_ns.size())];
    if (of(fault.kind, {Kind::crash_compute, Kind::crash_memory, Kind::clock_rate})) fault.duration_ns = 0;
    if (of(fault.kind, {Kind::delay_link, Kind::slow_node}))
      fault.delay_ns = draw.between(1, 4) * draw.between(1, 4) * 5 * kMicrosecond_ns;
    if (of(fault.kind, {Kind::cut_link, Kind::delay_link}))
      fault.direction = static_cast<Fault::Direction>(draw.below(3));
    if (of(fault.kind, {Kind::slow_node, Kind::clock_rate}))
      (draw.chance(0.5) ? fault.compute : fault.memory) = draw.below(3);
    // Of 10 s and 1 ms of slack: two clocks differ by no more.
    if (fault.kind == Kind::clock_rate) fault.ppm = draw.chance(0.5) ? 40 : -40;
    faults.push_back(fault);
  }
  return faults;
}

Faults draw_durable_faults(std::uint64_t seed) {
  Faults faults = draw_faults(seed);
  std::erase_if(faults, [](const Fault& fault) { return fault.kind == Kind::crash_memory; });
  Random draw(seed * 373'587'883);
  for (std::uint64_t i = draw.between(1, 3); i > 0; --i) {
    Fault fault;
    fault.kind = draw.chance(0.5) ? Kind::restart_memory : Kind::lose_power;
    if (draw.chance(0.3)) {
      fault.probability = 0.0002;
      fault.times = draw.between(1, 2);
    } else if (draw.chance(0.5)) {
      fault.after_transactions = draw.below(60);
    } else {
      fault.at_ns = draw.below(4 * kMillisecond_ns);
    }
    faults.push_back(fault);
  }
  return faults;
}

Faults draw_copies_faults(std::uint64_t seed) {
  constexpr std::array<Kind, 12> kDrawn{Kind::restart_memory,    Kind::restart_memory, Kind::lose_host,
                                        Kind::lose_power,        Kind::pause_memory,   Kind::cut_store,
                                        Kind::lose_store_answer, Kind::delay_store,    Kind::crash_compute,
                                        Kind::split_host,        Kind::split_host,     Kind::split_host};
  constexpr std::array<std::uint64_t, 4> kDurations_ns{300 * kMillisecond_ns, 1500 * kMillisecond_ns,
                                                       3 * kSecond_ns, 6 * kSecond_ns};
  Random draw(seed * 512'927'377);
  Faults faults;
  std::uint64_t at_ns = 0;
  for (std::uint64_t count = draw.between(2, 5); count > 0; --count) {
    Fault fault;
    fault.kind = kDrawn[draw.below(kDrawn.size())];
    at_ns += draw.below(6 * kSecond_ns);
    fault.at_ns = at_ns;
    if (of(fault.kind, {Kind::pause_memory, Kind::cut_store, Kind::split_host}))
      fault.duration_ns = kDurations_ns[draw.below(kDurations_ns.size())];
    if (fault.kind == Kind::delay_store) fault.delay_ns = draw.between(1, 300) * kMillisecond_ns;
    // Primaries are of more interest.
    if (of(fault.kind, {Kind::pause_memory, Kind::restart_memory, Kind::split_host}))
      fault.host = draw.chance(0.6) ? Fault::Host::primary : Fault::Host::copy;
    if (of(fault.kind, {Kind::cut_store, Kind::lose_store_answer, Kind::delay_store}) && draw.chance(0.5))
      fault.host = draw.chance(0.6) ? Fault::Host::primary : Fault::Host::copy;
    if (fault.kind == Kind::split_host) {
      fault.direction =
          draw.chance(0.6) ? Fault::Direction::both : static_cast<Fault::Direction>(draw.between(1, 2));
      fault.store = static_cast<Fault::Store>(draw.below(kStores.size()));
    }
    faults.push_back(fault);
    if (!of(fault.kind, {Kind::lose_store_answer, Kind::delay_store})) continue;
    // Some host changes the store then.
    Fault restart;
    restart.kind = Kind::restart_memory;
    restart.at_ns = at_ns + kMillisecond_ns;
    faults.push_back(restart);
  }
  return faults;
}

}  // namespace namdb::sim
