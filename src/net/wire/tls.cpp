#include "net/wire/tls.h"

#include <arpa/inet.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <array>

#include "base/bytes.h"

namespace hekla::net {
namespace {

using Bio = std::unique_ptr<BIO, decltype([](BIO* bio) { BIO_free(bio); })>;
using Certificate = std::unique_ptr<X509, decltype([](X509* x) { X509_free(x); })>;
using Key = std::unique_ptr<EVP_PKEY, decltype([](EVP_PKEY* key) { EVP_PKEY_free(key); })>;

// AES-128 before AES-256, as Go's servers and clients have it: as safe for this, and a quarter
// cheaper.
constexpr const char* kCipherSuites =
    "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256";
constexpr unsigned char kAlpnHttp11[] = {8, 'h', 't', 't', 'p', '/', '1', '.', '1'};

std::string last_reason() {
  std::string reason;
  while (unsigned long code = ERR_get_error()) {
    const char* text = ERR_reason_error_string(code);
    reason = text ? text : "error " + std::to_string(code);
  }
  return reason.empty() ? "unknown reason" : reason;
}

std::unexpected<Error> tls_error(const std::string& what) {
  return fail(Code::bad_request, what + ": " + last_reason());
}

int no_passphrase(char*, int, int, void*) { return -1; }

Bio bio_over(const std::string& text) {
  return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

Result<std::vector<Certificate>> read_certificates(const std::string& pem,
                                                   const std::string& what) {
  std::vector<Certificate> certificates;
  Bio bio = bio_over(pem);
  while (X509* one = PEM_read_bio_X509(bio.get(), nullptr, no_passphrase, nullptr))
    certificates.emplace_back(one);
  if (certificates.empty()) return tls_error("reading " + what);
  ERR_clear_error();  // the end of the text is an entry in the queue
  return certificates;
}

Result<void> use_certificate(SSL_CTX* context, const KeyPair& pair) {
  std::vector<Certificate> chain = TRY(read_certificates(pair.certificate_pem, "the certificate"));
  Bio bio = bio_over(pair.key_pem);
  Key key(PEM_read_bio_PrivateKey(bio.get(), nullptr, no_passphrase, nullptr));
  if (!key) return tls_error("reading the private key");
  if (SSL_CTX_use_certificate(context, chain[0].get()) != 1)
    return tls_error("using the certificate");
  for (std::size_t i = 1; i < chain.size(); ++i)
    if (SSL_CTX_add1_chain_cert(context, chain[i].get()) != 1)
      return tls_error("using the certificate chain");
  if (SSL_CTX_use_PrivateKey(context, key.get()) != 1 || SSL_CTX_check_private_key(context) != 1)
    return tls_error("using the private key with the certificate");
  return {};
}

// `announce`: servers tell clients which CAs they accept; Go's clients choose their certificate by
// it.
Result<void> trust_certificates(SSL_CTX* context, const std::string& ca_pem, bool announce) {
  std::vector<Certificate> authorities = TRY(read_certificates(ca_pem, "the CA certificate"));
  X509_STORE* store = SSL_CTX_get_cert_store(context);
  for (const Certificate& authority : authorities) {
    if (X509_STORE_add_cert(store, authority.get()) != 1)
      return tls_error("using the CA certificate");
    if (announce && SSL_CTX_add_client_CA(context, authority.get()) != 1)
      return tls_error("announcing the CA certificate");
  }
  return {};
}

Result<SslContext> new_context(const SSL_METHOD* method) {
  SslContext context(SSL_CTX_new(method));
  if (!context) return tls_error("making a TLS context");
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  if (SSL_CTX_set_ciphersuites(context.get(), kCipherSuites) != 1)
    return tls_error("choosing the ciphers");
  SSL_CTX_set_mode(context.get(), SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                                      SSL_MODE_NO_AUTO_CHAIN | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_IGNORE_UNEXPECTED_EOF |
                                         SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE);
  SSL_CTX_set_read_ahead(context.get(), 1);  // one recv per burst, not two per record
  return context;
}

int choose_protocol(SSL*, const unsigned char** out, unsigned char* out_length,
                    const unsigned char* offered, unsigned int offered_length, void*) {
  unsigned char* chosen = nullptr;
  int found = SSL_select_next_proto(&chosen, out_length, kAlpnHttp11, sizeof kAlpnHttp11, offered,
                                    offered_length);
  *out = chosen;
  return found == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_NOACK;
}

std::vector<std::string> name_entries(X509_NAME* name, int nid) {
  std::vector<std::string> values;
  for (int at = X509_NAME_get_index_by_NID(name, nid, -1); at >= 0;
       at = X509_NAME_get_index_by_NID(name, nid, at)) {
    unsigned char* text = nullptr;
    int size = ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, at)));
    if (size < 0) continue;
    values.emplace_back(reinterpret_cast<const char*>(text), static_cast<std::size_t>(size));
    OPENSSL_free(text);
  }
  return values;
}

bool is_ip_address(const std::string& host) {
  unsigned char raw[16];
  return inet_pton(AF_INET, host.c_str(), raw) == 1 || inet_pton(AF_INET6, host.c_str(), raw) == 1;
}

}  // namespace

Result<SslContext> make_server_context(const KeyPair& certificate,
                                       const std::string& client_ca_pem) {
  SslContext context = TRY(new_context(TLS_server_method()));
  TRY(use_certificate(context.get(), certificate));
  if (!client_ca_pem.empty()) {
    TRY(trust_certificates(context.get(), client_ca_pem, true));
    SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  }
  // Without an id context OpenSSL refuses to resume sessions that have a client certificate.
  static constexpr unsigned char kIdContext[] = "hekla";
  SSL_CTX_set_session_id_context(context.get(), kIdContext, sizeof kIdContext - 1);
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);  // tickets carry the state
  SSL_CTX_set_num_tickets(context.get(), 1);
  SSL_CTX_set_alpn_select_cb(context.get(), choose_protocol, nullptr);
  return context;
}

Result<SslContext> make_client_context(const TlsTrust& trust) {
  SslContext context = TRY(new_context(TLS_client_method()));
  if (trust.certificate) TRY(use_certificate(context.get(), *trust.certificate));
  if (trust.insecure_skip_verify) {
    SSL_CTX_set_verify(context.get(), SSL_VERIFY_NONE, nullptr);
  } else {
    SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
    if (!trust.ca_pem.empty()) TRY(trust_certificates(context.get(), trust.ca_pem, false));
    // Whatever is given is trusted, be it a CA or the server's own certificate, as Go's clients do.
    X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(context.get()), X509_V_FLAG_PARTIAL_CHAIN);
  }
  SSL_CTX_set_alpn_protos(context.get(), kAlpnHttp11, sizeof kAlpnHttp11);
  return context;
}

Result<void> trust_system(SSL_CTX& context) {
  if (SSL_CTX_set_default_verify_paths(&context) != 1)
    return tls_error("loading the system's certificates");
  return {};
}

Result<Ssl> make_server_session(SSL_CTX& context) {
  Ssl ssl(SSL_new(&context));
  if (!ssl) return tls_error("making a TLS session");
  SSL_set_accept_state(ssl.get());
  return ssl;
}

Result<Ssl> make_client_session(SSL_CTX& context, const std::string& host) {
  Ssl ssl(SSL_new(&context));
  if (!ssl) return tls_error("making a TLS session");
  SSL_set_connect_state(ssl.get());
  X509_VERIFY_PARAM* verify = SSL_get0_param(ssl.get());
  if (is_ip_address(host)) {
    if (X509_VERIFY_PARAM_set1_ip_asc(verify, host.c_str()) != 1)
      return tls_error("verifying " + host);
  } else {
    X509_VERIFY_PARAM_set_hostflags(verify, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    if (X509_VERIFY_PARAM_set1_host(verify, host.c_str(), host.size()) != 1 ||
        SSL_set_tlsext_host_name(ssl.get(), host.c_str()) != 1)
      return tls_error("verifying " + host);
  }
  return ssl;
}

std::optional<PeerCertificate> peer_certificate(SSL& ssl) {
  X509* certificate = SSL_get0_peer_certificate(&ssl);
  if (!certificate || SSL_get_verify_result(&ssl) != X509_V_OK) return std::nullopt;
  X509_NAME* subject = X509_get_subject_name(certificate);
  PeerCertificate peer;
  // Go reads the last CN and every O.
  for (std::string& name : name_entries(subject, NID_commonName))
    peer.common_name = std::move(name);
  peer.organizations = name_entries(subject, NID_organizationName);
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  if (X509_digest(certificate, EVP_sha256(), digest.data(), &size) == 1)
    peer.sha256 = hex_encode({reinterpret_cast<const char*>(digest.data()), size});
  return peer;
}

std::string tls_failure(SSL& ssl) {
  std::string reason = last_reason();
  if (long verified = SSL_get_verify_result(&ssl); verified != X509_V_OK)
    return std::string("certificate verification failed: ") +
           X509_verify_cert_error_string(verified);
  return reason;
}

}  // namespace hekla::net
