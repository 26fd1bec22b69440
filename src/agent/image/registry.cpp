#include "agent/image/registry.h"

#include <curl/curl.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "agent/runtime/file_descriptor.h"
#include "base/bytes.h"
#include "base/crypto.h"
#include "base/sha256.h"
#include "json/parse.h"
#include "net/http.h"

namespace hekla::agent {
namespace {

constexpr std::size_t kLargestManifest = 4 << 20;
constexpr long kConnectSeconds = 30, kStallSeconds = 60, kSlowest = 1;  // bytes a second
constexpr long kMostRedirects = 10;
constexpr long kOk = 200, kUnauthorized = 401, kForbidden = 403, kNotFound = 404;
constexpr std::size_t kErrorBody = 512;

struct RegistryCurlFree {
  void operator()(CURL* curl) const { curl_easy_cleanup(curl); }
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

std::string host_part(const std::string& registry) {
  if (registry.starts_with('[')) return registry.substr(0, registry.find(']') + 1);
  return registry.substr(0, registry.rfind(':'));
}

bool is_loopback(const std::string& registry) {
  std::string host = host_part(registry);
  return host == "localhost" || host == "[::1]" || host.starts_with("127.");
}

std::string basic_authorization(const RegistryLogin& login) {
  return "Basic " + base64_encode(login.user + ":" + login.password);
}

}  // namespace

struct RegistrySession::Answer {
  long status = 0;
  std::string challenge;
  std::string error_body;
};

namespace {

struct Transfer {
  CURL* curl;
  const std::function<bool(std::string_view)>& sink;
  std::string challenge;
  std::string error_body;
};

std::size_t on_registry_body(char* data, std::size_t size, std::size_t count, void* user) {
  auto* transfer = static_cast<Transfer*>(user);
  std::string_view piece(data, size * count);
  long status = 0;
  curl_easy_getinfo(transfer->curl, CURLINFO_RESPONSE_CODE, &status);
  if (status != kOk) {
    transfer->error_body += piece.substr(0, kErrorBody - std::min(kErrorBody,
                                                                  transfer->error_body.size()));
    return piece.size();
  }
  return transfer->sink(piece) ? piece.size() : 0;
}

std::size_t on_registry_header(char* data, std::size_t size, std::size_t count, void* user) {
  auto* transfer = static_cast<Transfer*>(user);
  constexpr std::string_view kName = "www-authenticate:";
  std::string_view line(data, size * count);
  bool is_it = line.size() > kName.size() &&
               std::ranges::equal(line.substr(0, kName.size()), kName, [](char a, char b) {
                 return (a >= 'A' && a <= 'Z' ? a + 32 : a) == b;
               });
  if (is_it && transfer->challenge.empty()) {
    std::string_view value = line.substr(kName.size());
    while (!value.empty() && value.front() == ' ') value.remove_prefix(1);
    while (!value.empty() && (value.back() == '\n' || value.back() == '\r')) value.remove_suffix(1);
    transfer->challenge = value;
  }
  return line.size();
}

}  // namespace

bool is_insecure(const RegistryOptions& options, const std::string& registry) {
  return is_loopback(registry) ||
         std::ranges::find(options.insecure, registry) != options.insecure.end();
}

Result<std::map<std::string, std::string>> parse_mirrors(const std::vector<std::string>& entries) {
  std::map<std::string, std::string> out;
  for (const std::string& entry : entries) {
    std::size_t equals = entry.find('=');
    std::string url = equals == std::string::npos ? "" : entry.substr(equals + 1);
    if (equals == 0 || !(url.starts_with("http://") || url.starts_with("https://")))
      return fail(Code::bad_request, "registry mirror \"" + entry +
                                         "\": expected HOST=URL with http:// or https://");
    while (url.ends_with('/')) url.pop_back();
    out[entry.substr(0, equals)] = url;
  }
  return out;
}

RegistrySession::RegistrySession(const RegistryOptions& options, ImageReference image,
                                 std::optional<RegistryLogin> login)
    : image_(std::move(image)), login_(std::move(login)) {
  if (auto mirror = options.mirrors.find(image_.registry); mirror != options.mirrors.end())
    endpoints_.push_back({mirror->second, mirror->second.starts_with("https://"), false});
  bool secure = !is_insecure(options, image_.registry);
  std::string host = image_.registry == "docker.io" ? "registry-1.docker.io" : image_.registry;
  endpoints_.push_back({(secure ? "https://" : "http://") + host, secure, true});
}

Result<RegistrySession::Answer> RegistrySession::perform(const Endpoint& endpoint,
                                                         const std::string& url,
                                                         const std::vector<std::string>& headers,
                                                         const Sink& sink) {
  std::unique_ptr<CURL, RegistryCurlFree> curl(curl_easy_init());
  if (!curl) return fail(Code::internal, "out of memory");
  std::unique_ptr<curl_slist, RegistryCurlFree> list;
  for (const std::string& header : headers) {
    curl_slist* longer = curl_slist_append(list.get(), header.c_str());
    if (!longer) return fail(Code::internal, "out of memory");
    [[maybe_unused]] curl_slist* old = list.release();
    list.reset(longer);
  }
  Transfer transfer{curl.get(), sink, {}, {}};
  const char* protocols = endpoint.secure ? "https" : "http,https";
  curl_easy_setopt(curl.get(), CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl.get(), CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl.get(), CURLOPT_PROTOCOLS_STR, protocols);
  curl_easy_setopt(curl.get(), CURLOPT_REDIR_PROTOCOLS_STR, protocols);
  curl_easy_setopt(curl.get(), CURLOPT_FOLLOWLOCATION, 1L);
  curl_easy_setopt(curl.get(), CURLOPT_MAXREDIRS, kMostRedirects);
  curl_easy_setopt(curl.get(), CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
  curl_easy_setopt(curl.get(), CURLOPT_LOW_SPEED_TIME, kStallSeconds);
  curl_easy_setopt(curl.get(), CURLOPT_LOW_SPEED_LIMIT, kSlowest);
  curl_easy_setopt(curl.get(), CURLOPT_USERAGENT, "hekla");
  curl_easy_setopt(curl.get(), CURLOPT_HTTPHEADER, list.get());
  curl_easy_setopt(curl.get(), CURLOPT_WRITEFUNCTION, on_registry_body);
  curl_easy_setopt(curl.get(), CURLOPT_WRITEDATA, &transfer);
  curl_easy_setopt(curl.get(), CURLOPT_HEADERFUNCTION, on_registry_header);
  curl_easy_setopt(curl.get(), CURLOPT_HEADERDATA, &transfer);
  std::size_t scheme = endpoint.base.find("://") + 3;
  if (is_loopback(endpoint.base.substr(scheme, endpoint.base.find('/', scheme) - scheme)))
    curl_easy_setopt(curl.get(), CURLOPT_PROXY, "");
  CURLcode code = curl_easy_perform(curl.get());
  if (code != CURLE_OK)
    return fail(Code::unavailable,
                "failed to do request: Get \"" + url + "\": " + curl_easy_strerror(code));
  Answer answer{0, std::move(transfer.challenge), std::move(transfer.error_body)};
  curl_easy_getinfo(curl.get(), CURLINFO_RESPONSE_CODE, &answer.status);
  return answer;
}

// The login goes to the registry itself and to the token server it names, never to a mirror.
Result<std::string> RegistrySession::authorize(const Endpoint& endpoint,
                                               const std::string& header) {
  std::optional<AuthChallenge> challenge = parse_challenge(header);
  const bool known = login_ && endpoint.own;
  if (!challenge) return fail(Code::unauthorized, "authorization failed: no known scheme");
  if (challenge->scheme == "basic") {
    if (!known) return fail(Code::unauthorized, "authorization failed: no basic auth credentials");
    return basic_authorization(*login_);
  }
  std::string realm = challenge->parameters["realm"];
  if (!realm.starts_with("https://") && !(realm.starts_with("http://") && !endpoint.secure))
    return fail(Code::unauthorized, "authorization failed: token realm \"" + realm + "\"");
  std::string scope = challenge->parameters["scope"];
  if (scope.empty()) scope = "repository:" + image_.repository + ":pull";
  std::string url = realm + (realm.find('?') == std::string::npos ? "?" : "&") +
                    "scope=" + net::url_encode(scope);
  if (const std::string& service = challenge->parameters["service"]; !service.empty())
    url += "&service=" + net::url_encode(service);
  std::vector<std::string> headers;
  if (known) headers.push_back("Authorization: " + basic_authorization(*login_));
  std::string body;
  Answer answer = TRY(perform(endpoint, url, headers, [&](std::string_view piece) {
    body += piece;
    return body.size() < kLargestManifest;
  }));
  if (answer.status != kOk)
    return fail(Code::unauthorized, "failed to authorize: failed to fetch " +
                                        std::string(known ? "oauth" : "anonymous") +
                                        " token: unexpected status from GET request to " + url +
                                        ": " + std::to_string(answer.status));
  json::Value token = TRY(json::parse(body));
  std::string_view text = json::string_at(token, {"token"});
  if (text.empty()) text = json::string_at(token, {"access_token"});
  if (text.empty() || text.find_first_of("\r\n") != std::string_view::npos)
    return fail(Code::unauthorized, "failed to authorize: authorization server did not include a "
                                    "token in the response");
  return "Bearer " + std::string(text);
}

Result<RegistrySession::Answer> RegistrySession::get_from(const Endpoint& endpoint,
                                                          const std::string& path, bool manifests,
                                                          const Sink& sink) {
  const std::string url = endpoint.base + "/v2/" + image_.repository + path;
  for (bool again : {false, true}) {
    std::vector<std::string> headers;
    if (manifests)
      for (const char* type : kManifestTypes) headers.push_back(std::string("Accept: ") + type);
    if (auto known = authorization_.find(endpoint.base); known != authorization_.end())
      headers.push_back("Authorization: " + known->second);
    Answer answer = TRY(perform(endpoint, url, headers, sink));
    if (answer.status == kOk) return answer;
    if (answer.status == kUnauthorized && !again && !answer.challenge.empty()) {
      authorization_[endpoint.base] = TRY(authorize(endpoint, answer.challenge));
      continue;
    }
    if (answer.status == kNotFound) return fail(Code::not_found, "not found");
    if (answer.status == kUnauthorized || answer.status == kForbidden)
      return fail(Code::unauthorized,
                  "pull access denied, repository does not exist or may require authorization: "
                  "server message: " +
                      (answer.error_body.empty() ? "insufficient_scope: authorization failed"
                                                 : answer.error_body));
    return fail(Code::unavailable, "unexpected status from GET request to " + url + ": " +
                                       std::to_string(answer.status));
  }
  return fail(Code::unauthorized, "authorization failed");
}

// A mirror that fails in whatever way is passed over, unless part of the answer has been taken.
Result<RegistrySession::Answer> RegistrySession::get(const std::string& path, bool manifests,
                                                     const Sink& sink) {
  bool begun = false;
  Sink noting = [&](std::string_view piece) {
    begun = true;
    return sink(piece);
  };
  for (std::size_t i = 0; i + 1 < endpoints_.size(); ++i) {
    Result<Answer> answer = get_from(endpoints_[i], path, manifests, noting);
    if (answer || begun) return answer;
  }
  return get_from(endpoints_.back(), path, manifests, noting);
}

Result<FetchedManifest> RegistrySession::manifest(const std::string& wanted) {
  FetchedManifest out;
  TRY(get("/manifests/" + wanted, true, [&](std::string_view piece) {
    out.text += piece;
    return out.text.size() <= kLargestManifest;
  }));
  out.digest = "sha256:" + sha256_hex(out.text);
  if (is_sha256_digest(wanted) && out.digest != wanted)
    return fail(Code::invalid, "manifest " + wanted + " has the digest " + out.digest);
  return out;
}

Result<void> RegistrySession::blob(const BlobDescriptor& blob, const std::string& path) {
  FileDescriptor file(
      ::open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) return errno_error("create " + path);
  Sha256 digest;
  std::int64_t size = 0;
  int failure = 0;
  auto keep = [&](std::string_view piece) {
    digest.add(piece);
    size += static_cast<std::int64_t>(piece.size());
    if (size > blob.size) return false;
    while (!piece.empty()) {
      ssize_t n = ::write(file.get(), piece.data(), piece.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) {
        failure = errno;
        return false;
      }
      piece.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
  };
  Result<Answer> answer = get("/blobs/" + blob.digest, false, keep);
  if (failure != 0) return errno_error("write " + path, failure);
  std::string found = "sha256:" + digest.finish_hex();
  if (size > blob.size || (answer && (size != blob.size || found != blob.digest)))
    return fail(Code::invalid, "failed commit on ref \"" + blob.digest + "\": " +
                                   (size != blob.size ? "unexpected size" : "unexpected digest"));
  if (!answer) return std::unexpected(answer.error());
  return {};
}

}  // namespace hekla::agent
