#include "agent/image/registry/http_transfer.h"

#include <curl/curl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

namespace hekla::agent {
namespace {

constexpr long kConnectSeconds = 30, kStallSeconds = 60, kSlowest = 1;  // bytes a second
constexpr long kMostRedirects = 10;
constexpr std::size_t kErrorBody = 512, kMostHeaders = 200;

struct CurlFree {
  void operator()(CURL* curl) const { curl_easy_cleanup(curl); }
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

struct Transfer {
  CURL* curl;
  const HttpRequest& request;
  HttpReply reply;
  std::int64_t sent = 0;
  std::string refusal;  // of an address
};

long status_of(CURL* curl) {
  long status = 0;
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
  return status;
}

std::size_t on_body(char* data, std::size_t size, std::size_t count, void* user) {
  auto* transfer = static_cast<Transfer*>(user);
  std::string_view piece(data, size * count);
  const long status = status_of(transfer->curl);
  if (status >= 200 && status < 300) {
    if (!transfer->request.sink) return piece.size();
    return transfer->request.sink(status, piece) ? piece.size() : 0;
  }
  std::string& kept = transfer->reply.error_body;
  kept += piece.substr(0, kErrorBody - std::min(kErrorBody, kept.size()));
  return piece.size();
}

std::size_t on_header(char* data, std::size_t size, std::size_t count, void* user) {
  auto* transfer = static_cast<Transfer*>(user);
  std::string_view line(data, size * count);
  if (line.starts_with("HTTP/")) {  // of a redirect's answer: only the last counts
    transfer->reply.headers.clear();
    transfer->reply.error_body.clear();
  }
  std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || transfer->reply.headers.size() >= kMostHeaders)
    return line.size();
  std::string name(line.substr(0, colon));
  for (char& c : name)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  std::string_view value = line.substr(colon + 1);
  constexpr std::string_view kBlank = " \t\r\n";
  value.remove_prefix(std::min(value.find_first_not_of(kBlank), value.size()));
  value = value.substr(0, value.find_last_not_of(kBlank) + 1);
  transfer->reply.headers.emplace(std::move(name), value);
  return line.size();
}

std::size_t on_send(char* buffer, std::size_t size, std::size_t count, void* user) {
  auto* transfer = static_cast<Transfer*>(user);
  const HttpRequest& request = transfer->request;
  std::size_t room = size * count;
  if (request.body_fd < 0) {
    std::string_view rest =
        std::string_view(request.body).substr(static_cast<std::size_t>(transfer->sent));
    rest = rest.substr(0, room);
    rest.copy(buffer, rest.size());
    transfer->sent += static_cast<std::int64_t>(rest.size());
    return rest.size();
  }
  ssize_t n = ::pread(request.body_fd, buffer, room, transfer->sent);
  if (n < 0) return CURL_READFUNC_ABORT;
  transfer->sent += n;
  return static_cast<std::size_t>(n);
}

// Asked about once a second, and with every piece: anything but 0 breaks off.
int on_progress(void* user, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  const HttpRequest& request = static_cast<Transfer*>(user)->request;
  return request.cancelled && *request.cancelled ? 1 : 0;
}

// Asked with every address that is about to be used, of redirects too.
curl_socket_t open_socket(void* user, curlsocktype, curl_sockaddr* address) {
  auto* transfer = static_cast<Transfer*>(user);
  if (std::optional<std::string> refusal = transfer->request.own_ranges.refusal(&address->addr)) {
    transfer->refusal = *refusal;
    return CURL_SOCKET_BAD;
  }
  return ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

void set_body(CURL* curl, Transfer& transfer) {
  const HttpRequest& request = transfer.request;
  const std::int64_t size =
      request.body_fd >= 0 ? request.body_size : static_cast<std::int64_t>(request.body.size());
  if (request.method == "PUT" || request.method == "PATCH") {
    curl_easy_setopt(curl, CURLOPT_UPLOAD, 1L);
    curl_easy_setopt(curl, CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(size));
  } else {
    curl_easy_setopt(curl, CURLOPT_POST, 1L);
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(size));
  }
  curl_easy_setopt(curl, CURLOPT_READFUNCTION, on_send);
  curl_easy_setopt(curl, CURLOPT_READDATA, &transfer);
  curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request.method.c_str());
}

std::string go_method(const std::string& method) {  // as Go's client names it in errors
  return method.substr(0, 1) + [&] {
    std::string rest = method.substr(1);
    for (char& c : rest) c = static_cast<char>(::tolower(static_cast<unsigned char>(c)));
    return rest;
  }();
}

}  // namespace

std::string HttpReply::header(const std::string& name) const {
  auto found = headers.find(name);
  return found == headers.end() ? std::string() : found->second;
}

Result<HttpReply> http_transfer(const HttpRequest& request) {
  std::unique_ptr<CURL, CurlFree> handle(curl_easy_init());
  if (!handle) return fail(Code::internal, "out of memory");
  CURL* curl = handle.get();
  std::unique_ptr<curl_slist, CurlFree> list;
  std::vector<std::string> headers = request.headers;
  headers.emplace_back("Expect:");  // no waiting for permission to send
  for (const std::string& header : headers) {
    curl_slist* longer = curl_slist_append(list.get(), header.c_str());
    if (!longer) return fail(Code::internal, "out of memory");
    [[maybe_unused]] curl_slist* old = list.release();
    list.reset(longer);
  }
  Transfer transfer{curl, request, {}, 0, {}};
  const char* protocols = request.plain_allowed ? "http,https" : "https";
  curl_easy_setopt(curl, CURLOPT_URL, request.url.c_str());
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, protocols);
  curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, protocols);
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, kStallSeconds);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, kSlowest);
  curl_easy_setopt(curl, CURLOPT_USERAGENT, "hekla");
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, list.get());
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &transfer);
  curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, on_header);
  curl_easy_setopt(curl, CURLOPT_HEADERDATA, &transfer);
  curl_easy_setopt(curl, CURLOPT_OPENSOCKETFUNCTION, open_socket);
  curl_easy_setopt(curl, CURLOPT_OPENSOCKETDATA, &transfer);
  curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, on_progress);
  curl_easy_setopt(curl, CURLOPT_XFERINFODATA, &transfer);
  curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
  if (request.no_proxy) curl_easy_setopt(curl, CURLOPT_PROXY, "");
  if (!request.ca_file.empty()) curl_easy_setopt(curl, CURLOPT_CAINFO, request.ca_file.c_str());
  if (request.method == "HEAD") curl_easy_setopt(curl, CURLOPT_NOBODY, 1L);
  if (request.method == "GET" || request.method == "HEAD") {
    curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 1L);
    curl_easy_setopt(curl, CURLOPT_MAXREDIRS, kMostRedirects);
  } else {
    set_body(curl, transfer);
  }
  CURLcode code = curl_easy_perform(curl);
  if (code != CURLE_OK)
    return fail(
        Code::unavailable,
        "failed to do request: " + go_method(request.method) + " \"" + request.url +
            "\": " + (transfer.refusal.empty() ? curl_easy_strerror(code) : transfer.refusal));
  transfer.reply.status = status_of(curl);
  return std::move(transfer.reply);
}

}  // namespace hekla::agent
