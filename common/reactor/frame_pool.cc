#include "common/reactor/frame_pool.h"

#include <array>
#include <new>
#include <utility>

#include "common/base/address_sanitizer.h"

namespace namdb::reactor {
namespace {

[[maybe_unused]] constexpr std::size_t kClass_bytes = 128;
constexpr std::size_t kClasses = 64;  // frames up to 8 KiB are pooled

struct FreeFrame {
  FreeFrame* next;
};

// Without a destructor, so that no use of it asks whether it is there yet.
using Lists = std::array<FreeFrame*, kClasses>;
constinit thread_local Lists free_frames{};  // lint: allow banned: free lists only; addresses decide nothing

// Gives back what a thread's lists have, at its end.
struct ListsEnd {
  ~ListsEnd() {
    for (FreeFrame*& head : free_frames) {
      while (head != nullptr) ::operator delete(std::exchange(head, head->next));
    }
  }
};

[[maybe_unused]] void* make_frame(std::size_t bytes) {
  thread_local const ListsEnd end;  // lint: allow banned: as above
  return ::operator new(bytes);
}

}  // namespace

void* allocate_frame(std::size_t bytes) {
#ifdef NAMDB_ADDRESS_SANITIZER
  return ::operator new(bytes);  // so that the address sanitizer sees a use after free
#else
  const std::size_t size_class = (bytes + kClass_bytes - 1) / kClass_bytes;
  if (size_class >= kClasses) return ::operator new(bytes);
  FreeFrame*& head = free_frames[size_class];
  if (head == nullptr) return make_frame(size_class * kClass_bytes);
  FreeFrame* const frame = std::exchange(head, head->next);
  __builtin_prefetch(head);  // it will be asked what is behind it
  return frame;
#endif
}

void free_frame(void* frame, std::size_t bytes) noexcept {
#ifdef NAMDB_ADDRESS_SANITIZER
  (void)bytes;
  ::operator delete(frame);
#else
  const std::size_t size_class = (bytes + kClass_bytes - 1) / kClass_bytes;
  if (size_class >= kClasses) return ::operator delete(frame);
  auto* node = static_cast<FreeFrame*>(frame);
  FreeFrame*& head = free_frames[size_class];
  node->next = std::exchange(head, node);
#endif
}

}  // namespace namdb::reactor
