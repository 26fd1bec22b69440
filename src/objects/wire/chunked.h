// The aws-chunked content encoding: pieces with sizes, and with signatures or trailers where the
// client has said so. Pure and fuzzed: bytes in as they come, payload out.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/digest.h"
#include "objects/wire/s3_error.h"
#include "objects/wire/signature.h"

namespace hekla::objects {

class ChunkedPayload {
 public:
  // `key` verifies the signature of each piece; absent, pieces are unsigned. With `trailer` header
  // fields (checksums) follow the last piece.
  ChunkedPayload(std::optional<SigningKey> key, bool trailer);

  // Takes more bytes; `payload` is called with what they hold.
  Outcome<void> add(std::string_view bytes, const std::function<void(std::string_view)>& payload);
  // The stream has ended: was it whole?
  Outcome<void> end();
  // By name in lower case; good after end().
  const std::map<std::string, std::string>& trailers() const { return trailers_; }

 private:
  enum class At : std::uint8_t { size, data, data_end, trailer, done };
  Outcome<void> take_line(std::string_view line);
  Outcome<void> take_size(std::string_view line);
  Outcome<void> take_trailer(std::string_view line);
  Outcome<void> end_chunk();

  std::optional<SigningKey> key_;
  bool with_trailer_;
  At at_ = At::size;
  std::string line_;  // one that has not come to its end
  std::uint64_t left_ = 0;
  bool last_ = false;
  std::string previous_;   // signature before this piece
  std::string signature_;  // of this piece, as the client says
  Digest digest_;
  std::string trailer_text_;
  std::map<std::string, std::string> trailers_;
  bool trailer_signed_ = false;
};

}  // namespace hekla::objects
