// A workaround for the parser's scanner.
#pragma once

#include <string>

namespace namdb::sql {

// The text with blanks in the place of comments that reach to the end of their lines, between the parts of a
// string. The scanner does not join strings on several lines ('a' and 'b' in the next one are 'ab') when such
// a comment is between them. Other comments may stay.
std::string blank_line_comments(std::string sql);

}  // namespace namdb::sql
