#include "tools/namsim/history/anomaly.h"

#include <array>

namespace namdb::history {
namespace {

constexpr std::array kAnomalies{
#define NAMDB_ANOMALY_INFO(kind, name, strength, sentence) \
  AnomalyInfo{AnomalyKind::kind, name, Strength::strength, sentence},
    NAMDB_ANOMALIES(NAMDB_ANOMALY_INFO)
#undef NAMDB_ANOMALY_INFO
};

constexpr std::array kLevels{
    Level{"read-committed", Strength::read_committed, false, false},
    Level{"parallel-snapshot-isolation", Strength::parallel_snapshot, true, false},
    Level{"snapshot-isolation", Strength::snapshot, true, false},
    Level{"strict-snapshot-isolation", Strength::snapshot, true, true},
    Level{"serializable", Strength::serializable, true, false},
    Level{"strict-serializable", Strength::serializable, true, true},
};

}  // namespace

std::span<const AnomalyInfo> anomaly_table() {
  return kAnomalies;
}

const AnomalyInfo& anomaly_info(AnomalyKind kind) {
  return kAnomalies[static_cast<std::size_t>(kind)];
}

std::span<const Level> levels() {
  return kLevels;
}

std::optional<Level> level_from_name(std::string_view name) {
  for (const Level& level : kLevels) {
    if (level.name == name) return level;
  }
  return std::nullopt;
}

const Level& strict_snapshot_isolation() {
  return kLevels[3];
}

std::string_view edge_name(EdgeKind kind) {
  constexpr std::array<std::string_view, 5> kNames{"ww", "wr", "rw", "session", "real-time"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string Anomaly::name() const {
  std::string text(anomaly_info(kind).name);
  const bool session_is_said = kind == AnomalyKind::monotonic_writes ||
                               kind == AnomalyKind::writes_follow_reads ||
                               kind == AnomalyKind::read_your_writes || kind == AnomalyKind::monotonic_reads;
  if (session && !session_is_said) text += "-session";
  if (real_time) text += "-real-time";
  return text;
}

}  // namespace namdb::history
