#include "tools/namctl/command_fabric.h"

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "tools/namctl/fabric_view.h"
#include "tools/namctl/output.h"

namespace namdb::namctl {

int run_fabric(const ClusterFlags& flags, bool json) {
  const Output output(json);
  Result<ClusterAddress> address = locate(flags);
  if (!address.ok()) return report_error(output, address.status());
  Result<std::unique_ptr<ControlPlane>> control = ControlPlane::create(address->access);
  if (!control.ok()) return report_error(output, control.status());
  keep_region_hosts(**control, *address);
  const FabricView view = view_fabric(**control, *address);
  for (const std::string& line : to_lines(view)) output.line(line);
  output.document(to_json(view));
  return view.all_answer() ? kExitOk : kExitOther;
}

}  // namespace namdb::namctl
