// A memory server's log and checkpoints for people and for scripts: the parts of `status`, `top` and
// `checkpoint` about its disk.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "proto/control.pb.h"

namespace namdb::namctl {

// From 0 to 1; nullopt while none is being made, or it has not begun to read.
std::optional<double> checkpoint_part(const control::CheckpointStatus& checkpoint);
// Seconds until its end at the rate so far; nullopt before a rate is known.
std::optional<double> checkpoint_remaining_s(const control::CheckpointStatus& checkpoint);
// "45 % of 230 extents, 12.3 MiB, 1.2 s left"
std::string checkpoint_progress(const control::CheckpointStatus& checkpoint);
// "checkpoint 7 of 24.0 MiB, 12 s ago, took 0.4 s", and all that is unusual about it.
std::string checkpoint_text(const control::CheckpointStatus& checkpoint);

// Lines of `status`, not indented.
std::vector<std::string> disk_lines(const control::StatusReply& reply);
nlohmann::json log_json(const control::DiskStatus& disk);
nlohmann::json checkpoint_json(const control::CheckpointStatus& checkpoint);
nlohmann::json opening_json(const control::OpeningStatus& opening);

}  // namespace namdb::namctl
