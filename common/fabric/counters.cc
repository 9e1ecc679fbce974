#include "common/fabric/counters.h"

#include "common/fabric/operation.h"

namespace namdb::fabric {

void OperationCounters::count(std::span<const Operation> operations) {
  ++batches;
  for (const Operation& operation : operations) {
    switch (operation.kind) {
      case OperationKind::read:
        ++reads;
        read_bytes += operation.length_bytes;
        break;
      case OperationKind::write:
        ++writes;
        write_bytes += operation.length_bytes;
        break;
      case OperationKind::compare_and_swap:
        ++compare_and_swaps;
        break;
      case OperationKind::fetch_add:
        ++fetch_adds;
        break;
    }
  }
}

namespace {

constexpr std::array kFields = {
    &OperationCounters::reads,       &OperationCounters::writes,     &OperationCounters::compare_and_swaps,
    &OperationCounters::fetch_adds,  &OperationCounters::read_bytes, &OperationCounters::write_bytes,
    &OperationCounters::calls,       &OperationCounters::call_bytes, &OperationCounters::batches,
    &OperationCounters::round_trips, &OperationCounters::rereads};

static_assert(sizeof(OperationCounters) == kFields.size() * sizeof(std::uint64_t),
              "a field is missing in kFields");

}  // namespace

OperationCounters& OperationCounters::operator+=(const OperationCounters& other) {
  for (const auto field : kFields) this->*field += other.*field;
  return *this;
}

OperationCounters OperationCounters::operator-(const OperationCounters& earlier) const {
  OperationCounters difference = *this;
  for (const auto field : kFields) difference.*field -= earlier.*field;
  return difference;
}

}  // namespace namdb::fabric
