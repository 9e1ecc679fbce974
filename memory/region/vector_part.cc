#include "memory/region/vector_part.h"

#include <string>

namespace namdb::memory {

Result<std::uint32_t> place_slot(const Region& region, const layout::VectorParts& parts,
                                 const control::PlaceSlotRequest& request, Later later) {
  const auto here = static_cast<layout::ServerId>(region.map().server_id);
  const layout::VectorParts::Place place = parts.place(request.vector_position());
  const std::string subject = "execution slot " + std::to_string(request.slot());
  if (request.slot() < layout::kFirstLeasedSlot || request.slot() > layout::kMaxSlot ||
      place.server != here || place.index >= region.map().vector_capacity) {
    return Status(ErrorCode::protocol_violation, subject + " has no word on this memory server");
  }
  const layout::Stamp before = region.vector_word(place.index).stamp();
  const bool is_later = before.slot == request.slot() && before.counter > request.counter();
  if (is_later && later == Later::stays) return before.counter;
  if (before.slot > request.slot() || is_later) {
    return Status(ErrorCode::protocol_violation, subject + " would go back in the timestamp vector");
  }
  region.set_vector_word(place.index, {request.slot(), request.counter()});
  if (request.vector_length() == 0) return request.counter();
  const std::uint64_t in_use = parts.words(here, request.vector_length());
  std::uint64_t length = region.vector_length();
  while (length > in_use && region.vector_word(length - 1).stamp().slot < request.slot()) --length;
  region.shorten_vector(length);
  return request.counter();
}

}  // namespace namdb::memory
