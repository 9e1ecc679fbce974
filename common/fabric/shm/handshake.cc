#include "common/fabric/shm/handshake.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "common/reactor/system_error.h"

namespace namdb::fabric::shm {
namespace {

constexpr std::size_t kMaxDescriptors = 3;

struct ControlBuffer {
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMaxDescriptors * sizeof(int))> bytes{};
};

}  // namespace

reactor::Task<Status> send_all(reactor::Reactor* reactor, int socket, std::string bytes,
                               std::vector<int> descriptors) {
  NAMDB_CHECK(!bytes.empty() && descriptors.size() <= kMaxDescriptors);
  ControlBuffer control;
  for (std::size_t sent = 0; sent < bytes.size();) {
    iovec piece{bytes.data() + sent, bytes.size() - sent};
    msghdr message{};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    if (sent == 0 && !descriptors.empty()) {
      message.msg_control = control.bytes.data();
      message.msg_controllen = CMSG_SPACE(descriptors.size() * sizeof(int));
      cmsghdr* header = CMSG_FIRSTHDR(&message);
      header->cmsg_level = SOL_SOCKET;
      header->cmsg_type = SCM_RIGHTS;
      header->cmsg_len = CMSG_LEN(descriptors.size() * sizeof(int));
      std::memcpy(CMSG_DATA(header), descriptors.data(), descriptors.size() * sizeof(int));
    }
    const int result = co_await reactor->send_message(socket, &message);
    if (result == -EINTR || result == -EAGAIN) continue;
    if (result <= 0) {
      co_return reactor::system_error(ErrorCode::connection_failure,
                                      "the other side of the unix socket is gone",
                                      result == 0 ? EPIPE : -result);
    }
    sent += static_cast<std::size_t>(result);
  }
  co_return Status();
}

reactor::Task<Status> receive_all(reactor::Reactor* reactor, int socket, char* bytes,
                                  std::size_t length_bytes, std::vector<Descriptor>* descriptors) {
  ControlBuffer control;
  for (std::size_t received = 0; received < length_bytes;) {
    iovec piece{bytes + received, length_bytes - received};
    msghdr message{};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    message.msg_control = control.bytes.data();
    message.msg_controllen = control.bytes.size();
    const int result = co_await reactor->receive_message(socket, &message);
    if (result == -EINTR || result == -EAGAIN) continue;
    if (result <= 0) {
      co_return Status(ErrorCode::connection_failure, "the other side of the unix socket closed it");
    }
    for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
         header = CMSG_NXTHDR(&message, header)) {
      if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
      const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
      for (std::size_t i = 0; i < count; ++i) {
        int descriptor;
        std::memcpy(&descriptor, CMSG_DATA(header) + i * sizeof(int), sizeof(int));
        descriptors->emplace_back(descriptor);
      }
    }
    received += static_cast<std::size_t>(result);
  }
  co_return Status();
}

bool is_eventfd(int descriptor) {
  const std::string path = "/proc/self/fd/" + std::to_string(descriptor);
  std::array<char, 64> target{};
  const ssize_t length = ::readlink(path.c_str(), target.data(), target.size() - 1);
  return length > 0 && std::strcmp(target.data(), "anon_inode:[eventfd]") == 0;
}

}  // namespace namdb::fabric::shm
