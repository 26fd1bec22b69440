// HTTP/1.1 messages from bytes, strictly: whatever two readers could understand differently is an
// error, because differences are how requests are smuggled past a proxy. No sockets, no limits but
// those given; pieces may be cut anywhere.
#pragma once

#include <cstdint>
#include <expected>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

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
  std::string target;      // path and query as sent, without scheme, authority and fragment
  std::string path;        // decoded
  std::size_t query_from;  // where in `target` the query begins; its size without one
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
  static Parsed<BodyReader> for_request(const Headers& headers, int minor_version,
                                        std::size_t limit_bytes);
  static Parsed<BodyReader> for_response(const ResponseHead& head, bool answers_head,
                                         std::size_t limit_bytes);
  // Whatever comes until the connection ends.
  static BodyReader until_close();
  BodyReader() = default;

  // The body's next bytes, a part of `data`, which is shortened by them and their framing. Empty:
  // `data` is used up or the body complete.
  Parsed<std::string_view> next(std::string_view& data);
  // All of the body in `data`: in place when it is one piece, otherwise put together in `scratch`.
  Parsed<std::string_view> gather(std::string_view& data, std::string& scratch);
  // Takes from the front of `data` and appends the body's bytes to `out`.
  Parsed<void> feed(std::string_view& data, std::string& out);
  bool complete() const { return stage_ == Stage::done; }
  // How many are still to come; nullopt when only the end will tell.
  std::optional<std::uint64_t> left() const;
  // The fields after a chunked body; few and small, the limit is 16 KiB.
  Headers take_trailers() { return std::exchange(trailers_, Headers{}); }
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
  Parsed<void> on_trailer(std::string_view line);
  Parsed<void> account(std::uint64_t bytes);
  std::string_view take(std::string_view& data);

  Stage stage_ = Stage::done;
  std::uint64_t left_ = 0;
  std::uint64_t seen_ = 0;
  std::size_t limit_bytes_ = std::numeric_limits<std::size_t>::max();
  std::size_t trailer_bytes_ = 0;
  std::string line_;
  Headers trailers_;
};

// One request after another out of a connection's bytes. Each has two steps: when its head has come
// the caller says how the body is taken, whole or streamed.
class RequestParser {
 public:
  explicit RequestParser(std::size_t max_header_bytes) : head_reader_(max_header_bytes) {}

  enum class Step : std::uint8_t { more, head, request };
  // Takes from the front of `data` up to the end of the head, then of the request. head: look at
  // head() and begin_body(); request: take() it. After an error the connection's bytes mean nothing
  // any more.
  Parsed<Step> feed(std::string_view& data);
  // Everything but the body; peer and remote_address are the caller's.
  Request& head() { return request_; }
  // After the head. A streamed body does not become part of the request, which can be taken at once
  // if streams_body(): an empty body is not streamed.
  Parsed<void> begin_body(std::size_t max_body_bytes, bool streamed);
  bool streams_body() const { return stage_ == Stage::streamed_body; }

  // True once, when the client waits for permission to send the body.
  bool take_continue() { return std::exchange(continue_wanted_, false); }
  // Bytes of the next request have arrived.
  bool started() const { return stage_ != Stage::head || head_reader_.started(); }
  // Memory taken by a request that is not complete. It grows as bytes come: a promised length
  // reserves nothing.
  std::size_t held_bytes() const { return head_reader_.held_bytes() + request_.body.capacity(); }
  bool keep_alive() const { return keep_alive_; }
  int minor_version() const { return minor_version_; }
  // The complete request, or what has come of one whose body is streamed. Without such a body the
  // parser is ready for the next one.
  Request take();

  // Of a streamed body what `data` has, as BodyReader::gather(); when it is complete end_body()
  // makes the parser ready for the next request.
  Parsed<std::string_view> gather_body(std::string_view& data, std::string& scratch) {
    return body_reader_.gather(data, scratch);
  }
  bool body_complete() const { return body_reader_.complete(); }
  std::optional<std::uint64_t> body_left() const { return body_reader_.left(); }
  Headers end_body();

 private:
  enum class Stage : std::uint8_t { head, decision, body, streamed_body };
  Parsed<void> on_head();

  HeadReader head_reader_;
  BodyReader body_reader_;
  Request request_;
  Stage stage_ = Stage::head;
  bool continue_wanted_ = false;
  bool keep_alive_ = true;
  int minor_version_ = 1;
};

}  // namespace hekla::net
