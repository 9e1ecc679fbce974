#include "common/fabric/cpu_channel.h"

#include <cstddef>
#include <cstring>
#include <span>

#include "common/fabric/region_words.h"

namespace namdb::fabric {
namespace {

void execute(const Operation& operation, std::span<std::byte> region, std::size_t capacity_bytes) {
  NAMDB_CHECK(operation.remote_offset % 8 == 0 && operation.length_bytes % 8 == 0);
  const std::size_t end = operation.kind == OperationKind::read ? capacity_bytes : region.size();
  NAMDB_CHECK(operation.remote_offset <= end && operation.length_bytes <= end - operation.remote_offset);
  std::byte* place = region.data() + operation.remote_offset;
  switch (operation.kind) {
    case OperationKind::read:
      copy_from_growing_region(operation.local, region.data(), region.size(), operation.remote_offset,
                               operation.length_bytes);
      break;
    case OperationKind::write: {
      // The last word by an exchange: a locked instruction between a WRITE and any later READ or completion.
      const std::size_t last = operation.length_bytes - 8;
      std::uint64_t word;
      std::memcpy(&word, operation.local + last, 8);
      copy_to_region(place, operation.local, last);
      region_word(place + last).exchange(word);
      break;
    }
    case OperationKind::compare_and_swap: {
      std::uint64_t old_value = operation.expected;
      region_word(place).compare_exchange_strong(old_value, operation.operand);
      std::memcpy(operation.local, &old_value, 8);
      break;
    }
    case OperationKind::fetch_add: {
      const std::uint64_t old_value = region_word(place).fetch_add(operation.operand);
      std::memcpy(operation.local, &old_value, 8);
      break;
    }
  }
}

}  // namespace

CpuChannel::CpuChannel(ServedRegion& served) : Channel(served.executor), served_(served) {}

void CpuChannel::do_post(Batch& batch) {
  batch.begin();
  for (const Operation& operation : batch.operations())
    execute(operation, served_.bytes(), served_.region.capacity_bytes);
  batch.complete(executor(), Status());
}

}  // namespace namdb::fabric
