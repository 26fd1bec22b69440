// Certificates are checked with OpenSSL's own verifier, the way a peer would.
#include "base/crypto.h"

#include <gtest/gtest.h>
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include "base/bytes.h"
#include "base/certificate.h"
#include "base/signing_request.h"

namespace hekla {
namespace {

using Certificate = std::unique_ptr<X509, decltype([](X509* c) { X509_free(c); })>;
using Bio = std::unique_ptr<BIO, decltype([](BIO* b) { BIO_free(b); })>;
using Key = std::unique_ptr<EVP_PKEY, decltype([](EVP_PKEY* k) { EVP_PKEY_free(k); })>;
using Store = std::unique_ptr<X509_STORE, decltype([](X509_STORE* s) { X509_STORE_free(s); })>;
using Verify =
    std::unique_ptr<X509_STORE_CTX, decltype([](X509_STORE_CTX* c) { X509_STORE_CTX_free(c); })>;

Certificate parse(const std::string& pem) {
  Bio bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  return Certificate(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
}

std::string public_pem(const std::string& private_pem) {
  Bio in(BIO_new_mem_buf(private_pem.data(), static_cast<int>(private_pem.size())));
  Key key(PEM_read_bio_PrivateKey(in.get(), nullptr, nullptr, nullptr));
  Bio out(BIO_new(BIO_s_mem()));
  PEM_write_bio_PUBKEY(out.get(), key.get());
  char* data = nullptr;
  long size = BIO_get_mem_data(out.get(), &data);
  return std::string(data, static_cast<std::size_t>(size));
}

bool signed_by(const Certificate& leaf, const Certificate& ca, int purpose) {
  Store store(X509_STORE_new());
  X509_STORE_add_cert(store.get(), ca.get());
  Verify context(X509_STORE_CTX_new());
  X509_STORE_CTX_init(context.get(), store.get(), leaf.get(), nullptr);
  X509_STORE_CTX_set_purpose(context.get(), purpose);
  return X509_verify_cert(context.get()) == 1;
}

std::string subject(const Certificate& certificate) {
  Bio bio(BIO_new(BIO_s_mem()));
  X509_NAME_print_ex(bio.get(), X509_get_subject_name(certificate.get()), 0, XN_FLAG_RFC2253);
  char* data = nullptr;
  long size = BIO_get_mem_data(bio.get(), &data);
  return std::string(data, static_cast<std::size_t>(size));
}

TEST(Sha256, KnownDigests) {
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256("abc").size(), 32u);
}

class Certificates : public testing::Test {
 protected:
  KeyPair ca = make_ca("hekla-ca", real_clock()).value();
};

TEST_F(Certificates, ServerCertificateVerifiesForItsNamesOnly) {
  CertificateRequest request{.common_name = "kube-apiserver",
                             .dns_names = {"localhost", "kubernetes.default.svc"},
                             .ip_addresses = {"127.0.0.1", "::1"},
                             .for_server = true};
  KeyPair pair = make_certificate(ca, request, real_clock()).value();
  Certificate leaf = parse(pair.certificate_pem), root = parse(ca.certificate_pem);
  EXPECT_TRUE(signed_by(leaf, root, X509_PURPOSE_SSL_SERVER));
  EXPECT_FALSE(signed_by(leaf, root, X509_PURPOSE_SSL_CLIENT));
  EXPECT_EQ(X509_check_host(leaf.get(), "kubernetes.default.svc", 0, 0, nullptr), 1);
  EXPECT_EQ(X509_check_host(leaf.get(), "example.com", 0, 0, nullptr), 0);
  EXPECT_EQ(X509_check_ip_asc(leaf.get(), "127.0.0.1", 0), 1);
  EXPECT_EQ(X509_check_ip_asc(leaf.get(), "::1", 0), 1);
  EXPECT_EQ(X509_check_ip_asc(leaf.get(), "127.0.0.2", 0), 0);
}

TEST_F(Certificates, ClientCertificateCarriesUserAndGroups) {
  CertificateRequest request{.common_name = "kubernetes-admin",
                             .organizations = {"system:masters", "ops, and more"},
                             .for_client = true};
  KeyPair pair = make_certificate(ca, request, real_clock()).value();
  Certificate leaf = parse(pair.certificate_pem);
  EXPECT_TRUE(signed_by(leaf, parse(ca.certificate_pem), X509_PURPOSE_SSL_CLIENT));
  EXPECT_EQ(subject(leaf), "CN=kubernetes-admin,O=ops\\, and more,O=system:masters");
  EXPECT_TRUE(pair.key_pem.starts_with("-----BEGIN EC PRIVATE KEY-----\n")) << pair.key_pem;
}

// O=dev, CN=eve, DNS:eve.example.com
constexpr const char* kSigningRequest =
    "-----BEGIN CERTIFICATE REQUEST-----\n"
    "MIIBBDCBqwIBADAcMQwwCgYDVQQKDANkZXYxDDAKBgNVBAMMA2V2ZTBZMBMGByqG\n"
    "SM49AgEGCCqGSM49AwEHA0IABNtKOQ6hxwv4F5sbeZMBzUA4pSg/8BqlpgqPlvpy\n"
    "ez1EUBWiFGhRbjRXiytg1XbWpQS4n65DTSKx8hnTVMox0GmgLTArBgkqhkiG9w0B\n"
    "CQ4xHjAcMBoGA1UdEQQTMBGCD2V2ZS5leGFtcGxlLmNvbTAKBggqhkjOPQQDAgNI\n"
    "ADBFAiAws5CsrwPS3lir2FodChuxp0W5THaqXA8LowX5dGx16AIhAPsBGblVV1s0\n"
    "pmhlhmVUxxNqs4Y3sfG6r1gMAMvKQ3HZ\n"
    "-----END CERTIFICATE REQUEST-----\n";

TEST_F(Certificates, ASigningRequestBecomesACertificateOfItsSubject) {
  const auto sign = [&](const std::string& pem, std::chrono::seconds valid_for) {
    return sign_client_request(ca, pem, {.digital_signature = true}, valid_for, real_clock());
  };
  EXPECT_TRUE(check_signing_request(kSigningRequest));
  Certificate leaf = parse(sign(kSigningRequest, std::chrono::hours(1)).value());
  EXPECT_TRUE(signed_by(leaf, parse(ca.certificate_pem), X509_PURPOSE_SSL_CLIENT));
  EXPECT_FALSE(signed_by(leaf, parse(ca.certificate_pem), X509_PURPOSE_SSL_SERVER));
  EXPECT_EQ(subject(leaf), "CN=eve,O=dev");
  EXPECT_EQ(X509_check_host(leaf.get(), "eve.example.com", 0, 0, nullptr), 1);
  EXPECT_EQ(X509_check_ca(leaf.get()), 0);
  // Not beyond the end of the CA.
  const std::string longest = sign(kSigningRequest, std::chrono::hours(24 * 365 * 50)).value();
  EXPECT_EQ(certificate_end(longest).value(), certificate_end(ca.certificate_pem).value());
  // A request whose signature does not fit, and none at all.
  std::string changed = kSigningRequest;
  const std::size_t at = changed.find("-----END") - 6;
  changed[at] = changed[at] == 'A' ? 'B' : 'A';
  EXPECT_FALSE(check_signing_request(changed));
  EXPECT_FALSE(sign(changed, std::chrono::hours(1)));
  EXPECT_FALSE(check_signing_request(ca.certificate_pem));
}

TEST_F(Certificates, AnotherCaIsRefused) {
  KeyPair other = make_ca("hekla-ca", real_clock()).value();
  KeyPair pair =
      make_certificate(ca, {.common_name = "x", .for_server = true}, real_clock()).value();
  EXPECT_FALSE(signed_by(parse(pair.certificate_pem), parse(other.certificate_pem),
                         X509_PURPOSE_SSL_SERVER));
}

TEST_F(Certificates, SerialsDifferAndValidityIsBackdated) {
  KeyPair a =
      make_certificate(ca, {.common_name = "x", .valid_for = std::chrono::hours(36)}, real_clock())
          .value();
  KeyPair b = make_certificate(ca, {.common_name = "x"}, real_clock()).value();
  Certificate first = parse(a.certificate_pem), second = parse(b.certificate_pem);
  EXPECT_NE(
      ASN1_INTEGER_cmp(X509_get0_serialNumber(first.get()), X509_get0_serialNumber(second.get())),
      0);
  int days = 0, seconds = 0;
  ASN1_TIME_diff(&days, &seconds, X509_get0_notBefore(first.get()),
                 X509_get0_notAfter(first.get()));
  EXPECT_EQ(days * 86400 + seconds, 36 * 3600 + 300);
  EXPECT_LT(X509_cmp_current_time(X509_get0_notBefore(first.get())), 0);
}

TEST_F(Certificates, BadInputsAreErrorsThatSayWhat) {
  Result<KeyPair> bad_ip =
      make_certificate(ca, {.common_name = "x", .ip_addresses = {"300.1.1.1"}}, real_clock());
  ASSERT_FALSE(bad_ip);
  EXPECT_EQ(bad_ip.error().message, "\"300.1.1.1\" is not an IP address");
  Result<KeyPair> no_ca = make_certificate(KeyPair{"nonsense", ca.key_pem}, {}, real_clock());
  ASSERT_FALSE(no_ca);
  EXPECT_EQ(no_ca.error().message.substr(0, 21), "reading a certificate");
  KeyPair mixed{ca.certificate_pem, make_signing_key().value()};
  Result<KeyPair> mismatch = make_certificate(mixed, {}, real_clock());
  ASSERT_FALSE(mismatch);
  EXPECT_EQ(mismatch.error().message, "the CA's key does not belong to its certificate");
}

TEST(Es256, SignsAndVerifiesWithEitherHalfOfTheKey) {
  std::string key = make_signing_key().value();
  std::string signature = Es256Key::read(key).value().sign("header.payload").value();
  EXPECT_EQ(signature.size(), 64u);
  EXPECT_TRUE(Es256Key::read(key).value().verify("header.payload", signature));
  EXPECT_TRUE(Es256Key::read(public_pem(key)).value().verify("header.payload", signature));
}

TEST(Es256, RefusesEverythingElse) {
  std::string key = make_signing_key().value(), other = make_signing_key().value();
  std::string signature = Es256Key::read(key).value().sign("data").value();
  EXPECT_FALSE(Es256Key::read(key).value().verify("datum", signature));
  EXPECT_FALSE(Es256Key::read(other).value().verify("data", signature));
  EXPECT_FALSE(Es256Key::read(public_pem(key)).value().sign("data"))
      << "a public key only verifies";
  EXPECT_FALSE(Es256Key::read(key).value().verify("data", signature.substr(1)));
  EXPECT_FALSE(Es256Key::read(key).value().verify("data", std::string(64, '\0')));
  signature[10] ^= 1;
  EXPECT_FALSE(Es256Key::read(key).value().verify("data", signature));
  EXPECT_FALSE(Es256Key::read("no key"));
}

// RFC 7515, appendix A.3: fixes the raw form and byte order.
TEST(Es256, KnownAnswer) {
  const std::string public_key =
      "-----BEGIN PUBLIC KEY-----\n"
      "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEf83OJ3D2xF1Bg8vub9tLe1gHMzV7\n"
      "6e8Tus9uPHvRVEXH8UTNG72bfocs3+257rn0s2ldbqkLJK2KRiMohYjlrQ==\n"
      "-----END PUBLIC KEY-----\n";
  std::string signature =
      base64url_decode(
          "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q")
          .value();
  EXPECT_TRUE(
      Es256Key::read(public_key)
          .value()
          .verify("eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0"
                  "dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ",
                  signature));
}

TEST(KeyId, IsTheSameForBothHalves) {
  std::string key = make_signing_key().value();
  EXPECT_EQ(Es256Key::read(key).value().id().value(),
            Es256Key::read(public_pem(key)).value().id().value());
  EXPECT_EQ(Es256Key::read(key).value().id().value().size(), 43u);
  EXPECT_FALSE(Es256Key::read(""));
}

}  // namespace
}  // namespace hekla
