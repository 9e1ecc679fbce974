#include "tools/namctl/cluster_file.h"

#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>

namespace namdb::namctl {
namespace {

std::filesystem::path file_of(const std::filesystem::path& data) {
  return data / "cluster.json";
}

}  // namespace

bool has_cluster_file(const std::filesystem::path& data) {
  std::error_code ignored;
  return std::filesystem::exists(file_of(data), ignored);
}

Result<ClusterFile> read_cluster_file(const std::filesystem::path& data) {
  if (!has_cluster_file(data)) {
    return {ErrorCode::configuration, "no cluster has been started on " + data.string(), "namctl dev up"};
  }
  std::ifstream file(file_of(data));
  const nlohmann::json content = nlohmann::json::parse(file, nullptr, false);
  // Types are checked by the conversions, which throw; nothing of the library escapes from here.
  try {
    ClusterFile cluster;
    content.at("fabric").get_to(cluster.fabric);
    content.at("memory_servers").get_to(cluster.memory_servers);
    content.at("compute_servers").get_to(cluster.compute_servers);
    content.at("sql_port").get_to(cluster.sql_port);
    content.at("memory_addresses").get_to(cluster.memory_addresses);
    // Not in files of older versions.
    cluster.copies = content.value("copies", std::uint32_t{1});
    cluster.protocol = content.value("protocol", std::string());
    cluster.stages = content.value("stages", std::string());
    cluster.durability = content.value("durability", std::string());
    cluster.fabric_encryption = content.value("fabric_encryption", std::string());
    cluster.region_bytes = content.value("region_bytes", std::string());
    cluster.region_limit = content.value("region_limit", std::string());
    cluster.local_path = content.value("local_path", false);
    cluster.local_sockets = content.value("local_sockets", std::vector<std::string>());
    cluster.procedure_libraries = content.value("procedure_libraries", std::vector<std::string>());
    cluster.memory_flags = content.value("memory_flags", std::vector<std::string>());
    cluster.compute_flags = content.value("compute_flags", std::vector<std::string>());
    const std::size_t sockets = cluster.local_path ? cluster.hosts() : 0;
    if (cluster.memory_addresses.size() == cluster.hosts() && cluster.local_sockets.size() == sockets)
      return cluster;
  } catch (const nlohmann::json::exception&) {
  }
  return {ErrorCode::configuration, file_of(data).string() + " is damaged",
          "stop the daemons named in " + (data / "run").string() + " and remove it"};
}

Status remove_cluster_file(const std::filesystem::path& data) {
  std::error_code error;
  std::filesystem::remove(file_of(data), error);
  if (error) return {ErrorCode::configuration, "cannot remove " + file_of(data).string()};
  return {};
}

Status write_cluster_file(const std::filesystem::path& data, const ClusterFile& cluster) {
  const nlohmann::json content = {{"fabric", cluster.fabric},
                                  {"memory_servers", cluster.memory_servers},
                                  {"copies", cluster.copies},
                                  {"compute_servers", cluster.compute_servers},
                                  {"sql_port", cluster.sql_port},
                                  {"memory_addresses", cluster.memory_addresses},
                                  {"protocol", cluster.protocol},
                                  {"stages", cluster.stages},
                                  {"durability", cluster.durability},
                                  {"fabric_encryption", cluster.fabric_encryption},
                                  {"region_bytes", cluster.region_bytes},
                                  {"region_limit", cluster.region_limit},
                                  {"local_path", cluster.local_path},
                                  {"local_sockets", cluster.local_sockets},
                                  {"procedure_libraries", cluster.procedure_libraries},
                                  {"memory_flags", cluster.memory_flags},
                                  {"compute_flags", cluster.compute_flags}};
  const std::filesystem::path temporary = file_of(data).string() + ".new";
  {
    std::ofstream file(temporary, std::ios::trunc);
    file << content.dump(2) << '\n';
    if (!file.flush()) return {ErrorCode::configuration, "cannot write " + temporary.string()};
  }
  std::error_code error;
  std::filesystem::rename(temporary, file_of(data), error);
  if (error) return {ErrorCode::configuration, "cannot write " + file_of(data).string()};
  return {};
}

}  // namespace namdb::namctl
