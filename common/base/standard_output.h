// Standard output of programs that report on it, and pipes in general: a reader that is gone is an error of a
// write, never the end of a process that has something else to do.
#pragma once

#include <string_view>

namespace namdb {

// SIGPIPE is ignored from here on, in all threads.
void ignore_broken_pipes();

// False when something that was printed has not arrived: the reader is gone, or the disk is full.
bool standard_output_arrives();

// The result of main(): `exit_code`, unless standard output does not arrive: then 141 without a word when its
// reader is gone, as a shell says of a program that SIGPIPE ended, and otherwise 1 and a line on standard
// error.
int finish_standard_output(std::string_view program, int exit_code);

}  // namespace namdb
