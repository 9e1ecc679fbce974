// Anonymous memory of a process, on 2 MiB pages where the kernel has them to give: fewer translations for
// processors and cards to keep, and fewer pages to pin. Any thread.
#pragma once

#include <cstddef>

namespace namdb::fabric {

// Zeroed; 2 MiB or more begin where such a page does. Never null: without memory the process ends.
std::byte* map_memory(std::size_t length_bytes);
void unmap_memory(std::byte* base, std::size_t length_bytes);

}  // namespace namdb::fabric
