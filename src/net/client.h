// An HTTP/1.1 client over TLS, plain TCP or a unix socket, with a keep-alive pool per origin.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/crypto.h"
#include "base/result.h"
#include "net/client_request.h"
#include "net/http.h"
#include "net/own_ranges.h"

namespace hekla::net {

class IoThread;

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

// Destroying the handle cancels; no callback runs after the destructor has returned. The rest is
// for any thread.
class StreamHandle {
 public:
  virtual ~StreamHandle() = default;
  // While held nothing more is read from the server; of what has been read up to 64 KiB may still
  // come.
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
  // On a thread that others use as well and end: see LocalClients. Null: as make().
  static Result<std::unique_ptr<Client>> make_on(std::shared_ptr<IoThread> thread,
                                                 ClientOptions options);
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
