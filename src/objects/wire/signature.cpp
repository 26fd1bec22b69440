#include "objects/wire/signature.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#include "base/bytes.h"
#include "base/crypto.h"
#include "base/digest.h"
#include "net/text.h"

namespace hekla::objects {
namespace {

constexpr std::string_view kAlgorithm = "AWS4-HMAC-SHA256";
constexpr std::chrono::minutes kSkew{15};
constexpr int kLongestLinkSeconds = 7 * 24 * 3600;

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

// AKID/20130524/us-east-1/s3/aws4_request; an access key may itself contain slashes.
bool read_credential(std::string_view text, Signature& into) {
  std::vector<std::string_view> parts = split(text, '/');
  if (parts.size() < 5) return false;
  const std::size_t tail = parts.size() - 4;
  if (parts[tail + 2] != "s3" || parts[tail + 3] != "aws4_request") return false;
  into.date = parts[tail];
  into.region = parts[tail + 1];
  std::size_t length = 0;
  for (std::size_t i = 0; i < tail; ++i) length += parts[i].size() + (i ? 1 : 0);
  into.access_key = text.substr(0, length);
  return !into.access_key.empty();
}

Outcome<Signature> read_header(const net::Request& request, std::string_view text) {
  Signature signature;
  text.remove_prefix(kAlgorithm.size());
  bool whole = true;
  net::for_each_element(text, [&](std::string_view element) {
    const std::size_t equals = element.find('=');
    if (equals == std::string_view::npos) return;
    const std::string_view name = element.substr(0, equals), value = element.substr(equals + 1);
    if (name == "Credential") whole = whole && read_credential(value, signature);
    if (name == "SignedHeaders") signature.signed_headers = value;
    if (name == "Signature") signature.value = value;
  });
  if (!whole || signature.access_key.empty() || signature.signed_headers.empty() ||
      signature.value.empty())
    return refuse("AuthorizationHeaderMalformed");
  signature.time = request.headers.get("x-amz-date");
  if (signature.time.empty()) {
    return refuse("AccessDenied", "A signed request needs the header x-amz-date.");
  }
  signature.payload_hash = request.headers.get("x-amz-content-sha256");
  if (signature.payload_hash.empty())
    return refuse("InvalidRequest", "A signed request needs the header x-amz-content-sha256.");
  return signature;
}

Outcome<Signature> read_query(const net::Request& request) {
  Signature signature;
  signature.presigned = true;
  if (request.query.get("X-Amz-Algorithm") != kAlgorithm ||
      !read_credential(request.query.get("X-Amz-Credential"), signature))
    return refuse("AuthorizationQueryParametersError");
  signature.time = request.query.get("X-Amz-Date");
  signature.signed_headers = request.query.get("X-Amz-SignedHeaders");
  signature.value = request.query.get("X-Amz-Signature");
  if (signature.time.empty() || signature.signed_headers.empty() || signature.value.empty())
    return refuse("AuthorizationQueryParametersError");
  const std::string_view stated = request.headers.get("x-amz-content-sha256");
  const std::string_view in_query = request.query.get("X-Amz-Content-Sha256");
  signature.payload_hash = !in_query.empty() ? in_query
                           : !stated.empty() ? stated
                                             : "UNSIGNED-PAYLOAD";
  return signature;
}

// The path with every byte but the unreserved ones and "/" written as %XX, whatever the client did.
std::string canonical_path(std::string_view target) {
  const std::string decoded = net::url_decode(target.substr(0, target.find('?')));
  std::string out;
  for (std::string_view segment : split(decoded, '/')) {
    if (!out.empty() || segment.data() != decoded.data()) out += '/';
    out += net::url_encode(segment);
  }
  return out.empty() ? "/" : out;
}

std::string canonical_query(const net::Query& query) {
  std::vector<std::string> pairs;
  for (const auto& [name, value] : query.all())
    if (name != "X-Amz-Signature")
      pairs.push_back(net::url_encode(name) + "=" + net::url_encode(value));
  std::ranges::sort(pairs, [](const std::string& a, const std::string& b) {
    const std::string_view x = a, y = b;
    const std::string_view left = x.substr(0, x.find('=')), right = y.substr(0, y.find('='));
    return left != right ? left < right : x < y;
  });
  std::string out;
  for (const std::string& pair : pairs) out += (out.empty() ? "" : "&") + pair;
  return out;
}

// Runs of blanks are one blank.
std::string trim_all(std::string_view value) {
  std::string out;
  for (char c : net::trim(value)) {
    if (c == '\t') c = ' ';
    if (c != ' ' || out.empty() || out.back() != ' ') out += c;
  }
  return out;
}

std::string canonical_request(const net::Request& request, std::string_view signed_headers,
                              std::string_view payload_hash) {
  std::string out = request.method + "\n" + canonical_path(request.target) + "\n" +
                    canonical_query(request.query) + "\n";
  for (std::string_view name : split(signed_headers, ';')) {
    out += name;
    out += ':';
    bool first = true;
    for (std::string_view value : request.headers.get_all(name)) {
      if (!first) out += ',';
      out += trim_all(value);
      first = false;
    }
    out += '\n';
  }
  out += '\n';
  out += signed_headers;
  out += '\n';
  out += payload_hash;
  return out;
}

SigningKey make_key(const Signature& signature, std::string_view secret) {
  std::string key = hmac_sha256("AWS4" + std::string(secret), signature.date);
  key = hmac_sha256(key, signature.region);
  key = hmac_sha256(key, "s3");
  key = hmac_sha256(key, "aws4_request");
  return {key, signature.time, signature.date + "/" + signature.region + "/s3/aws4_request",
          signature.value};
}

std::string string_to_sign(const SigningKey& key, const std::string& canonical) {
  return std::string(kAlgorithm) + "\n" + key.time + "\n" + key.scope + "\n" +
         sha256_hex(canonical);
}

Outcome<void> check_time(const net::Request& request, const Signature& signature, WallTime now) {
  const std::optional<WallTime> signed_at = parse_amz_time(signature.time);
  if (!signed_at || !signature.time.starts_with(signature.date))
    return refuse("AccessDenied", "The date of the signature is not valid.");
  if (*signed_at > now + kSkew) return refuse("RequestTimeTooSkewed");
  if (!signature.presigned) {
    if (now > *signed_at + kSkew) return refuse("RequestTimeTooSkewed");
    return {};
  }
  const std::string_view text = request.query.get("X-Amz-Expires");
  int seconds = -1;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc() || end != text.data() + text.size() || seconds < 1 ||
      seconds > kLongestLinkSeconds)
    return refuse("AuthorizationQueryParametersError",
                  "X-Amz-Expires must be between 1 and 604800 seconds.");
  if (now > *signed_at + std::chrono::seconds(seconds))
    return refuse("AccessDenied", "Request has expired");
  return {};
}

// The host, and every x-amz header that changes what a request means, must be under the signature.
Outcome<void> check_signed_headers(const net::Request& request, const Signature& signature) {
  const std::vector<std::string_view> listed = split(signature.signed_headers, ';');
  if (std::ranges::find(listed, "host") == listed.end())
    return refuse("AccessDenied", "The signature does not cover the header host.");
  for (const auto& [name, value] : request.headers.all()) {
    std::string lower = name;
    std::ranges::transform(lower, lower.begin(), net::to_lower);
    if (lower.starts_with("x-amz-") && lower != "x-amz-content-sha256" &&
        std::ranges::find(listed, lower) == listed.end())
      return refuse("AccessDenied",
                    "There were headers present in the request which were not "
                    "signed: " +
                        lower);
  }
  return {};
}

}  // namespace

std::string amz_time(WallTime at) {
  using namespace std::chrono;
  const auto seconds_of = floor<seconds>(at);
  const auto day = floor<days>(seconds_of);
  const year_month_day date(day);
  const hh_mm_ss time(seconds_of - day);
  char text[32];
  std::snprintf(text, sizeof text, "%04d%02u%02uT%02d%02d%02dZ", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                static_cast<int>(time.hours().count()), static_cast<int>(time.minutes().count()),
                static_cast<int>(time.seconds().count()));
  return text;
}

std::optional<WallTime> parse_amz_time(std::string_view text) {
  using namespace std::chrono;
  if (text.size() != 16 || text[8] != 'T' || text[15] != 'Z') return std::nullopt;
  auto number = [&](std::size_t at, std::size_t length) {
    int value = -1;
    auto [end, error] = std::from_chars(text.data() + at, text.data() + at + length, value);
    return error == std::errc() && end == text.data() + at + length && value >= 0 ? value : -1;
  };
  const std::array<int, 6> values = {number(0, 4), number(4, 2),  number(6, 2),
                                     number(9, 2), number(11, 2), number(13, 2)};
  if (std::ranges::find(values, -1) != values.end()) return std::nullopt;
  const year_month_day date{year(values[0]), month(static_cast<unsigned>(values[1])),
                            day(static_cast<unsigned>(values[2]))};
  if (!date.ok() || values[3] > 23 || values[4] > 59 || values[5] > 60) return std::nullopt;
  return WallTime(sys_days(date) + hours(values[3]) + minutes(values[4]) + seconds(values[5]));
}

Outcome<std::optional<Signature>> read_signature(const net::Request& request) {
  const std::string_view header = request.headers.get("authorization");
  if (header.starts_with(kAlgorithm)) return TRY(read_header(request, header));
  if (!header.empty())
    return refuse("AuthorizationHeaderMalformed",
                  "The authorization mechanism is not supported; use AWS4-HMAC-SHA256.");
  if (request.query.has("X-Amz-Signature") || request.query.has("X-Amz-Algorithm"))
    return TRY(read_query(request));
  return std::nullopt;
}

Outcome<SigningKey> verify(const net::Request& request, const Signature& signature,
                           std::string_view secret, WallTime now) {
  TRY(check_time(request, signature, now));
  TRY(check_signed_headers(request, signature));
  SigningKey key = make_key(signature, secret);
  const std::string expected = hex_encode(
      hmac_sha256(key.key, string_to_sign(key, canonical_request(request, signature.signed_headers,
                                                                 signature.payload_hash))));
  if (!equal_secrets(expected, signature.value)) return refuse("SignatureDoesNotMatch");
  return key;
}

std::string chunk_signature(const SigningKey& key, std::string_view previous,
                            std::string_view chunk_sha256_hex) {
  static const std::string empty = sha256_hex("");
  return hex_encode(hmac_sha256(key.key, "AWS4-HMAC-SHA256-PAYLOAD\n" + key.time + "\n" +
                                             key.scope + "\n" + std::string(previous) + "\n" +
                                             empty + "\n" + std::string(chunk_sha256_hex)));
}

std::string trailer_signature(const SigningKey& key, std::string_view previous,
                              std::string_view trailer_sha256_hex) {
  return hex_encode(hmac_sha256(key.key, "AWS4-HMAC-SHA256-TRAILER\n" + key.time + "\n" +
                                             key.scope + "\n" + std::string(previous) + "\n" +
                                             std::string(trailer_sha256_hex)));
}

net::Headers sign(const SigningRequest& request, std::string_view access_key,
                  std::string_view secret, std::string_view region, WallTime now) {
  net::Request canonical;
  canonical.method = request.method;
  canonical.target = request.target;
  if (const std::size_t mark = request.target.find('?'); mark != std::string::npos)
    canonical.query = net::Query::parse(std::string_view(request.target).substr(mark + 1));
  canonical.headers = request.headers;
  canonical.headers.set("host", request.host);
  canonical.headers.set("x-amz-date", amz_time(now));
  canonical.headers.set("x-amz-content-sha256", request.payload_hash);
  std::vector<std::string> names;
  for (const auto& [name, value] : canonical.headers.all()) {
    std::string lower = name;
    std::ranges::transform(lower, lower.begin(), net::to_lower);
    if (lower == "host" || lower.starts_with("x-amz-")) names.push_back(std::move(lower));
  }
  std::ranges::sort(names);
  names.erase(std::ranges::unique(names).begin(), names.end());
  Signature signature;
  for (const std::string& name : names)
    signature.signed_headers += (signature.signed_headers.empty() ? "" : ";") + name;
  signature.time = amz_time(now);
  signature.date = signature.time.substr(0, 8);
  signature.region = region;
  const SigningKey key = make_key(signature, secret);
  const std::string value = hex_encode(hmac_sha256(
      key.key, string_to_sign(key, canonical_request(canonical, signature.signed_headers,
                                                     request.payload_hash))));
  net::Headers headers = canonical.headers;
  headers.remove("host");
  headers.set("authorization", std::string(kAlgorithm) + " Credential=" + std::string(access_key) +
                                   "/" + key.scope + ", SignedHeaders=" + signature.signed_headers +
                                   ", Signature=" + value);
  return headers;
}

}  // namespace hekla::objects
