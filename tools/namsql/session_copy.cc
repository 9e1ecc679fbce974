// COPY: rows between the server and files, the output, or the lines behind the statement.
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <utility>

#include "tools/namsql/session.h"
#include "tools/namsql/text.h"

namespace namdb::namsql {
namespace {

constexpr std::size_t kChunkBytes = 64 << 10;
constexpr const char kCanceled[] = "canceled by Ctrl-C";
constexpr auto kProgressInterval = std::chrono::milliseconds(500);

std::string with_commas(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, ",");
  return digits;
}

}  // namespace

void Session::show_progress() {
  // Only for a person, and only of a file: else the rows themselves are seen.
  const Clock::time_point now = Clock::now();
  if (copy_file_ == nullptr || now - progress_shown_ < kProgressInterval || ::isatty(STDERR_FILENO) != 1)
    return;
  progress_shown_ = now;
  complain(concat("\r", with_commas(copied_bytes_), " bytes\033[K"));
}

Session::End Session::copy_out(const std::string& place) {
  bool written = true;
  while (const auto data = connection_->take_copy_data()) {
    copied_bytes_ += data->size();
    if (copy_file_ == nullptr) {
      output_.write(*data);
    } else if (written && std::fwrite(data->data(), 1, data->size(), copy_file_) != data->size()) {
      // The server sends the rest all the same.
      written = false;
      fail(concat("the file could not be written: ", std::strerror(errno)), place);
    }
    show_progress();
  }
  return written ? End::done : End::failed;
}

Session::End Session::copy_in() {
  std::optional<std::string> mistake;
  const bool sent =
      copy_file_ != nullptr || source_->rows_from_standard_input() ? send_rows(mistake) : send_lines(mistake);
  if (!sent && connection_->was_interrupted()) mistake = kCanceled;
  connection_->end_copy(mistake);
  return End::done;  // the server's answer says how it went
}

bool Session::send_rows(std::optional<std::string>& mistake) {
  std::FILE* const file = copy_file_ != nullptr ? copy_file_ : stdin;
  const auto buffer = std::make_unique<char[]>(kChunkBytes);
  for (;;) {
    const std::size_t count = std::fread(buffer.get(), 1, kChunkBytes, file);
    if (std::ferror(file) != 0) {
      mistake = concat("the file could not be read: ", std::strerror(errno));
      return false;
    }
    if (count == 0) return true;
    if (!connection_->put_copy_data({buffer.get(), count})) return false;
    copied_bytes_ += count;
    show_progress();
  }
}

bool Session::send_lines(std::optional<std::string>& mistake) {
  if (source_->is_interactive())
    complain("Enter rows, each on a line, and end with a line of \\. or Ctrl-D.\n");
  // A person's rows go at once: the server may refuse one before the next is typed.
  const std::size_t limit = source_->is_interactive() ? 0 : kChunkBytes;
  std::string line;
  std::string chunk;
  for (;;) {
    const LineSource::Got got = source_->next(">> ", LineSource::Reading::rows, line);
    if (got == LineSource::Got::interrupted) {
      mistake = kCanceled;
      return false;
    }
    if (got == LineSource::Got::line) splitter_->skip_lines(1);
    const bool is_end = got == LineSource::Got::end || line == "\\.";
    if (!is_end) chunk += line + "\n";
    if (!chunk.empty() && (is_end || chunk.size() >= limit)) {
      if (!connection_->put_copy_data(chunk)) return false;
      chunk.clear();
    }
    if (is_end) return true;
  }
}

Session::End Session::copy(std::string_view rest, const std::string& place) {
  std::string mistake;
  const auto request = parse_copy(rest, mistake);
  if (!request) {
    fail(mistake, place);
    return End::failed;
  }
  if (request->file) {
    const bool reads = request->direction == CopyRequest::Direction::from_file;
    copy_file_ = std::fopen(request->file->c_str(), reads ? "re" : "we");
    if (copy_file_ == nullptr) {
      fail(concat(*request->file, ": ", std::strerror(errno)), place);
      return End::failed;
    }
  }
  copied_bytes_ = 0;
  progress_shown_ = Clock::now();
  const Clock::time_point begin = progress_shown_;
  const std::string last = std::exchange(last_statement_, {});
  End end = run_statement(request->statement, place);
  last_statement_ = last;
  if (copy_file_ != nullptr) {
    if (progress_shown_ != begin) complain("\r\033[K");
    const bool closed = std::fclose(std::exchange(copy_file_, nullptr)) == 0;
    if (!closed && end == End::done) {
      fail(concat(*request->file, ": could not be written: ", std::strerror(errno)), place);
      end = End::failed;
    }
  }
  return end;
}

}  // namespace namdb::namsql
