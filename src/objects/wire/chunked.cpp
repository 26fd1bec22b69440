#include "objects/wire/chunked.h"

#include <algorithm>
#include <charconv>

#include "base/crypto.h"
#include "net/text.h"

namespace hekla::objects {
namespace {

constexpr std::size_t kLongestLine = 4096;
constexpr std::size_t kMostTrailers = 16;
constexpr std::uint64_t kLargestChunk = std::uint64_t{5} << 30;

}  // namespace

ChunkedPayload::ChunkedPayload(std::optional<SigningKey> key, bool trailer)
    : key_(std::move(key)), with_trailer_(trailer) {
  if (key_) previous_ = key_->seed;
}

Outcome<void> ChunkedPayload::add(std::string_view bytes,
                                  const std::function<void(std::string_view)>& payload) {
  while (!bytes.empty()) {
    if (at_ == At::done) return refuse("IncompleteBody", "Bytes follow the last chunk.");
    if (at_ == At::data) {
      const std::string_view piece = bytes.substr(0, std::min<std::uint64_t>(left_, bytes.size()));
      if (key_) digest_.add(piece);
      payload(piece);
      left_ -= piece.size();
      bytes.remove_prefix(piece.size());
      if (left_ == 0) at_ = At::data_end;
      continue;
    }
    const std::size_t end = bytes.find('\n');
    line_ += bytes.substr(0, end);
    if (line_.size() > kLongestLine)
      return refuse("IncompleteBody", "A chunk's header is too long.");
    if (end == std::string_view::npos) return {};
    bytes.remove_prefix(end + 1);
    if (line_.ends_with('\r')) line_.pop_back();
    const std::string line = std::exchange(line_, {});
    TRY(take_line(line));
  }
  return {};
}

Outcome<void> ChunkedPayload::take_line(std::string_view line) {
  switch (at_) {
    case At::size:
      return take_size(line);
    case At::data_end:
      if (!line.empty()) return refuse("IncompleteBody", "A chunk is longer than its size.");
      return end_chunk();
    case At::trailer:
      return take_trailer(line);
    case At::data:
    case At::done:
      break;
  }
  return refuse("IncompleteBody", "Bytes follow the last chunk.");
}

// "400;chunk-signature=..."
Outcome<void> ChunkedPayload::take_size(std::string_view line) {
  const std::size_t semicolon = line.find(';');
  const std::string_view digits = line.substr(0, semicolon);
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), left_, 16);
  if (digits.empty() || error != std::errc() || end != digits.data() + digits.size() ||
      left_ > kLargestChunk)
    return refuse("InvalidRequest", "A chunk's size is not valid.");
  signature_.clear();
  if (semicolon != std::string_view::npos) {
    constexpr std::string_view name = "chunk-signature=";
    const std::string_view rest = line.substr(semicolon + 1);
    if (rest.starts_with(name)) signature_ = rest.substr(name.size());
  }
  if (key_ && signature_.empty())
    return refuse("SignatureDoesNotMatch", "A chunk has no signature.");
  digest_ = Digest();
  last_ = left_ == 0;
  if (!last_) {
    at_ = At::data;
    return {};
  }
  TRY(end_chunk());
  at_ = At::trailer;
  return {};
}

Outcome<void> ChunkedPayload::end_chunk() {
  at_ = At::size;
  if (!key_) return {};
  if (!equal_secrets(chunk_signature(*key_, previous_, digest_.finish_hex()), signature_))
    return refuse("SignatureDoesNotMatch", "A chunk's signature does not match.");
  previous_ = signature_;
  return {};
}

// Fields follow the last piece until an empty line; the signature of them comes last.
Outcome<void> ChunkedPayload::take_trailer(std::string_view line) {
  if (line.empty()) {
    if (with_trailer_ && key_ && !trailer_signed_ && !trailers_.empty())
      return refuse("SignatureDoesNotMatch", "The trailer has no signature.");
    at_ = At::done;
    return {};
  }
  const std::size_t colon = line.find(':');
  if (!with_trailer_ || colon == std::string_view::npos || trailers_.size() >= kMostTrailers)
    return refuse("MalformedXML", "The request's trailer is not valid.");
  std::string name(net::trim(line.substr(0, colon)));
  std::ranges::transform(name, name.begin(), net::to_lower);
  const std::string value(net::trim(line.substr(colon + 1)));
  if (name == "x-amz-trailer-signature") {
    if (!key_) return {};
    trailer_signed_ = true;
    if (!equal_secrets(trailer_signature(*key_, previous_, sha256_hex(trailer_text_)), value))
      return refuse("SignatureDoesNotMatch", "The trailer's signature does not match.");
    return {};
  }
  trailer_text_ += name + ":" + value + "\n";
  trailers_[name] = value;
  return {};
}

Outcome<void> ChunkedPayload::end() {
  // Some clients leave the last empty line out.
  if (at_ == At::trailer && line_.empty()) return take_trailer("");
  if (at_ != At::done) return refuse("IncompleteBody");
  return {};
}

}  // namespace hekla::objects
