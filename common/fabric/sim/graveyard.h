// Where the objects of killed nodes stay.
#pragma once

namespace namdb::fabric::sim {

// Keeps the object reachable until the program ends, for the leak checker.
void bury_pointer(const void* object);

}  // namespace namdb::fabric::sim
