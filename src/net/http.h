// HTTP as values. A server hands each request to a Handler, fully read or, where its route says so,
// with the body still to come; answers go through a ResponseWriter from any thread, at once or as a
// stream. Nothing above net sees a socket.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace hekla::net {

// Header names compare without case; order is kept.
class Headers {
 public:
  void add(std::string name, std::string value) {
    all_.emplace_back(std::move(name), std::move(value));
  }
  void reserve(std::size_t count) { all_.reserve(count); }
  void set(std::string_view name, std::string value);
  void remove(std::string_view name);
  // The first value, or empty.
  std::string_view get(std::string_view name) const;
  std::vector<std::string_view> get_all(std::string_view name) const;
  bool has(std::string_view name) const;
  const std::vector<std::pair<std::string, std::string>>& all() const { return all_; }

 private:
  std::vector<std::pair<std::string, std::string>> all_;
};

// A URL's query, decoded; order kept, names may repeat.
class Query {
 public:
  static Query parse(std::string_view text);
  std::string_view get(std::string_view name) const;
  std::vector<std::string_view> get_all(std::string_view name) const;
  bool has(std::string_view name) const;
  void add(std::string name, std::string value) {
    all_.emplace_back(std::move(name), std::move(value));
  }
  std::string encode() const;
  const std::vector<std::pair<std::string, std::string>>& all() const { return all_; }

 private:
  std::vector<std::pair<std::string, std::string>> all_;
};

std::string url_decode(std::string_view text);
std::string url_encode(std::string_view text);  // everything but unreserved characters

// The subject of a client certificate that the configured CA has signed.
struct PeerCertificate {
  std::string common_name;
  std::vector<std::string> organizations;
  std::string sha256;  // of the certificate, in hex
};

struct Request {
  std::string method;  // as sent; methods compare with case
  std::string target;  // path and query as sent, not decoded: what a proxy passes on; no authority
  std::string path;    // decoded, without the query
  Query query;
  Headers headers;
  std::string body;  // whole; empty when it is streamed
  // The body is still on its way (RouteRules::stream_body): ResponseWriter::read_body() gets it.
  bool body_streamed = false;
  std::optional<std::uint64_t> body_bytes;  // of a streamed body, if the client has said so
  std::optional<PeerCertificate> peer;      // absent without TLS or without a certificate
  std::string remote_address;               // the peer's IP address, without the port
};

// The end of a large body, made piece by piece while what comes before it is being sent.
struct BodyTail {
  std::size_t bytes = 0;                       // exactly what the pieces add up to
  std::function<void(std::string& out)> next;  // appends a piece; on a net thread, must not block
};

struct Response {
  int status = 200;
  Headers headers;
  std::string body;
  BodyTail tail = {};
};
// Makes the whole body at once, for those who have to see it.
void complete_body(Response& response);

// Bytes of a peer as they arrive: a streamed body, or all that follows an upgrade. Called one at a
// time on the connection's net thread; must not block. A reader that falls behind pauses the input
// instead, and the peer is slowed down by TCP.
struct InputCallbacks {
  // A piece of at most 256 KiB, gone when the call returns.
  std::function<void(std::string_view)> on_data = {};
  // Trailer fields of a chunked body, before on_end; only if there are any.
  std::function<void(const Headers&)> on_trailers = {};
  // Exactly once, and nothing comes after it. An error when the peer has left or broken the framing
  // before the end of its body, took too long, sent more than it may, or the exchange was over
  // first.
  std::function<void(Result<void>)> on_end = {};
};

// Bytes that several streams may send: one event goes to many watchers.
using SharedBytes = std::shared_ptr<const std::string>;

// The answering side of one request. Thread-safe; may outlive the connection (calls are then
// no-ops). Either respond() once, or begin() then any number of write() and one end(). Dropping the
// last reference before that answers 500, or breaks off the stream.
class ResponseWriter {
 public:
  virtual ~ResponseWriter() = default;
  virtual void respond(Response response) = 0;

  // Sends status and headers at once (chunked): clients block on them.
  virtual void begin(int status, Headers headers) = 0;
  // The same with a body of exactly `body_bytes`, announced as Content-Length. Writing more, or
  // ending before they are written, breaks the connection off: the client must not take a part for
  // the whole. In answer to HEAD only the length is sent.
  virtual void begin_sized(int status, Headers headers, std::uint64_t body_bytes);
  // An interim answer (103 and the like) before the one that counts; not to clients of HTTP/1.0.
  virtual void inform(int status, Headers headers);
  // Queues a chunk; it is flushed without delay.
  virtual void write(SharedBytes chunk) = 0;
  void write(std::string chunk) { write(std::make_shared<const std::string>(std::move(chunk))); }
  // Ends the stream cleanly.
  virtual void end() = 0;
  // The same with trailer fields, where the form of the answer has room for them (chunked).
  virtual void end_with(Headers trailers);
  // Drops the connection without ending the stream, so that the client sees an error.
  virtual void abort() = 0;

  // Bytes queued and not yet taken by the socket: a producer waits while this is large.
  virtual std::size_t pending_bytes() const = 0;
  // `drained` runs (on a net thread) when a queue that held 64 KiB or more has become empty,
  // `closed` once when the peer has gone or the answer is complete; set too late, it runs at once
  // on the caller's thread. Both must only post and return. Set before begin().
  virtual void on_drained(std::function<void()> drained) = 0;
  virtual void on_closed(std::function<void()> closed) = 0;
  virtual bool is_closed() const = 0;

  // Leaves HTTP behind, in place of respond() and begin(): answers 101 with `headers`. From then on
  // write() sends bytes as they are, end() closes once they have left, and `on_data` gets what the
  // client sends, in order, on a net thread; it must not block.
  virtual void upgrade(Headers headers, std::function<void(std::string_view)> on_data) = 0;
  // The same with half-closing, as TCP has it: the client's end of sending is on_end, after which
  // write() goes on; end() tells the client that nothing more comes, and input goes on. The
  // exchange is complete when both have ended.
  virtual void tunnel(Headers headers, InputCallbacks input);

  // Asks for a streamed body, once; a client that waits for "100 Continue" gets it now. Until then
  // nothing of the body is read beyond what came with the head. Without a streamed body the end
  // comes at once, on the caller's thread. An answer that is complete before the body ends it: the
  // rest is read and dropped when it is small, otherwise the connection closes after the answer.
  virtual void read_body(InputCallbacks input);
  // While paused nothing is read from the client: of a streamed body, or after an upgrade. Takes
  // effect at once when called in a callback of that input; otherwise a piece may be on its way.
  // Input also waits by itself while more than 2 MiB of output wait for the client.
  virtual void pause_input(bool paused) = 0;
};

using Handler = std::function<void(Request, std::shared_ptr<ResponseWriter>)>;

}  // namespace hekla::net
