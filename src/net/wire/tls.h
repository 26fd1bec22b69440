// TLS settings for servers and clients, and who the peer is.
#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <optional>
#include <string>

#include "base/crypto.h"
#include "base/result.h"
#include "net/http.h"

namespace hekla::net {

struct FreeSslContext {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};
struct FreeSsl {
  void operator()(SSL* ssl) const { SSL_free(ssl); }
};
using SslContext = std::unique_ptr<SSL_CTX, FreeSslContext>;  // thread-safe once made
using Ssl = std::unique_ptr<SSL, FreeSsl>;  // one connection, one thread at a time

// Asks for a client certificate when `client_ca_pem` is given; one that does not verify fails the
// handshake, none at all is fine.
Result<SslContext> make_server_context(const KeyPair& certificate,
                                       const std::string& client_ca_pem);

struct TlsTrust {
  std::string ca_pem;  // empty: nobody, until trust_system() is called
  std::optional<KeyPair> certificate;
  bool insecure_skip_verify = false;
};
Result<SslContext> make_client_context(const TlsTrust& trust);
// Adds the system's certificates. Takes some 100 ms: reads every one of them.
Result<void> trust_system(SSL_CTX& context);

// A session for one connection, or the library's reason why not. Clients verify `host`, a DNS name
// or an IP address, against the server's subject alternative names.
Result<Ssl> make_server_session(SSL_CTX& context);
Result<Ssl> make_client_session(SSL_CTX& context, const std::string& host);

// After the handshake: whom the verified client certificate names.
std::optional<PeerCertificate> peer_certificate(SSL& ssl);
// Why the last operation on this thread failed, for people.
std::string tls_failure(SSL& ssl);

}  // namespace hekla::net
