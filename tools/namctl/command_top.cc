#include "tools/namctl/command_top.h"

#include <unistd.h>

#include <chrono>
#include <ctime>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "common/base/standard_output.h"
#include "tools/namctl/output.h"
#include "tools/namctl/top_view.h"

namespace namdb::namctl {
namespace {

// Home, and everything below away.
constexpr const char kClear[] = "\033[H\033[J";

std::string time_of_day() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  ::localtime_r(&now, &local);
  char words[32];
  std::strftime(words, sizeof words, "%H:%M:%S", &local);
  return words;
}

void show(const Output& output, const TopView& view, bool refresh) {
  std::string all = refresh ? kClear + time_of_day() + "\n" : "";
  const std::vector<std::string> lines = view.lines();
  for (std::size_t i = 0; i < lines.size(); ++i) all += (i == 0 ? "" : "\n") + lines[i];
  output.line(all);
  output.document(view.json(), true);
}

}  // namespace

int run_top(const ClusterFlags& cluster, const TopFlags& flags, bool json) {
  const Output output(json);
  Result<ClusterAddress> address = locate(cluster);
  if (!address.ok()) return report_error(output, address.status());
  Result<std::unique_ptr<ControlPlane>> control = ControlPlane::create(address->access);
  if (!control.ok()) return report_error(output, control.status());
  const bool refresh = !json && !flags.once && ::isatty(STDOUT_FILENO) == 1;
  const std::uint32_t looks = flags.once ? 2 : flags.count;
  TopView view;
  for (std::uint32_t i = 0; looks == 0 || i < looks; ++i) {
    if (i != 0) std::this_thread::sleep_for(std::chrono::duration<double>(flags.interval_s));
    view.look(view_cluster(**control, *address, flags.sample_records), TopView::Clock::now());
    if (!flags.once || i + 1 == looks) show(output, view, refresh);
    if (!standard_output_arrives()) break;
  }
  return kExitOk;
}

}  // namespace namdb::namctl
