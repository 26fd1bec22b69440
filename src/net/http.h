// HTTP as values. A server hands each request, fully read, to a Handler; answers go through a
// ResponseWriter from any thread, at once or as a stream. Nothing above net sees a socket.
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
  std::string method;  // upper case
  std::string path;    // decoded, without the query
  Query query;
  Headers headers;
  std::string body;
  std::optional<PeerCertificate> peer;  // absent without TLS or without a certificate
  std::string remote_address;           // the peer's IP address, without the port
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
  // Queues a chunk; it is flushed without delay.
  virtual void write(SharedBytes chunk) = 0;
  void write(std::string chunk) { write(std::make_shared<const std::string>(std::move(chunk))); }
  // Ends the stream cleanly.
  virtual void end() = 0;
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
  // After upgrade(): while paused nothing is read from the client.
  virtual void pause_input(bool paused) = 0;
};

using Handler = std::function<void(Request, std::shared_ptr<ResponseWriter>)>;

}  // namespace hekla::net
