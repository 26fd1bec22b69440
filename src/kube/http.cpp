#include "kube/http.h"

#include "net/client.h"

namespace hekla::kube {

namespace {

constexpr std::size_t kLargestAnswer = 64u << 20;

net::ClientRequest request_of(HttpCall call) {
  net::ClientRequest request;
  request.method = std::move(call.method);
  request.url = std::move(call.url);
  if (!call.body.empty()) request.headers.set("Content-Type", "application/json");
  request.headers.set("Accept", "application/json");
  request.body = std::move(call.body);
  request.timeout = call.timeout;
  request.max_body_bytes = kLargestAnswer;
  return request;
}

Result<HttpAnswer> answer_of(Result<net::Response> response) {
  if (!response) return std::unexpected(response.error());
  return HttpAnswer{response->status, std::move(response->body)};
}

class NetHttp final : public Http {
 public:
  explicit NetHttp(std::unique_ptr<net::Client> client) : client_(std::move(client)) {}
  void send(HttpCall call, Executor& executor,
            std::function<void(Result<HttpAnswer>)> done) override {
    client_->send(request_of(std::move(call)), [&executor, done = std::move(done)](
                                                   Result<net::Response> response) {
      executor.post([done, answer = answer_of(std::move(response))] { done(answer); });
    });
  }
  Result<HttpAnswer> fetch(HttpCall call) override {
    return answer_of(client_->fetch(request_of(std::move(call))));
  }

 private:
  std::unique_ptr<net::Client> client_;
};

}  // namespace

Result<std::unique_ptr<Http>> make_http(bool insecure) {
  net::ClientOptions options;
  options.insecure_skip_verify = insecure;
  return std::make_unique<NetHttp>(TRY(net::Client::make(std::move(options))));
}

}  // namespace hekla::kube
