// Standard output of programs that report on it, and pipes in general: if the reader is gone, a write fails,
// and the process with its other work goes on.
#pragma once

#include <string_view>

namespace namdb {

// SIGPIPE is ignored from here on, in all threads.
void ignore_broken_pipes();

// False when something that was printed has not arrived: the reader is gone, or the disk is full.
bool standard_output_arrives();

// The result of main(): `exit_code` if standard output arrives. Otherwise 141 without a message if the reader
// is gone, as a shell reports a program that SIGPIPE ended; for any other cause 1, and a line on standard
// error.
int finish_standard_output(std::string_view program, int exit_code);

}  // namespace namdb
