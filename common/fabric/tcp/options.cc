#include "common/fabric/tcp/options.h"

namespace namdb::fabric::tcp {

Encryption encryption_of(std::string_view name) {
  if (name == "off") return Encryption::off;
  return name == "required" ? Encryption::required : Encryption::between_machines;
}

}  // namespace namdb::fabric::tcp
