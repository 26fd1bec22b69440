#include "agent/probes/probe_run.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <memory>
#include <system_error>

#include "base/clock.h"

namespace hekla::agent {
namespace {

constexpr std::size_t kMaxOutput = 10 * 1024;
constexpr long kFirstBadStatus = 400, kFirstGoodStatus = 200;
constexpr char kServing = 1;  // grpc.health.v1.HealthCheckResponse.ServingStatus

int milliseconds(Nanos time) {
  return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(time).count());
}

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : " ") + word;
  return out;
}

// Reads until the process has ended, or time is up.
Result<ProbeOutcome> run_exec(const ProbeAction& action, const ProbeTarget& target) {
  ExecSpec spec{action.command, false, true, true, false};
  StartedExec started = TRY(start_exec(target.exec, spec));
  MonoTime end = real_clock().mono() + action.timeout;
  std::string output;
  bool out_open = true, err_open = true, timed_out = false;
  while (true) {
    std::array<pollfd, 3> waiting{{{started.process.get(), POLLIN, 0},
                                   {out_open ? started.out.get() : -1, POLLIN, 0},
                                   {err_open ? started.err.get() : -1, POLLIN, 0}}};
    Nanos left = end - real_clock().mono();
    if (left <= Nanos(0)) {
      timed_out = true;
      kill_exec(started);
      break;
    }
    if (::poll(waiting.data(), waiting.size(), milliseconds(left)) < 0 && errno != EINTR) break;
    auto take = [&](const pollfd& ready, bool& open) {
      if (ready.revents == 0) return;
      char buffer[4096];
      ssize_t n = ::read(ready.fd, buffer, sizeof buffer);
      if (n <= 0) open = false;
      if (n > 0 && output.size() < kMaxOutput) output.append(buffer, static_cast<std::size_t>(n));
    };
    take(waiting[1], out_open);
    take(waiting[2], err_open);
    // Output written before the end is still in the pipes.
    if (waiting[0].revents != 0 && waiting[1].revents == 0 && waiting[2].revents == 0) break;
  }
  Result<int> code = end_exec(started);
  if (timed_out)
    return ProbeOutcome{false, "command timed out: \"" + joined(action.command) +
                                   "\" timed out after " +
                                   std::to_string(action.timeout.count() / 1'000'000'000) + "s"};
  if (!code) return ProbeOutcome{false, code.error().message};
  return ProbeOutcome{*code == 0, std::move(output)};
}

// A socket of the pod's, wherever the target is; hosts outside are dialled by the host's own rules.
Result<FileDescriptor> probe_socket(const ProbeTarget& target, PodNetwork& network,
                                    const sockaddr* address) {
  if (!target.host_network) return network.socket_in_pod(target.pod_uid, SOCK_STREAM);
  if (std::optional<std::string> refusal = target.own_ranges.refusal(address))
    return fail(Code::forbidden, *refusal);
  FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket) return errno_error("open a socket");
  return socket;
}

std::string connect_words(int error) {
  return error == ECONNREFUSED ? "connection refused" : std::generic_category().message(error);
}

Result<ProbeOutcome> run_tcp(const ProbeAction& action, const ProbeTarget& target,
                             PodNetwork& network) {
  const std::string host = action.host.empty() ? target.pod_ip : action.host;
  const std::string name = host + ":" + std::to_string(action.port);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(action.port);
  if (::inet_pton(AF_INET, host.c_str(), &address.sin_addr) != 1)
    return ProbeOutcome{false, "dial tcp: lookup " + host + ": not an IPv4 address"};
  Result<FileDescriptor> made =
      probe_socket(target, network, reinterpret_cast<sockaddr*>(&address));
  if (!made && made.error().code == Code::forbidden)
    return ProbeOutcome{false, "dial tcp " + name + ": " + made.error().message};
  FileDescriptor socket = TRY(std::move(made));
  ::fcntl(socket.get(), F_SETFL, O_NONBLOCK);
  int error = 0;
  if (::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
    error = errno;
  if (error == EINPROGRESS) {
    pollfd waiting{socket.get(), POLLOUT, 0};
    if (::poll(&waiting, 1, milliseconds(action.timeout)) == 0)
      return ProbeOutcome{false, "dial tcp " + name + ": i/o timeout"};
    socklen_t size = sizeof error;
    ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  }
  if (error == 0) return ProbeOutcome{true, ""};
  return ProbeOutcome{false, "dial tcp " + name + ": connect: " + connect_words(error)};
}

struct CurlFree {
  void operator()(CURL* curl) const { curl_easy_cleanup(curl); }
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using Curl = std::unique_ptr<CURL, CurlFree>;
using CurlList = std::unique_ptr<curl_slist, CurlFree>;

struct CurlCall {
  const ProbeTarget& target;
  PodNetwork& network;
  std::string body, refusal;
};

curl_socket_t open_curl_socket(void* user, curlsocktype, curl_sockaddr* address) {
  auto* call = static_cast<CurlCall*>(user);
  Result<FileDescriptor> socket = probe_socket(call->target, call->network, &address->addr);
  if (socket) return socket->release();
  call->refusal = socket.error().message;
  return CURL_SOCKET_BAD;
}

std::size_t keep_body(char* data, std::size_t size, std::size_t count, void* user) {
  auto* call = static_cast<CurlCall*>(user);
  if (call->body.size() < kMaxOutput) call->body.append(data, size * count);
  return size * count;
}

void add_header(CurlList& list, const std::string& line) {
  if (curl_slist* longer = curl_slist_append(list.get(), line.c_str())) {
    [[maybe_unused]] curl_slist* old = list.release();
    list.reset(longer);
  }
}

CURLcode perform(CURL* curl, CurlCall& call, const std::string& url, Nanos timeout) {
  curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_PROXY, "");
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, static_cast<long>(milliseconds(timeout)));
  curl_easy_setopt(curl, CURLOPT_SSL_VERIFYPEER, 0L);  // as the kubelet's probes
  curl_easy_setopt(curl, CURLOPT_SSL_VERIFYHOST, 0L);
  curl_easy_setopt(curl, CURLOPT_OPENSOCKETFUNCTION, open_curl_socket);
  curl_easy_setopt(curl, CURLOPT_OPENSOCKETDATA, &call);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, keep_body);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &call);
  return curl_easy_perform(curl);
}

std::string curl_words(CURL* curl, CURLcode code, const std::string& address,
                       const std::string& refusal) {
  if (!refusal.empty()) return "dial tcp " + address + ": " + refusal;
  if (code == CURLE_OPERATION_TIMEDOUT)
    return "context deadline exceeded (Client.Timeout exceeded while awaiting headers)";
  if (code != CURLE_COULDNT_CONNECT) return curl_easy_strerror(code);
  long number = 0;
  curl_easy_getinfo(curl, CURLINFO_OS_ERRNO, &number);
  return "dial tcp " + address +
         ": connect: " + connect_words(number == 0 ? ECONNREFUSED : static_cast<int>(number));
}

Result<ProbeOutcome> run_http(const ProbeAction& action, const ProbeTarget& target,
                              PodNetwork& network) {
  Curl curl(curl_easy_init());
  if (!curl) return fail(Code::internal, "out of memory");
  const std::string address =
      (action.host.empty() ? target.pod_ip : action.host) + ":" + std::to_string(action.port);
  const std::string url = action.scheme + "://" + address + action.path;
  CurlCall call{target, network, {}, {}};
  CurlList headers;
  add_header(headers, "User-Agent: kube-probe/1.34");
  for (const auto& [name, value] : action.headers) add_header(headers, name + ": " + value);
  curl_easy_setopt(curl.get(), CURLOPT_HTTPHEADER, headers.get());
  CURLcode code = perform(curl.get(), call, url, action.timeout);
  if (code != CURLE_OK)
    return ProbeOutcome{
        false, "Get \"" + url + "\": " + curl_words(curl.get(), code, address, call.refusal)};
  long status = 0;
  curl_easy_getinfo(curl.get(), CURLINFO_RESPONSE_CODE, &status);
  if (status >= kFirstGoodStatus && status < kFirstBadStatus) return ProbeOutcome{true, call.body};
  return ProbeOutcome{false, "HTTP probe failed with statuscode: " + std::to_string(status)};
}

// grpc.health.v1.Health/Check: one length-prefixed message each way over HTTP/2.
Result<ProbeOutcome> run_grpc(const ProbeAction& action, const ProbeTarget& target,
                              PodNetwork& network) {
  Curl curl(curl_easy_init());
  if (!curl) return fail(Code::internal, "out of memory");
  std::string message;
  if (!action.service.empty()) {
    message += '\x0a';  // field 1, a string
    message += static_cast<char>(std::min<std::size_t>(action.service.size(), 127));
    message += action.service.substr(0, 127);
  }
  std::string body(4, '\0');
  body += static_cast<char>(message.size());
  body += message;
  const std::string address = target.pod_ip + ":" + std::to_string(action.port);
  CurlCall call{target, network, {}, {}};
  CurlList headers;
  for (const char* line :
       {"Content-Type: application/grpc", "TE: trailers", "User-Agent: kube-probe/1.34"})
    add_header(headers, line);
  curl_easy_setopt(curl.get(), CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(curl.get(), CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE);
  curl_easy_setopt(curl.get(), CURLOPT_POSTFIELDSIZE, static_cast<long>(body.size()));
  curl_easy_setopt(curl.get(), CURLOPT_POSTFIELDS, body.data());
  CURLcode code = perform(curl.get(), call, "http://" + address + "/grpc.health.v1.Health/Check",
                          action.timeout);
  if (code == CURLE_OPERATION_TIMEDOUT)
    return ProbeOutcome{false, "timeout: failed to connect service \"" + address + "\" within " +
                                   std::to_string(action.timeout.count() / 1'000'000'000) +
                                   "s: context deadline exceeded"};
  if (code != CURLE_OK)
    return ProbeOutcome{false,
                        "error: this server does not implement the grpc health protocol "
                        "(grpc.health.v1.Health): " +
                            curl_words(curl.get(), code, address, call.refusal)};
  bool serving = call.body.size() == 7 && call.body[5] == '\x08' && call.body[6] == kServing;
  if (serving) return ProbeOutcome{true, "service healthy"};
  return ProbeOutcome{false, "service unhealthy (responded with \"NOT_SERVING\")"};
}

}  // namespace

Result<ProbeOutcome> run_probe(const ProbeAction& action, const ProbeTarget& target,
                               PodNetwork& network) {
  switch (action.kind) {
    case ProbeAction::Kind::exec:
      return run_exec(action, target);
    case ProbeAction::Kind::tcp:
      return run_tcp(action, target, network);
    case ProbeAction::Kind::http:
      return run_http(action, target, network);
    case ProbeAction::Kind::grpc:
      return run_grpc(action, target, network);
    case ProbeAction::Kind::sleep:
      break;
  }
  return fail(Code::internal, "a sleep needs no machine");
}

}  // namespace hekla::agent
