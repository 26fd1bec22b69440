// OpenSSL 3 behind values: every handle is owned by a unique_ptr, every failure carries the
// library's own reason. Certificates are made the way Go clients want them: names in the SAN, ECDSA
// P-256.
#include "base/crypto.h"

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <array>
#include <memory>
#include <optional>

#include "base/bytes.h"
#include "base/certificate.h"
#include "base/check.h"
#include "base/signing_request.h"

namespace hekla {
namespace {

template <auto free_function>
struct Free {
  template <class T>
  void operator()(T* object) const {
    free_function(object);
  }
};
using Bio = std::unique_ptr<BIO, Free<BIO_free>>;
using Pkey = std::unique_ptr<EVP_PKEY, Free<EVP_PKEY_free>>;
using DigestContext = std::unique_ptr<EVP_MD_CTX, Free<EVP_MD_CTX_free>>;
using Certificate = std::unique_ptr<X509, Free<X509_free>>;
using SigningRequest = std::unique_ptr<X509_REQ, Free<X509_REQ_free>>;
using Extension = std::unique_ptr<X509_EXTENSION, Free<X509_EXTENSION_free>>;
using Signature = std::unique_ptr<ECDSA_SIG, Free<ECDSA_SIG_free>>;
using BigNumber = std::unique_ptr<BIGNUM, Free<BN_free>>;
using GeneralName = std::unique_ptr<GENERAL_NAME, Free<GENERAL_NAME_free>>;
using GeneralNames = std::unique_ptr<GENERAL_NAMES, Free<GENERAL_NAMES_free>>;

constexpr std::size_t kScalarBytes = 32;      // r and s of a P-256 signature
constexpr std::chrono::minutes kBackdate{5};  // for peers whose clocks are behind
constexpr std::chrono::hours kCaLifetime{24 * 365 * 10};

std::unexpected<Error> openssl_error(std::string what) {
  std::string why;
  while (unsigned long code = ERR_get_error()) {
    const char* reason = ERR_reason_error_string(code);
    why = reason ? reason : "error " + std::to_string(code);
  }
  return fail(Code::internal, why.empty() ? std::move(what) : std::move(what) + ": " + why);
}

// Without it OpenSSL would ask for a passphrase on the terminal.
int no_passphrase(char*, int, int, void*) { return -1; }

Bio memory_bio(std::string_view text) {
  return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

std::string bio_text(BIO* bio) {
  char* data = nullptr;
  long size = BIO_get_mem_data(bio, &data);
  return std::string(data, static_cast<std::size_t>(size));
}

Result<Pkey> generate_key() {
  Pkey key(EVP_EC_gen("P-256"));
  if (!key) return openssl_error("generating an ECDSA P-256 key");
  return key;
}

Result<Pkey> read_private_key(std::string_view pem) {
  Bio bio = memory_bio(pem);
  Pkey key(PEM_read_bio_PrivateKey(bio.get(), nullptr, no_passphrase, nullptr));
  if (!key) return openssl_error("reading a private key");
  return key;
}

Result<Certificate> read_certificate(std::string_view pem) {
  Bio bio = memory_bio(pem);
  Certificate certificate(PEM_read_bio_X509(bio.get(), nullptr, no_passphrase, nullptr));
  if (!certificate) return openssl_error("reading a certificate");
  return certificate;
}

EVP_PKEY* pkey(const std::shared_ptr<void>& key) { return static_cast<EVP_PKEY*>(key.get()); }

Result<Pkey> read_public_key(std::string_view pem) {
  if (Result<Certificate> certificate = read_certificate(pem))
    if (Pkey key(X509_get_pubkey(certificate->get())); key) return key;
  ERR_clear_error();
  Bio bio = memory_bio(pem);
  Pkey key(PEM_read_bio_PUBKEY(bio.get(), nullptr, no_passphrase, nullptr));
  if (!key) return openssl_error("reading a private key, a public key or a certificate");
  return key;
}

// "EC PRIVATE KEY", as Kubernetes' own tools write it: Java's clients know an elliptic key by that
// line alone.
Result<std::string> private_key_pem(EVP_PKEY* key) {
  Bio bio(BIO_new(BIO_s_mem()));
  if (!bio || PEM_write_bio_PrivateKey_traditional(bio.get(), key, nullptr, nullptr, 0, nullptr,
                                                   nullptr) != 1)
    return openssl_error("writing a private key");
  return bio_text(bio.get());
}

Result<std::string> certificate_pem(X509* certificate) {
  Bio bio(BIO_new(BIO_s_mem()));
  if (!bio || PEM_write_bio_X509(bio.get(), certificate) != 1)
    return openssl_error("writing a certificate");
  return bio_text(bio.get());
}

Result<void> check_p256(EVP_PKEY* key) {
  std::array<char, 64> group{};
  std::size_t length = 0;
  if (EVP_PKEY_get_group_name(key, group.data(), group.size(), &length) != 1 ||
      std::string_view(group.data(), length) != "prime256v1") {
    ERR_clear_error();
    return fail(Code::bad_request, "the key is not ECDSA P-256");
  }
  return {};
}

Result<void> set_serial(X509* certificate) {
  std::array<unsigned char, 16> raw{};
  if (RAND_bytes(raw.data(), raw.size()) != 1) return openssl_error("choosing a serial number");
  raw[0] = static_cast<unsigned char>((raw[0] & 0x7f) | 0x40);  // positive, and always full length
  BigNumber number(BN_bin2bn(raw.data(), raw.size(), nullptr));
  if (!number || !BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate)))
    return openssl_error("setting the serial number");
  return {};
}

Result<void> set_validity(X509* certificate, std::chrono::seconds valid_for, const Clock& clock) {
  std::time_t now =
      std::chrono::duration_cast<std::chrono::seconds>(clock.wall().time_since_epoch()).count();
  long before = -std::chrono::duration_cast<std::chrono::seconds>(kBackdate).count();
  auto days = std::chrono::duration_cast<std::chrono::days>(valid_for);
  long rest = std::chrono::duration_cast<std::chrono::seconds>(valid_for - days).count();
  if (!X509_time_adj_ex(X509_getm_notBefore(certificate), 0, before, &now) ||
      !X509_time_adj_ex(X509_getm_notAfter(certificate), static_cast<int>(days.count()), rest,
                        &now))
    return openssl_error("setting the validity of a certificate");
  return {};
}

Result<void> add_name(X509_NAME* name, const char* field, const std::string& value) {
  if (X509_NAME_add_entry_by_txt(name, field, MBSTRING_UTF8,
                                 reinterpret_cast<const unsigned char*>(value.data()),
                                 static_cast<int>(value.size()), -1, 0) != 1)
    return openssl_error("setting " + std::string(field) + "=" + value + " in a certificate");
  return {};
}

Result<void> add_extension(X509* certificate, X509* issuer, int nid, const char* value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  Extension extension(X509V3_EXT_conf_nid(nullptr, &context, nid, value));
  if (!extension || X509_add_ext(certificate, extension.get(), -1) != 1)
    return openssl_error("adding " + std::string(OBJ_nid2sn(nid)) + " to a certificate");
  return {};
}

Result<void> push_name(GENERAL_NAMES* names, int type, ASN1_STRING* value,
                       const std::string& text) {
  if (!value) return openssl_error("\"" + text + "\" cannot stand in a certificate");
  GeneralName name(GENERAL_NAME_new());
  if (!name) {
    ASN1_STRING_free(value);
    return openssl_error("allocating a name");
  }
  GENERAL_NAME_set0_value(name.get(), type, value);
  if (!sk_GENERAL_NAME_push(names, name.get())) return openssl_error("adding a name");
  (void)name.release();  // owned by `names` now
  return {};
}

// Built from values, not from OpenSSL's configuration syntax, where a comma in a name would add
// one.
Result<void> add_alternative_names(X509* certificate, const CertificateRequest& request) {
  if (request.dns_names.empty() && request.ip_addresses.empty()) return {};
  GeneralNames names(GENERAL_NAMES_new());
  if (!names) return openssl_error("allocating names");
  for (const std::string& dns : request.dns_names) {
    ASN1_STRING* value = ASN1_STRING_type_new(V_ASN1_IA5STRING);
    if (value && ASN1_STRING_set(value, dns.data(), static_cast<int>(dns.size())) != 1) {
      ASN1_STRING_free(value);
      value = nullptr;
    }
    TRY(push_name(names.get(), GEN_DNS, value, dns));
  }
  for (const std::string& ip : request.ip_addresses) {
    ASN1_OCTET_STRING* value = a2i_IPADDRESS(ip.c_str());
    if (!value) {
      ERR_clear_error();
      return fail(Code::bad_request, "\"" + ip + "\" is not an IP address");
    }
    TRY(push_name(names.get(), GEN_IPADD, value, ip));
  }
  if (X509_add1_ext_i2d(certificate, NID_subject_alt_name, names.get(), 0, X509V3_ADD_DEFAULT) != 1)
    return openssl_error("adding subject alternative names");
  return {};
}

Result<Certificate> new_certificate(EVP_PKEY* key, const std::string& common_name,
                                    const std::vector<std::string>& organizations,
                                    std::chrono::seconds valid_for, const Clock& clock) {
  Certificate certificate(X509_new());
  if (!certificate || X509_set_version(certificate.get(), X509_VERSION_3) != 1 ||
      X509_set_pubkey(certificate.get(), key) != 1)
    return openssl_error("making a certificate");
  TRY(set_serial(certificate.get()));
  TRY(set_validity(certificate.get(), valid_for, clock));
  X509_NAME* subject = X509_get_subject_name(certificate.get());
  for (const std::string& organization : organizations) TRY(add_name(subject, "O", organization));
  if (!common_name.empty()) TRY(add_name(subject, "CN", common_name));
  return certificate;
}

Result<KeyPair> sign_and_export(X509* certificate, EVP_PKEY* key, EVP_PKEY* issuer_key) {
  if (X509_sign(certificate, issuer_key, EVP_sha256()) == 0)
    return openssl_error("signing a certificate");
  KeyPair pair;
  pair.certificate_pem = TRY(certificate_pem(certificate));
  pair.key_pem = TRY(private_key_pem(key));
  return pair;
}

const char* extended_usage(const CertificateRequest& request) {
  if (request.for_server && request.for_client) return "serverAuth,clientAuth";
  if (request.for_server) return "serverAuth";
  return request.for_client ? "clientAuth" : nullptr;
}

// Extensions that a request asks for, and those of every certificate.
Result<void> add_request(X509* made, X509* issuer, const CertificateRequest& request,
                         bool authority) {
  TRY(add_extension(made, issuer, NID_basic_constraints,
                    authority ? "critical,CA:TRUE" : "critical,CA:FALSE"));
  TRY(add_extension(
      made, issuer, NID_key_usage,
      authority ? "critical,digitalSignature,keyCertSign,cRLSign" : "critical,digitalSignature"));
  if (const char* usage = extended_usage(request))
    TRY(add_extension(made, issuer, NID_ext_key_usage, usage));
  TRY(add_extension(made, issuer, NID_subject_key_identifier, "hash"));
  TRY(add_extension(made, issuer, NID_authority_key_identifier, "keyid"));
  return add_alternative_names(made, request);
}

// X.509 signatures are DER; JWS wants r and s side by side.
Result<std::string> der_to_raw(std::string_view der) {
  const unsigned char* at = reinterpret_cast<const unsigned char*>(der.data());
  Signature signature(d2i_ECDSA_SIG(nullptr, &at, static_cast<long>(der.size())));
  if (!signature) return openssl_error("reading a signature");
  std::string raw(2 * kScalarBytes, '\0');
  unsigned char* out = reinterpret_cast<unsigned char*>(raw.data());
  if (BN_bn2binpad(ECDSA_SIG_get0_r(signature.get()), out, kScalarBytes) < 0 ||
      BN_bn2binpad(ECDSA_SIG_get0_s(signature.get()), out + kScalarBytes, kScalarBytes) < 0)
    return openssl_error("writing a signature");
  return raw;
}

std::optional<std::string> raw_to_der(std::string_view raw) {
  if (raw.size() != 2 * kScalarBytes) return std::nullopt;
  const unsigned char* in = reinterpret_cast<const unsigned char*>(raw.data());
  BigNumber r(BN_bin2bn(in, kScalarBytes, nullptr));
  BigNumber s(BN_bin2bn(in + kScalarBytes, kScalarBytes, nullptr));
  Signature signature(ECDSA_SIG_new());
  if (!r || !s || !signature || ECDSA_SIG_set0(signature.get(), r.get(), s.get()) != 1)
    return std::nullopt;
  (void)r.release();
  (void)s.release();
  int size = i2d_ECDSA_SIG(signature.get(), nullptr);
  if (size <= 0) return std::nullopt;
  std::string der(static_cast<std::size_t>(size), '\0');
  unsigned char* at = reinterpret_cast<unsigned char*>(der.data());
  i2d_ECDSA_SIG(signature.get(), &at);
  return der;
}

}  // namespace

std::string sha256(std::string_view data) {
  // Fetched once: the implicit fetch of every call costs more than the digest of a short text.
  static EVP_MD* const algorithm = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  std::string digest(32, '\0');
  unsigned int size = 0;
  int done = EVP_Digest(data.data(), data.size(), reinterpret_cast<unsigned char*>(digest.data()),
                        &size, algorithm, nullptr);
  CHECK(done == 1 && size == digest.size(), "SHA-256 cannot fail");
  return digest;
}

std::string sha256_hex(std::string_view data) { return hex_encode(sha256(data)); }

Result<KeyPair> make_ca(const std::string& common_name, const Clock& clock) {
  Pkey key = TRY(generate_key());
  Certificate ca = TRY(new_certificate(key.get(), common_name, {}, kCaLifetime, clock));
  X509_set_issuer_name(ca.get(), X509_get_subject_name(ca.get()));
  TRY(add_extension(ca.get(), ca.get(), NID_basic_constraints, "critical,CA:TRUE"));
  TRY(add_extension(ca.get(), ca.get(), NID_key_usage,
                    "critical,digitalSignature,keyCertSign,cRLSign"));
  TRY(add_extension(ca.get(), ca.get(), NID_subject_key_identifier, "hash"));
  return sign_and_export(ca.get(), key.get(), key.get());
}

Result<KeyPair> issue_certificate(const KeyPair* ca, const CertificateOrder& order,
                                  const Clock& clock) {
  Pkey key = TRY(generate_key());
  Certificate made = TRY(new_certificate(key.get(), order.request.common_name,
                                         order.request.organizations, order.valid_for, clock));
  if (!ca) {
    X509_set_issuer_name(made.get(), X509_get_subject_name(made.get()));
    TRY(add_request(made.get(), made.get(), order.request, order.for_authority));
    return sign_and_export(made.get(), key.get(), key.get());
  }
  Certificate issuer = TRY(read_certificate(ca->certificate_pem));
  Pkey issuer_key = TRY(read_private_key(ca->key_pem));
  if (X509_check_private_key(issuer.get(), issuer_key.get()) != 1) {
    ERR_clear_error();
    return fail(Code::bad_request, "the CA's key does not belong to its certificate");
  }
  if (X509_set_issuer_name(made.get(), X509_get_subject_name(issuer.get())) != 1)
    return openssl_error("naming the issuer of a certificate");
  TRY(add_request(made.get(), issuer.get(), order.request, order.for_authority));
  return sign_and_export(made.get(), key.get(), issuer_key.get());
}

Result<KeyPair> make_certificate(const KeyPair& ca, const CertificateRequest& request,
                                 const Clock& clock) {
  return issue_certificate(&ca, {.request = request, .valid_for = request.valid_for}, clock);
}

Result<WallTime> certificate_end(const std::string& certificate_pem) {
  Certificate certificate = TRY(read_certificate(certificate_pem));
  std::tm end{};
  if (ASN1_TIME_to_tm(X509_get0_notAfter(certificate.get()), &end) != 1)
    return openssl_error("reading the end of a certificate");
  return WallTime(std::chrono::seconds(::timegm(&end)));
}

namespace {

Result<SigningRequest> read_signing_request(const std::string& pem) {
  Bio bio = memory_bio(pem);
  SigningRequest request(PEM_read_bio_X509_REQ(bio.get(), nullptr, no_passphrase, nullptr));
  if (request) return request;
  ERR_clear_error();
  return fail(Code::bad_request, "PEM block type must be CERTIFICATE REQUEST");
}

Result<Pkey> proven_key(X509_REQ* request) {
  Pkey key(X509_REQ_get_pubkey(request));
  if (key && X509_REQ_verify(request, key.get()) == 1) return key;
  ERR_clear_error();
  return fail(Code::bad_request, "the request is not signed by its own key");
}

// The one extension of a request that its certificate takes over.
Result<void> copy_alternative_names(X509_REQ* request, X509* certificate) {
  using Extensions = STACK_OF(X509_EXTENSION);
  const auto release = [](Extensions* all) {
    sk_X509_EXTENSION_pop_free(all, X509_EXTENSION_free);
  };
  std::unique_ptr<Extensions, decltype(release)> all(X509_REQ_get_extensions(request), release);
  const int at = all ? X509v3_get_ext_by_NID(all.get(), NID_subject_alt_name, -1) : -1;
  if (at < 0) return {};
  if (X509_add_ext(certificate, X509v3_get_ext(all.get(), at), -1) != 1)
    return openssl_error("taking over the names of a signing request");
  return {};
}

}  // namespace

Result<void> check_signing_request(const std::string& pem) {
  SigningRequest request = TRY(read_signing_request(pem));
  TRY(proven_key(request.get()));
  return {};
}

Result<std::string> sign_client_request(const KeyPair& ca, const std::string& request_pem,
                                        ClientUsage usage, std::chrono::seconds valid_for,
                                        const Clock& clock) {
  SigningRequest request = TRY(read_signing_request(request_pem));
  Pkey key = TRY(proven_key(request.get()));
  Certificate issuer = TRY(read_certificate(ca.certificate_pem));
  Pkey issuer_key = TRY(read_private_key(ca.key_pem));
  Certificate leaf = TRY(new_certificate(key.get(), "", {}, valid_for, clock));
  if (X509_set_subject_name(leaf.get(), X509_REQ_get_subject_name(request.get())) != 1 ||
      X509_set_issuer_name(leaf.get(), X509_get_subject_name(issuer.get())) != 1)
    return openssl_error("naming a certificate");
  if (ASN1_TIME_compare(X509_get0_notAfter(leaf.get()), X509_get0_notAfter(issuer.get())) > 0 &&
      X509_set1_notAfter(leaf.get(), X509_get0_notAfter(issuer.get())) != 1)
    return openssl_error("setting the validity of a certificate");
  TRY(add_extension(leaf.get(), issuer.get(), NID_basic_constraints, "critical,CA:FALSE"));
  std::string uses = "critical";
  if (usage.digital_signature) uses += ",digitalSignature";
  if (usage.key_encipherment) uses += ",keyEncipherment";
  if (uses != "critical") TRY(add_extension(leaf.get(), issuer.get(), NID_key_usage, uses.c_str()));
  TRY(add_extension(leaf.get(), issuer.get(), NID_ext_key_usage, "clientAuth"));
  TRY(add_extension(leaf.get(), issuer.get(), NID_authority_key_identifier, "keyid"));
  TRY(copy_alternative_names(request.get(), leaf.get()));
  if (X509_sign(leaf.get(), issuer_key.get(), EVP_sha256()) == 0)
    return openssl_error("signing a certificate");
  return certificate_pem(leaf.get());
}

Result<std::vector<std::string>> signing_request_organizations(const std::string& pem) {
  SigningRequest request = TRY(read_signing_request(pem));
  std::vector<std::string> found;
  X509_NAME* subject = X509_REQ_get_subject_name(request.get());
  for (int at = X509_NAME_get_index_by_NID(subject, NID_organizationName, -1); at >= 0;
       at = X509_NAME_get_index_by_NID(subject, NID_organizationName, at)) {
    unsigned char* text = nullptr;
    const int size =
        ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
    if (size < 0) return openssl_error("reading the subject of a signing request");
    found.emplace_back(reinterpret_cast<const char*>(text), static_cast<std::size_t>(size));
    OPENSSL_free(text);
  }
  return found;
}

Result<std::string> make_signing_key() {
  Pkey key = TRY(generate_key());
  return private_key_pem(key.get());
}

Result<Es256Key> Es256Key::read(const std::string& key_pem) {
  Es256Key made;
  Result<Pkey> own = read_private_key(key_pem);
  ERR_clear_error();
  made.private_ = own.has_value();
  Pkey key = own ? std::move(*own) : TRY(read_public_key(key_pem));
  TRY(check_p256(key.get()));
  made.key_ = std::shared_ptr<EVP_PKEY>(key.release(), EVP_PKEY_free);
  return made;
}

Result<std::string> Es256Key::sign(std::string_view data) const {
  if (!private_) return fail(Code::bad_request, "signing takes a private key");
  DigestContext context(EVP_MD_CTX_new());
  const unsigned char* in = reinterpret_cast<const unsigned char*>(data.data());
  std::size_t size = 0;
  if (!context ||
      EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, pkey(key_)) != 1 ||
      EVP_DigestSign(context.get(), nullptr, &size, in, data.size()) != 1)
    return openssl_error("signing with ES256");
  std::string der(size, '\0');
  unsigned char* out = reinterpret_cast<unsigned char*>(der.data());
  if (EVP_DigestSign(context.get(), out, &size, in, data.size()) != 1)
    return openssl_error("signing with ES256");
  der.resize(size);
  return der_to_raw(der);
}

bool Es256Key::verify(std::string_view data, std::string_view signature) const {
  std::optional<std::string> der = raw_to_der(signature);
  if (!der) return false;
  DigestContext context(EVP_MD_CTX_new());
  bool good =
      context &&
      EVP_DigestVerifyInit(context.get(), nullptr, EVP_sha256(), nullptr, pkey(key_)) == 1 &&
      EVP_DigestVerify(context.get(), reinterpret_cast<const unsigned char*>(der->data()),
                       der->size(), reinterpret_cast<const unsigned char*>(data.data()),
                       data.size()) == 1;
  ERR_clear_error();  // a wrong signature leaves an entry behind
  return good;
}

Result<std::string> Es256Key::id() const {
  int size = i2d_PUBKEY(pkey(key_), nullptr);
  if (size <= 0) return openssl_error("encoding a public key");
  std::string der(static_cast<std::size_t>(size), '\0');
  unsigned char* at = reinterpret_cast<unsigned char*>(der.data());
  i2d_PUBKEY(pkey(key_), &at);
  return base64url_encode(sha256(der));
}

Result<std::string> Es256Key::point() const {
  std::array<unsigned char, 65> point{};  // 4, x, y
  std::size_t length = 0;
  if (EVP_PKEY_get_octet_string_param(pkey(key_), OSSL_PKEY_PARAM_ENCODED_PUBLIC_KEY, point.data(),
                                      point.size(), &length) != 1 ||
      length != point.size() || point[0] != 4)
    return openssl_error("reading the point of a public key");
  return std::string(reinterpret_cast<const char*>(point.data()) + 1, point.size() - 1);
}

}  // namespace hekla
