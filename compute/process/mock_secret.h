// The secret from which the SCRAM challenges for unknown user names are derived, so that these look like the
// challenges for a user with a password.
#pragma once

#include <array>
#include <string>

#include "common/base/error.h"
#include "common/fabric/cluster_key.h"

namespace namdb::compute {

using MockSecret = std::array<unsigned char, 32>;
// Derived from the cluster's key, so that all compute servers have the same one. Without a key the secret is
// in a file of the data folder, which is made if it is missing, and stays. Errors: configuration.
Result<MockSecret> mock_secret(const fabric::ClusterKey* key, const std::string& data_folder);

}  // namespace namdb::compute
