#include "compute/procedure/library.h"

#include <absl/cleanup/cleanup.h>
#include <dlfcn.h>

#include <cstdint>
#include <filesystem>

namespace namdb::procedure {
namespace {

Status refuse(const std::string& path, const std::string& why, std::string hint = {}) {
  return Status(ErrorCode::configuration, "cannot load procedure library " + path + ": " + why,
                std::move(hint));
}

std::string last_error() {
  const char* text = dlerror();
  return text == nullptr ? "unknown error" : text;
}

// Handles of libraries; the caller closes them.
Result<void*> open_library(const std::string& path) {
  // dlopen() would search the system's folders for a name without a slash: only the file that was named
  // counts.
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(path, error);
  if (error || !std::filesystem::is_regular_file(absolute, error)) return refuse(path, "no such file");
  void* library = dlopen(absolute.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return refuse(path, last_error());
  return library;
}

}  // namespace

Status load_library(const std::string& path, ProcedureRegistry& registry) {
  const Result<void*> opened = open_library(path);
  if (!opened.ok()) return opened.status();
  void* const library = *opened;
  absl::Cleanup close = [library] { dlclose(library); };
  const auto* version = static_cast<const std::uint32_t*>(dlsym(library, "namdb_procedure_abi_version"));
  if (version == nullptr) {
    return refuse(path, "it does not define namdb_procedure_abi_version",
                  "a procedure library ends with NAMDB_PROCEDURE_LIBRARY");
  }
  if (*version != kAbiVersion) {
    return refuse(path,
                  "its ABI version is " + std::to_string(*version) + ", this server's is " +
                      std::to_string(kAbiVersion),
                  "compile it against this server's compute/procedure/procedure.h");
  }
  using Register = void (*)(Registry&);
  const auto add_all = reinterpret_cast<Register>(dlsym(library, "namdb_register_procedures"));
  if (add_all == nullptr) return refuse(path, "it does not define namdb_register_procedures");
  add_all(registry);
  std::move(close).Cancel();  // its procedures stay valid
  if (Status status = registry.take_status(); !status.ok()) return refuse(path, status.message());
  return {};
}

Status load_pieces(const std::string& path, Choppings& choppings) {
  const Result<void*> opened = open_library(path);
  if (!opened.ok()) return opened.status();
  void* const library = *opened;
  // It declares values: the library need not stay.
  const absl::Cleanup close = [library] { dlclose(library); };
  using Declare = void (*)(Choppings&);
  const auto declare = reinterpret_cast<Declare>(dlsym(library, "namdb_declare_pieces"));
  if (declare == nullptr) return {};
  const auto* version = static_cast<const std::uint32_t*>(dlsym(library, "namdb_chopping_abi_version"));
  if (version == nullptr || *version != kChoppingAbiVersion) {
    return refuse(path, "the pieces of its procedures are of another version",
                  "compile it against this server's compute/procedure/chopping.h");
  }
  declare(choppings);
  return {};
}

}  // namespace namdb::procedure
