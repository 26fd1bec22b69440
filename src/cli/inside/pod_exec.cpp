#include "cli/inside/pod_exec.h"

#include <poll.h>

#include <cstdio>
#include <future>

#include "base/clock.h"
#include "base/environment.h"
#include "json/parse.h"
#include "net/url.h"
#include "net/websocket.h"

namespace hekla::cli {
namespace {

constexpr std::size_t kMaxMessageBytes = 16u << 20;
constexpr std::chrono::milliseconds kPause{300};
// The handshake's key; its answer is not checked, for TLS has told whose it is.
constexpr const char* kHandshakeKey = "aGVrbGEgaW5zaWRlIHBvZA==";

enum Channel : char { kOut = 1, kErr = 2, kStatus = 3 };

std::string exec_path(const PodCommand& command) {
  std::string path = "/api/v1/namespaces/" + net::url_encode(command.ns) + "/pods/" +
                     net::url_encode(command.pod) + "/exec?stdout=true&stderr=true";
  if (!command.container.empty()) path += "&container=" + net::url_encode(command.container);
  for (const std::string& word : command.words) path += "&command=" + net::url_encode(word);
  return path;
}

// The last message: a Status, with the exit code among its causes.
Result<int> exit_code_of(std::string_view status) {
  json::Value body = TRY(json::parse(status));
  if (json::string_at(body, {"status"}) == "Success") return 0;
  if (const json::Array* causes = json::array_at(body, {"details", "causes"}))
    for (const json::Value& cause : *causes)
      if (json::string_at(cause, {"reason"}) == "ExitCode")
        return std::atoi(std::string(json::string_at(cause, {"message"})).c_str());
  return fail(Code::internal, std::string(json::string_at(body, {"message"})));
}

// One exec: what the server sends is put together and passed on. Its calls come one at a time.
class Conversation {
 public:
  std::future<Result<int>> outcome() { return outcome_.get_future(); }

  void on_data(std::string_view data) {
    if (status != 101) {
      refusal_.append(data);
      return;
    }
    std::vector<net::WebSocketMessage> messages;
    Result<void> read = reader_.feed(data, messages);
    for (const net::WebSocketMessage& message : messages) take(message);
    if (!read) finish(std::unexpected(read.error()));
  }

  void on_end(const Result<void>& ended) {
    if (!ended) return finish(std::unexpected(ended.error()));
    if (status == 101) return finish(fail(Code::unavailable, "the connection was closed"));
    Result<json::Value> body = json::parse(refusal_);
    const std::string message(body ? json::string_at(*body, {"message"}) : std::string_view());
    finish(fail(Code::unavailable,
                message.empty() ? "the server answered " + std::to_string(status) : message));
  }

  int status = 0;

 private:
  void take(const net::WebSocketMessage& message) {
    if (message.opcode == net::WebSocketOpcode::close) return;
    if (message.payload.empty()) return;
    const std::string_view rest = std::string_view(message.payload).substr(1);
    if (message.payload[0] == kStatus) return finish(exit_code_of(rest));
    std::FILE* const to = message.payload[0] == kErr ? stderr : stdout;
    std::fwrite(rest.data(), 1, rest.size(), to);
    std::fflush(to);
  }

  void finish(Result<int> result) {
    if (!std::exchange(finished_, true)) outcome_.set_value(std::move(result));
  }

  net::WebSocketReader reader_{kMaxMessageBytes, net::WebSocketReader::From::server};
  std::promise<Result<int>> outcome_;
  std::string refusal_;
  bool finished_ = false;
};

}  // namespace

Result<std::unique_ptr<ApiSession>> open_session_in_pod() {
  const std::string host = environment_variable("KUBERNETES_SERVICE_HOST"),
                    port = environment_variable("KUBERNETES_SERVICE_PORT");
  if (host.empty() || port.empty())
    return fail(Code::unavailable, "KUBERNETES_SERVICE_HOST and _PORT are not set: this is no pod");
  return ApiSession::open(TRY(kube::in_cluster_access("https://" + host + ":" + port)));
}

Result<int> exec_in_pod(ApiSession& session, const PodCommand& command) {
  net::ClientRequest request;
  request.url = session.access().server + exec_path(command);
  request.timeout = std::chrono::milliseconds(0);
  request.headers.add("Connection", "Upgrade");
  request.headers.add("Upgrade", "websocket");
  request.headers.add("Sec-WebSocket-Version", "13");
  request.headers.add("Sec-WebSocket-Key", kHandshakeKey);
  request.headers.add("Sec-WebSocket-Protocol", "v5.channel.k8s.io, v4.channel.k8s.io");
  auto conversation = std::make_shared<Conversation>();
  std::future<Result<int>> outcome = conversation->outcome();
  net::StreamCallbacks callbacks;
  callbacks.on_head = [conversation](int status, const net::Headers&) {
    conversation->status = status;
  };
  callbacks.on_data = [conversation](std::string_view data) { conversation->on_data(data); };
  callbacks.on_end = [conversation](const Result<void>& ended) { conversation->on_end(ended); };
  std::unique_ptr<net::StreamHandle> handle =
      session.http().stream(std::move(request), std::move(callbacks));
  return outcome.get();
}

Result<void> wait_for_running(ApiSession& session, const std::string& ns,
                              const std::vector<std::string>& pods, std::chrono::seconds patience) {
  const auto end = real_clock().mono() + patience;
  for (const std::string& pod : pods) {
    std::printf("waiting for %s to run\n", pod.c_str());
    std::fflush(stdout);
    while (true) {
      Result<json::Value> found = session.call(
          "GET", "/api/v1/namespaces/" + net::url_encode(ns) + "/pods/" + net::url_encode(pod));
      if (found && json::string_at(*found, {"status", "phase"}) == "Running") break;
      if (real_clock().mono() >= end)
        return fail(Code::timeout, "the pod " + pod + " does not run" +
                                       (found ? "" : ": " + found.error().message));
      ::poll(nullptr, 0, static_cast<int>(kPause.count()));
    }
  }
  return {};
}

}  // namespace hekla::cli
