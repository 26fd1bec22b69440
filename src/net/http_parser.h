// HTTP/1.1 messages from bytes, strictly: whatever two readers could understand differently is an
// error, because differences are how requests are smuggled past a proxy. No sockets, no limits but
// those given; pieces may be cut anywhere.
#pragma once

#include <cstdint>
#include <expected>
#include <limits>
#include <string>
#include <string_view>

#include "net/http.h"

namespace hekla::net {

// Why a message cannot be read, as the HTTP status to answer with.
struct HttpError {
  int status = 400;
  std::string message;
};
template <class T>
using Parsed = std::expected<T, HttpError>;

struct RequestHead {
  std::string method;
  std::string path;   // decoded
  std::string query;  // as sent
  int minor_version = 1;
  Headers headers;
};

struct ResponseHead {
  int status = 0;
  int minor_version = 1;
  Headers headers;
};

// `text` is a whole head: lines ended by CRLF, with the empty line at the end.
Parsed<RequestHead> parse_request_head(std::string_view text);
Parsed<ResponseHead> parse_response_head(std::string_view text);

// True when the connection may serve another message after this one.
bool wants_keep_alive(const Headers& headers, int minor_version);

// Collects bytes up to and including the empty line that ends a head.
class HeadReader {
 public:
  explicit HeadReader(std::size_t limit_bytes) : limit_bytes_(limit_bytes) {}
  // Takes from the front of `data`. True when the head is complete; the rest of `data` is the
  // body's.
  Parsed<bool> feed(std::string_view& data);
  std::string_view text() const { return std::string_view(buffer_).substr(begin_); }
  bool started() const { return !buffer_.empty(); }
  std::size_t held_bytes() const { return buffer_.capacity(); }
  void reset();

 private:
  std::size_t limit_bytes_;
  std::string buffer_;
  std::size_t begin_ = 0;  // past an empty line that came first
  std::size_t scanned_ = 0;
  std::size_t line_start_ = 0;
  bool in_message_ = false;
};

// Takes a body out of its framing.
class BodyReader {
 public:
  // RFC 9112 section 6.3.
  static Parsed<BodyReader> for_request(const RequestHead& head, std::size_t limit_bytes);
  static Parsed<BodyReader> for_response(const ResponseHead& head, bool answers_head,
                                         std::size_t limit_bytes);
  // Whatever comes until the connection ends.
  static BodyReader until_close();
  BodyReader() = default;

  // Takes from the front of `data` and appends the body's bytes to `out`.
  Parsed<void> feed(std::string_view& data, std::string& out);
  bool complete() const { return stage_ == Stage::done; }
  // The peer has closed: legal only for a body that lasts until then.
  Parsed<void> at_eof();

 private:
  enum class Stage : std::uint8_t {
    done,
    length,
    until_close,
    chunk_size,
    chunk_data,
    chunk_end,
    trailer
  };
  Parsed<void> feed_line(std::string_view& data);
  Parsed<void> on_line(std::string_view line);
  Parsed<void> on_chunk_size(std::string_view line);
  Parsed<void> account(std::uint64_t bytes);
  void take(std::string_view& data, std::string& out);

  Stage stage_ = Stage::done;
  std::uint64_t left_ = 0;
  std::uint64_t seen_ = 0;
  std::size_t limit_bytes_ = std::numeric_limits<std::size_t>::max();
  std::size_t trailer_bytes_ = 0;
  std::string line_;
};

struct ParserLimits {
  std::size_t max_header_bytes = 64 * 1024;
  std::size_t max_body_bytes = 3 * 1024 * 1024;
};

// One request after another out of a connection's bytes.
class RequestParser {
 public:
  explicit RequestParser(ParserLimits limits)
      : limits_(limits), head_reader_(limits.max_header_bytes) {}

  // Takes from the front of `data` up to the end of the request. True when a request is complete:
  // then take() it. After an error the connection's bytes mean nothing any more.
  Parsed<bool> feed(std::string_view& data);
  // True once, when the client waits for permission to send the body.
  bool take_continue();
  // Bytes of the next request have arrived.
  bool started() const { return in_body_ || head_reader_.started(); }
  // Memory taken by a request that is not complete. It grows as bytes come: a promised length
  // reserves nothing.
  std::size_t held_bytes() const { return head_reader_.held_bytes() + request_.body.capacity(); }
  bool keep_alive() const { return keep_alive_; }
  int minor_version() const { return minor_version_; }
  // The complete request; the parser is ready for the next one. peer and remote_address are the
  // caller's.
  Request take();

 private:
  Parsed<void> on_head();

  ParserLimits limits_;
  HeadReader head_reader_;
  BodyReader body_reader_;
  Request request_;
  bool in_body_ = false;
  bool continue_wanted_ = false;
  bool keep_alive_ = true;
  int minor_version_ = 1;
};

}  // namespace hekla::net
