#include "agent/image/registry/registry.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

#include "agent/os/file_descriptor.h"
#include "base/bytes.h"
#include "base/crypto.h"
#include "base/digest.h"
#include "json/parse.h"
#include "net/http.h"

namespace hekla::agent {
namespace {

constexpr std::size_t kLargestManifest = 4 << 20;
constexpr long kOk = 200, kPartial = 206, kUnauthorized = 401, kForbidden = 403, kNotFound = 404,
               kBadRange = 416, kTooMany = 429, kServerError = 500;
constexpr int kMostRetries = 4, kMostResumptions = 5;
constexpr std::chrono::seconds kLongestWait{30};
constexpr std::chrono::milliseconds kPauseSlice{100};

std::string host_part(const std::string& registry) {
  if (registry.starts_with('[')) return registry.substr(0, registry.find(']') + 1);
  return registry.substr(0, registry.rfind(':'));
}

bool is_loopback(const std::string& registry) {
  std::string host = host_part(registry);
  return host == "localhost" || host == "[::1]" || host.starts_with("127.");
}

std::string host_of_url(const std::string& url) {
  std::size_t begin = url.find("://") + 3;
  return url.substr(begin, url.find('/', begin) - begin);
}

std::string basic_authorization(const RegistryLogin& login) {
  return "Basic " + base64_encode(login.user + ":" + login.password);
}

// Seconds, in the registry's word; dates are not taken up.
std::chrono::milliseconds wait_time(const HttpReply& reply, std::chrono::milliseconds otherwise) {
  const std::string text = reply.header("retry-after");
  long seconds = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), seconds).ec == std::errc{} &&
      seconds >= 0)
    return std::min<std::chrono::milliseconds>(std::chrono::seconds(seconds), kLongestWait);
  return std::min<std::chrono::milliseconds>(otherwise, kLongestWait);
}

// The registry's own explanation, or the beginning of what it said.
std::string server_message(const HttpReply& reply) {
  if (Result<json::Value> body = json::parse(reply.error_body))
    if (const json::Array* errors = json::array_at(*body, {"errors"}); errors && !errors->empty()) {
      std::string code(json::string_at(errors->front(), {"code"}));
      return code + ": " + std::string(json::string_at(errors->front(), {"message"}));
    }
  return reply.error_body;
}

std::unexpected<Error> unexpected_status(const HttpRequest& request, const HttpReply& reply) {
  std::string why = server_message(reply);
  return fail(Code::unavailable, "unexpected status from " + request.method + " request to " +
                                     request.url + ": " + std::to_string(reply.status) +
                                     (why.empty() ? "" : ": " + why));
}

std::unexpected<Error> refused(const HttpRequest& request, const HttpReply& reply) {
  if (reply.status == kNotFound) return fail(Code::not_found, "not found");
  if (reply.status != kUnauthorized && reply.status != kForbidden)
    return unexpected_status(request, reply);
  std::string why = server_message(reply);
  const char* access = request.method == "GET" ? "pull" : "push";
  return fail(Code::unauthorized,
              std::string(access) +
                  " access denied, repository does not exist or may require authorization: "
                  "server message: " +
                  (why.empty() ? "insufficient_scope: authorization failed" : why));
}

Result<std::map<std::string, std::string>> parse_pairs(const std::vector<std::string>& entries,
                                                       const std::string& what,
                                                       const std::string& form) {
  std::map<std::string, std::string> out;
  for (const std::string& entry : entries) {
    std::size_t equals = entry.find('=');
    if (equals == 0 || equals == std::string::npos || equals + 1 == entry.size())
      return fail(Code::bad_request, what + " \"" + entry + "\": expected " + form);
    out[entry.substr(0, equals)] = entry.substr(equals + 1);
  }
  return out;
}

}  // namespace

bool is_insecure(const RegistryOptions& options, const std::string& registry) {
  return (is_loopback(registry) && !options.authorities.contains(registry)) ||
         std::ranges::find(options.insecure, registry) != options.insecure.end();
}

Result<std::map<std::string, std::string>> parse_mirrors(const std::vector<std::string>& entries) {
  const std::string form = "HOST=URL with http:// or https://";
  std::map<std::string, std::string> out = TRY(parse_pairs(entries, "registry mirror", form));
  for (auto& [host, url] : out) {
    if (!url.starts_with("http://") && !url.starts_with("https://"))
      return fail(Code::bad_request,
                  "registry mirror \"" + host + "=" + url + "\": expected " + form);
    while (url.ends_with('/')) url.pop_back();
  }
  return out;
}

Result<std::map<std::string, std::string>> parse_authorities(
    const std::vector<std::string>& entries) {
  std::map<std::string, std::string> out =
      TRY(parse_pairs(entries, "registry authority", "HOST=FILE"));
  for (const auto& [host, file] : out)
    if (::access(file.c_str(), R_OK) != 0)
      return errno_error("registry authority of " + host + ": read " + file);
  return out;
}

RegistrySession::RegistrySession(const RegistryOptions& options, ImageReference image,
                                 std::optional<RegistryLogin> login)
    : image_(std::move(image)),
      login_(std::move(login)),
      retry_delay_(options.retry_delay),
      cancelled_(options.cancelled),
      own_ranges_(options.own_ranges) {
  auto authority = [&](const std::string& host) {
    auto found = options.authorities.find(host);
    return found == options.authorities.end() ? std::string() : found->second;
  };
  if (auto mirror = options.mirrors.find(image_.registry); mirror != options.mirrors.end())
    endpoints_.push_back({mirror->second, mirror->second.starts_with("https://"), false,
                          authority(host_of_url(mirror->second))});
  bool secure = !is_insecure(options, image_.registry);
  std::string host = image_.registry == "docker.io" ? "registry-1.docker.io" : image_.registry;
  endpoints_.push_back(
      {(secure ? "https://" : "http://") + host, secure, true, authority(image_.registry)});
}

HttpRequest RegistrySession::request_to(const Endpoint& endpoint, std::string method,
                                        std::string url) const {
  HttpRequest request;
  request.method = std::move(method);
  request.url = std::move(url);
  request.plain_allowed = !endpoint.secure;
  request.no_proxy = is_loopback(host_of_url(endpoint.base));
  request.ca_file = endpoint.ca_file;
  request.cancelled = cancelled_;
  request.own_ranges = own_ranges_;
  return request;
}

std::string RegistrySession::url_of(const Endpoint& endpoint, const std::string& path) const {
  return endpoint.base + "/v2/" + image_.repository + path;
}

// The request that follows finds out why it was short.
void RegistrySession::pause_for(std::chrono::milliseconds time) const {
  for (; time.count() > 0 && !(cancelled_ && *cancelled_); time -= kPauseSlice)
    ::poll(nullptr, 0, static_cast<int>(std::min(time, kPauseSlice).count()));
}

Result<HttpReply> RegistrySession::call_with_retries(const HttpRequest& request) const {
  std::chrono::milliseconds delay = retry_delay_;
  for (int attempt = 0;; ++attempt) {
    HttpReply reply = TRY(http_transfer(request));
    bool passing = reply.status == kTooMany || reply.status >= kServerError;
    if (!passing || attempt == kMostRetries) return reply;
    pause_for(wait_time(reply, delay));
    delay *= 2;
  }
}

Result<HttpReply> RegistrySession::call(const Endpoint& endpoint, const HttpRequest& request) {
  for (bool again : {false, true}) {
    HttpRequest one = request;
    if (auto known = authorization_.find(endpoint.base); known != authorization_.end())
      one.headers.push_back("Authorization: " + known->second);
    HttpReply reply = TRY(call_with_retries(one));
    if (reply.status != kUnauthorized || again || reply.header("www-authenticate").empty())
      return reply;
    authorization_[endpoint.base] = TRY(authorize(endpoint, reply));
  }
  return fail(Code::unauthorized, "authorization failed");
}

// The login goes to the registry itself and to the token server it names, never to a mirror.
Result<std::string> RegistrySession::authorize(const Endpoint& endpoint, const HttpReply& refused) {
  auto [from, to] = refused.headers.equal_range("www-authenticate");
  for (auto header = from; header != to; ++header) {
    std::optional<AuthChallenge> challenge = parse_challenge(header->second);
    if (!challenge) continue;
    if (challenge->scheme == "bearer") return fetch_token(endpoint, std::move(*challenge));
    if (login_ && endpoint.own) return basic_authorization(*login_);
    return fail(Code::unauthorized, "authorization failed: no basic auth credentials");
  }
  return fail(Code::unauthorized, "authorization failed: no known scheme");
}

Result<std::string> RegistrySession::fetch_token(const Endpoint& endpoint,
                                                 AuthChallenge challenge) {
  const bool known = login_ && endpoint.own;
  std::string realm = challenge.parameters["realm"];
  if (!realm.starts_with("https://") && !(realm.starts_with("http://") && !endpoint.secure))
    return fail(Code::unauthorized, "authorization failed: token realm \"" + realm + "\"");
  std::string scopes = challenge.parameters["scope"];
  if (scopes.empty() && !image_.repository.empty())
    scopes = "repository:" + image_.repository + ":pull";
  std::string url = realm;
  char separator = realm.find('?') == std::string::npos ? '?' : '&';
  auto add = [&](const std::string& name, const std::string& value) {
    url += std::exchange(separator, '&') + name + "=" + net::url_encode(value);
  };
  while (!scopes.empty()) {  // several are separated by blanks
    std::size_t blank = std::min(scopes.find(' '), scopes.size());
    if (blank > 0) add("scope", scopes.substr(0, blank));
    scopes.erase(0, blank + 1);
  }
  if (const std::string& service = challenge.parameters["service"]; !service.empty())
    add("service", service);
  HttpRequest request = request_to(endpoint, "GET", url);
  if (known) request.headers.push_back("Authorization: " + basic_authorization(*login_));
  std::string body;
  request.sink = [&](long, std::string_view piece) {
    body += piece;
    return body.size() < kLargestManifest;
  };
  HttpReply reply = TRY(call_with_retries(request));
  if (reply.status != kOk)
    return fail(Code::unauthorized, "failed to authorize: failed to fetch " +
                                        std::string(known ? "oauth" : "anonymous") +
                                        " token: unexpected status from GET request to " + url +
                                        ": " + std::to_string(reply.status));
  json::Value token = TRY(json::parse(body));
  std::string_view text = json::string_at(token, {"token"});
  if (text.empty()) text = json::string_at(token, {"access_token"});
  if (text.empty() || text.find_first_of("\r\n") != std::string_view::npos)
    return fail(Code::unauthorized,
                "failed to authorize: authorization server did not include a "
                "token in the response");
  return "Bearer " + std::string(text);
}

Result<void> RegistrySession::check_login() {
  const Endpoint& endpoint = endpoints_.back();
  HttpRequest request = request_to(endpoint, "GET", endpoint.base + "/v2/");
  HttpReply reply = TRY(call(endpoint, request));
  if (reply.ok()) return {};
  if (reply.status == kUnauthorized || reply.status == kForbidden)
    return fail(Code::unauthorized, "unauthorized: incorrect username or password");
  return unexpected_status(request, reply);
}

Result<FetchedManifest> RegistrySession::manifest_from(const Endpoint& endpoint,
                                                       const std::string& wanted) {
  FetchedManifest out;
  HttpRequest request = request_to(endpoint, "GET", url_of(endpoint, "/manifests/" + wanted));
  for (const char* type : kManifestTypes) request.headers.push_back(std::string("Accept: ") + type);
  request.sink = [&](long, std::string_view piece) {
    out.text += piece;
    return out.text.size() <= kLargestManifest;
  };
  HttpReply reply = TRY(call(endpoint, request));
  if (reply.status != kOk) return refused(request, reply);
  out.digest = "sha256:" + sha256_hex(out.text);
  if (is_sha256_digest(wanted) && out.digest != wanted)
    return fail(Code::invalid, "manifest " + wanted + " has the digest " + out.digest);
  return out;
}

// A mirror that fails in whatever way is passed over.
Result<FetchedManifest> RegistrySession::manifest(const std::string& wanted) {
  for (std::size_t i = 0; i + 1 < endpoints_.size(); ++i)
    if (Result<FetchedManifest> found = manifest_from(endpoints_[i], wanted)) return found;
  return manifest_from(endpoints_.back(), wanted);
}

Result<void> RegistrySession::blob(const BlobDescriptor& blob, const std::string& path) {
  for (std::size_t i = 0; i + 1 < endpoints_.size(); ++i)
    if (blob_from(endpoints_[i], blob, path)) return {};
  return blob_from(endpoints_.back(), blob, path);
}

// A file that grows while a blob arrives, with the digest of all that is in it.
struct RegistrySession::Download {
  explicit Download(const std::string& path) : path(path) {}
  std::string path;
  FileDescriptor file;
  std::unique_ptr<Digest> digest = std::make_unique<Digest>();
  std::int64_t size = 0;
  int failure = 0;

  // Takes up what is there already.
  Result<void> open() {
    file = FileDescriptor(::open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!file) return errno_error("create " + path);
    char buffer[1 << 16];
    while (true) {
      ssize_t n = ::read(file.get(), buffer, sizeof buffer);
      if (n < 0) return errno_error("read " + path);
      if (n == 0) return {};
      digest->add({buffer, static_cast<std::size_t>(n)});
      size += n;
    }
  }
  Result<void> restart() {
    if (::ftruncate(file.get(), 0) != 0 || ::lseek(file.get(), 0, SEEK_SET) != 0)
      return errno_error("truncate " + path);
    digest = std::make_unique<Digest>();
    size = 0;
    return {};
  }
  bool add(std::string_view piece) {
    digest->add(piece);
    size += static_cast<std::int64_t>(piece.size());
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
  }
};

// Fetches the missing part of a blob, as far as it comes: the status of a transfer that was not
// broken off.
Result<long> RegistrySession::fetch_piece(const Endpoint& endpoint, const BlobDescriptor& blob,
                                          Download& download) {
  HttpRequest request = request_to(endpoint, "GET", url_of(endpoint, "/blobs/" + blob.digest));
  const std::int64_t from = download.size;
  if (from > 0) request.headers.push_back("Range: bytes=" + std::to_string(from) + "-");
  bool begun = false;
  request.sink = [&](long status, std::string_view piece) {
    // A registry that knows no ranges begins at the beginning.
    if (!std::exchange(begun, true) && status != kPartial && from > 0 && !download.restart())
      return false;
    if (download.size + static_cast<std::int64_t>(piece.size()) <= blob.size)
      return download.add(piece);
    download.size = blob.size + 1;
    return false;
  };
  HttpReply reply = TRY(call(endpoint, request));
  if (reply.status == kBadRange && from > 0) return kBadRange;
  if (reply.status != kOk && reply.status != kPartial) {
    Error error = refused(request, reply).error();
    // Tried less often than a torn transfer.
    if (error.code == Code::unavailable) error.code = Code::internal;
    return std::unexpected(std::move(error));
  }
  return reply.status;
}

Result<void> RegistrySession::blob_from(const Endpoint& endpoint, const BlobDescriptor& blob,
                                        const std::string& path) {
  Download download(path + ".partial");
  TRY(download.open());
  const bool resumed = download.size > 0;
  if (download.size > blob.size) TRY(download.restart());
  bool whole = resumed && download.size == blob.size, arrived = false;
  std::chrono::milliseconds delay = retry_delay_;
  for (int breaks = 0; !whole;) {
    const std::int64_t from = download.size;
    Result<long> status = fetch_piece(endpoint, blob, download);
    if (download.failure != 0) return errno_error("write " + download.path, download.failure);
    if (!status && status.error().code != Code::unavailable) return std::unexpected(status.error());
    if (status && *status == kBadRange) {
      TRY(download.restart());
      continue;
    }
    whole = status || download.size > blob.size;
    if (whole) break;
    // Torn: as long as something arrives it is worth going on.
    arrived = arrived || download.size > from;
    breaks = download.size > from ? 1 : breaks + 1;
    if (download.size > from) delay = retry_delay_;
    if (!arrived || breaks > kMostResumptions || (cancelled_ && *cancelled_))
      return std::unexpected(status.error());
    pause_for(delay);
    delay = std::min<std::chrono::milliseconds>(delay * 2, kLongestWait);
  }
  std::string found = "sha256:" + download.digest->finish_hex();
  if (download.size != blob.size || found != blob.digest) {
    ::unlink(download.path.c_str());
    // The part that an earlier process left may have been damaged: once more from the beginning.
    if (resumed) return blob_from(endpoint, blob, path);
    return fail(Code::invalid,
                "failed commit on ref \"" + blob.digest + "\": " +
                    (download.size != blob.size ? "unexpected size" : "unexpected digest"));
  }
  if (::rename(download.path.c_str(), path.c_str()) != 0)
    return errno_error("rename " + download.path);
  return {};
}

Result<void> RegistrySession::push_blob(const BlobDescriptor& blob, const std::string& path,
                                        const std::string& other_repository) {
  const Endpoint& endpoint = endpoints_.back();
  HttpReply there =
      TRY(call(endpoint, request_to(endpoint, "HEAD", url_of(endpoint, "/blobs/" + blob.digest))));
  if (there.ok()) return {};
  std::string url = url_of(endpoint, "/blobs/uploads/");
  if (!other_repository.empty())
    url += "?mount=" + net::url_encode(blob.digest) + "&from=" + net::url_encode(other_repository);
  std::chrono::milliseconds delay = retry_delay_;
  for (int attempt = 0;; ++attempt) {
    HttpRequest begin = request_to(endpoint, "POST", url);
    HttpReply begun = TRY(call(endpoint, begin));
    if (begun.status == 201) return {};  // it was elsewhere in the registry
    if (begun.status != 202) return refused(begin, begun);
    Result<void> sent = upload(endpoint, begun.header("location"), blob, path);
    if (sent || sent.error().code != Code::unavailable || attempt == kMostRetries) return sent;
    pause_for(delay);
    delay *= 2;
  }
}

Result<void> RegistrySession::upload(const Endpoint& endpoint, const std::string& location,
                                     const BlobDescriptor& blob, const std::string& path) {
  std::string url = location;
  if (url.starts_with('/')) url = endpoint.base.substr(0, endpoint.base.find('/', 8)) + url;
  if (!url.starts_with("http://") && !url.starts_with("https://"))
    return fail(Code::invalid, "the registry names no place for an upload");
  url +=
      (url.find('?') == std::string::npos ? "?digest=" : "&digest=") + net::url_encode(blob.digest);
  FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return errno_error("open " + path);
  HttpRequest request = request_to(endpoint, "PUT", url);
  request.headers.emplace_back("Content-Type: application/octet-stream");
  request.body_fd = file.get();
  request.body_size = blob.size;
  // The login is for the registry's own host.
  HttpReply reply = host_of_url(url) == host_of_url(endpoint.base)
                        ? TRY(call(endpoint, request))
                        : TRY(call_with_retries(request));
  if (reply.status == 201 || reply.status == 204) return {};
  return refused(request, reply);
}

Result<void> RegistrySession::push_manifest(const std::string& text, const std::string& type) {
  const Endpoint& endpoint = endpoints_.back();
  HttpRequest request =
      request_to(endpoint, "PUT", url_of(endpoint, "/manifests/" + image_.wanted()));
  request.headers.push_back("Content-Type: " + type);
  request.body = text;
  HttpReply reply = TRY(call(endpoint, request));
  if (reply.status != 201 && reply.status != 200) return refused(request, reply);
  const std::string digest = "sha256:" + sha256_hex(text);
  if (const std::string said = reply.header("docker-content-digest");
      !said.empty() && said != digest)
    return fail(Code::invalid, "the registry took the manifest " + digest + " for " + said);
  return {};
}

}  // namespace hekla::agent
