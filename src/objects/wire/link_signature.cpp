#include "objects/wire/link_signature.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>

#include "base/bytes.h"
#include "base/digest.h"
#include "net/text.h"

namespace hekla::objects {
namespace {

// Parameters that say what is asked for, and so are part of the resource.
constexpr auto kSigned = std::to_array<std::string_view>({"accelerate",
                                                          "acl",
                                                          "analytics",
                                                          "cors",
                                                          "delete",
                                                          "inventory",
                                                          "lifecycle",
                                                          "location",
                                                          "logging",
                                                          "metrics",
                                                          "notification",
                                                          "object-lock",
                                                          "partNumber",
                                                          "policy",
                                                          "replication",
                                                          "requestPayment",
                                                          "response-cache-control",
                                                          "response-content-disposition",
                                                          "response-content-encoding",
                                                          "response-content-language",
                                                          "response-content-type",
                                                          "response-expires",
                                                          "restore",
                                                          "select",
                                                          "select-type",
                                                          "storageClass",
                                                          "tagging",
                                                          "torrent",
                                                          "uploadId",
                                                          "uploads",
                                                          "versionId",
                                                          "versioning",
                                                          "versions",
                                                          "website"});

std::string sha1(std::string_view first, std::string_view second) {
  Digest digest(Digest::Algorithm::sha1);
  digest.add(first);
  digest.add(second);
  return digest.finish();
}

std::string hmac_sha1(std::string_view key, std::string_view data) {
  constexpr std::size_t kBlock = 64;
  std::string inner = key.size() > kBlock ? sha1(key, "") : std::string(key);
  inner.resize(kBlock, '\0');
  std::string outer = inner;
  for (char& c : inner) c = static_cast<char>(c ^ 0x36);
  for (char& c : outer) c = static_cast<char>(c ^ 0x5c);
  return sha1(outer, sha1(inner, data));
}

std::string amz_headers(const net::Request& request) {
  std::map<std::string, std::string> found;
  for (const auto& [name, value] : request.headers.all()) {
    std::string lower = name;
    std::ranges::transform(lower, lower.begin(), net::to_lower);
    if (!lower.starts_with("x-amz-")) continue;
    std::string& all = found[lower];
    all += (all.empty() ? "" : ",") + std::string(net::trim(value));
  }
  std::string out;
  for (const auto& [name, value] : found) out += name + ":" + value + "\n";
  return out;
}

// The path as it was sent, and the parameters that count, in order, decoded.
std::string resource(const net::Request& request, std::string_view host_bucket) {
  std::string out = host_bucket.empty() ? "" : "/" + std::string(host_bucket);
  out += std::string_view(request.target).substr(0, request.target.find('?'));
  std::map<std::string, std::string> counted;
  for (const auto& [name, value] : request.query.all())
    if (std::ranges::find(kSigned, name) != kSigned.end()) counted.emplace(name, value);
  char before = '?';
  for (const auto& [name, value] : counted) {
    out += before + name + (value.empty() ? "" : "=" + value);
    before = '&';
  }
  return out;
}

}  // namespace

std::optional<LinkSignature> read_link_signature(const net::Request& request) {
  if (!request.query.has("Signature") || !request.query.has("AWSAccessKeyId")) return std::nullopt;
  return LinkSignature{std::string(request.query.get("AWSAccessKeyId")),
                       std::string(request.query.get("Expires")),
                       std::string(request.query.get("Signature"))};
}

Outcome<void> verify_link(const net::Request& request, std::string_view host_bucket,
                          const LinkSignature& signature, std::string_view secret, WallTime now) {
  std::int64_t until = 0;
  const char* end = signature.expires.data() + signature.expires.size();
  auto [parsed, error] = std::from_chars(signature.expires.data(), end, until);
  if (error != std::errc() || parsed != end)
    return refuse("AccessDenied", "A signed link needs Expires, in seconds since 1970.");
  const std::string text = request.method + "\n" + std::string(request.headers.get("content-md5")) +
                           "\n" + std::string(request.headers.get("content-type")) + "\n" +
                           signature.expires + "\n" + amz_headers(request) +
                           resource(request, host_bucket);
  if (!equal_secrets(base64_encode(hmac_sha1(secret, text)), signature.value))
    return refuse("SignatureDoesNotMatch");
  if (std::chrono::floor<std::chrono::seconds>(now.time_since_epoch()).count() > until)
    return refuse("AccessDenied", "Request has expired");
  return {};
}

}  // namespace hekla::objects
