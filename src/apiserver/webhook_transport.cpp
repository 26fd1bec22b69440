#include <mutex>

#include "apiserver/webhooks.h"
#include "net/client.h"

namespace hekla::apiserver {
namespace {

class HttpsTransport final : public WebhookTransport {
 public:
  void send(WebhookCall call, std::function<void(Result<net::Response>)> done) override {
    Result<net::Client*> client = client_for(call);
    if (!client) return done(std::unexpected(client.error()));
    net::ClientRequest request;
    request.method = "POST";
    request.url = call.url;
    request.headers.add("Content-Type", "application/json");
    request.headers.add("Accept", "application/json, */*");
    request.body = std::move(call.body);
    request.timeout = call.timeout;
    request.max_body_bytes = std::size_t{8} << 20;
    (*client)->send(std::move(request), std::move(done));
  }

 private:
  Result<net::Client*> client_for(const WebhookCall& call) {
    std::lock_guard lock(mutex_);
    std::unique_ptr<net::Client>& client = clients_[{call.ca_pem, call.server_name}];
    if (!client) {
      net::ClientOptions options;
      options.ca_pem = call.ca_pem;
      options.tls_server_name = call.server_name;
      Result<std::unique_ptr<net::Client>> made = net::Client::make(std::move(options));
      if (!made) return std::unexpected(made.error());
      client = std::move(*made);
    }
    return client.get();
  }

  std::mutex mutex_;
  std::map<std::pair<std::string, std::string>, std::unique_ptr<net::Client>> clients_;
};

}  // namespace

std::unique_ptr<WebhookTransport> make_webhook_transport() { return std::make_unique<HttpsTransport>(); }

}  // namespace hekla::apiserver
