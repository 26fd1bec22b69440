// An HTTP/1.1 client over TLS, plain TCP or a unix socket, with a keep-alive pool per origin.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/crypto.h"
#include "base/result.h"
#include "net/http.h"
#include "net/own_ranges.h"

namespace hekla::net {

// Credentials that change while the client lives.
struct Credential {
  std::string token;
  std::optional<KeyPair> certificate;
};
class CredentialSource {
 public:
  virtual ~CredentialSource() = default;
  // Asked before every request and every connection, on the client's thread; what takes long holds
  // all of them up.
  virtual Credential current() = 0;
  // The server has answered 401.
  virtual void refused() = 0;
};

// Makes the socket of a connection before it connects: IPv4, non-blocking, owned by who gets it.
// `done` may run on any thread.
using OpenSocket = std::function<void(std::function<void(Result<int>)> done)>;

struct ClientOptions {
  std::string ca_pem;                  // empty: the system's store
  std::optional<KeyPair> certificate;  // for client authentication
  std::string bearer_token;
  std::string bearer_token_file;                  // read again every minute; wins over bearer_token
  std::shared_ptr<CredentialSource> credentials;  // wins over certificate and tokens; may be null
  bool insecure_skip_verify = false;
  std::string tls_server_name;  // verified in place of the URL's host
  std::size_t max_connections_per_origin = 64;
  std::chrono::seconds connect_timeout{10};
  OpenSocket open_socket;  // empty: a socket of this process' network namespace
  OwnRanges own_ranges;    // where no socket of this process' network namespace connects to
};

// A body that is not there when its request is sent: StreamHandle::write() brings it.
struct StreamedBody {
  std::optional<std::uint64_t> bytes;  // announced as Content-Length; none: chunked
};

struct ClientRequest {
  std::string method = "GET";
  std::string url;  // https://host:port/path?query, http://..., unix:///run/x.sock:/path?query
  Headers headers;
  std::string body;
  std::optional<StreamedBody> streamed_body;  // in place of `body`; only for Client::stream
  std::chrono::milliseconds timeout{30'000};  // whole exchange; 0 for none (streams)
  std::chrono::milliseconds head_timeout{0};  // until the answer's head has come; 0 for none
  // Without a byte of an answer that is not held; 0 for none. Not after a 101.
  std::chrono::milliseconds stall_timeout{0};
  std::size_t max_body_bytes = 256u << 20;
};

// A response body as it arrives. Called on a net thread, one call at a time: on_head, on_data...,
// on_end. A slow callback slows the sender down. When the server agrees to leave HTTP behind (101),
// the data is whatever it sends from then on.
struct StreamCallbacks {
  std::function<void(int status, const Headers&)> on_head;
  std::function<void(std::string_view)> on_data;
  std::function<void(Result<void>)> on_end;  // exactly once
  std::function<void()> on_drained;          // what was written has left
  // Interim answers (1xx other than 101), before on_head.
  std::function<void(int status, const Headers&)> on_interim = {};
  // Trailer fields of a chunked body, before on_end; only if there are any.
  std::function<void(const Headers&)> on_trailers = {};
  // After a 101: the server sends nothing more and still reads. on_end comes when end() has been
  // said as well. Without this callback the server's end is the end of both.
  std::function<void()> on_server_end = {};
};

// Destroying the handle cancels; no callback runs after the destructor has returned. The rest is
// for any thread.
class StreamHandle {
 public:
  virtual ~StreamHandle() = default;
  // While held nothing is read from the server. Takes effect at once when called in a callback of
  // this stream.
  virtual void hold(bool held) = 0;
  // Queues bytes of a streamed body, from the start of the call on; after a 101 bytes as they are.
  // No effect otherwise, nor once the answer is complete.
  virtual void write(std::string bytes) = 0;
  // Bytes written that have not left: whoever writes waits for on_drained while this is large.
  virtual std::size_t pending_bytes() const = 0;
  // Ends the streamed body: a sized one must be whole by then, or the call fails. After a 101:
  // nothing more comes from here, what the server sends is still read.
  virtual void end() {}
  // The same with trailer fields, if the body is chunked.
  virtual void end_with(Headers) { end(); }
};

// Failures to get an answer are `unavailable` (no connection, no trust, broken off) or `timeout`;
// an answer with an error status is a Response like any other. Idempotent requests are sent once
// more when a kept-alive connection turns out to be dead; one with a streamed body is not, and
// takes a new connection, or one that was used a moment ago. Destroying the client fails what is
// under way, and must not happen in one of its callbacks.
class Client {
 public:
  // With a thread of its own.
  static Result<std::unique_ptr<Client>> make(ClientOptions options);
  virtual ~Client() = default;
  // `done` runs on a net thread.
  virtual void send(ClientRequest request, std::function<void(Result<Response>)> done) = 0;
  // Streams are not counted in max_connections_per_origin: watches live for hours.
  virtual std::unique_ptr<StreamHandle> stream(ClientRequest request,
                                               StreamCallbacks callbacks) = 0;
  // Blocks the caller: for the command line and tests only.
  virtual Result<Response> fetch(ClientRequest request) = 0;
};

}  // namespace hekla::net
