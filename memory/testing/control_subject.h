// For tests: the parts of memory server 0 with control state, without the server, and the sum of its log.
#pragma once

#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "memory/coordinator/catalog.h"
#include "memory/coordinator/control_changes.h"
#include "memory/coordinator/control_state.h"
#include "memory/coordinator/slots.h"
#include "memory/region/visibility.h"
#include "memory/testing/test_cluster.h"
#include "memory/testing/test_control_log.h"

namespace namdb::memory::testing {

inline constexpr std::uint64_t kControlDatabaseId = 0xda7aba5e;

// Of one of two memory servers.
inline Options control_options() {
  Options options = small_options();
  options.server_count = 2;
  options.version = "1.2";
  options.max_slots_per_peer = 4;
  return options;
}

inline std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

struct ControlSubject {
  explicit ControlSubject(fabric::sim::SimWorld& simulation, const std::string& name)
      : world(simulation), node(world.add_node(name)), memory((4U << 20) / 8), log(node) {
    region = std::move(*Region::create(std::as_writable_bytes(std::span(memory)), options, 1));
    slots = std::make_unique<Slots>(*region, options, copies);
    catalog = std::make_unique<Catalog>(*region, options);
    control = std::make_unique<ControlChanges>(node, options, *catalog, *slots);
  }
  Status open(const control::ControlState& state = {}, std::uint64_t id = kControlDatabaseId) {
    return world.run(node, control->open(state, id, log));
  }
  Status change(const ControlChanges::Change& edit) { return world.run(node, control->change(edit)); }
  // The contents of catalog and slots, in the form of the state that is logged.
  control::ControlState exported() const {
    control::ControlState state = control->state();
    catalog->export_state(state);
    slots->export_state(state);
    return state;
  }

  fabric::sim::SimWorld& world;
  fabric::sim::SimNode& node;
  Options options = control_options();
  std::vector<std::uint64_t> memory;
  std::unique_ptr<Region> region;
  CopiedVisibility copies;
  std::unique_ptr<Slots> slots;
  std::unique_ptr<Catalog> catalog;
  std::unique_ptr<ControlChanges> control;
  TestControlLog log;
};

// The sum of the first entries of its log.
inline control::ControlState replay(const ControlSubject& subject, std::size_t entries) {
  control::ControlState state;
  for (std::size_t i = 0; i < entries; ++i) {
    const auto entry = read_control_entry(bytes_of(subject.log.records[i].second));
    REQUIRE(entry.ok());
    const Status applied = apply_control_entry(state, *entry);
    INFO(applied.to_string());
    REQUIRE(applied.ok());
  }
  return state;
}

}  // namespace namdb::memory::testing
