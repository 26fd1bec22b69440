#include <atomic>
#include <map>
#include <mutex>

#include "apiserver/gates/webhooks.h"
#include "base/check.h"
#include "net/client.h"

namespace hekla::apiserver {
namespace {

constexpr std::size_t kMaxClients = 32;

class HttpsTransport final : public WebhookTransport {
 public:
  HttpsTransport(net::OpenSocket pod_socket, net::OwnRanges own)
      : pod_socket_(std::move(pod_socket)), own_(std::move(own)) {}
  void send(WebhookCall call, std::function<void(Result<net::Response>)> done) override {
    CHECK(!call.url.empty() && done, "a call has an address and somebody who waits");
    Result<Entry*> entry = entry_for(call);
    if (!entry) return done(std::unexpected(entry.error()));
    net::ClientRequest request;
    request.method = "POST";
    request.url = call.url;
    request.headers.add("Content-Type", "application/json");
    request.headers.add("Accept", "application/json, */*");
    request.body = std::move(call.body);
    request.timeout = call.timeout;
    request.max_body_bytes = std::size_t{8} << 20;
    (*entry)->client->send(
        std::move(request),
        [under_way = &(*entry)->under_way, done = std::move(done)](Result<net::Response> response) {
          done(std::move(response));
          CHECK(*under_way > 0, "a call ends once");
          --*under_way;
        });
  }

 private:
  using Key = std::tuple<std::string, std::string,
                         bool>;  // certificate authority, server name, in the pods' network
  struct Entry {
    std::unique_ptr<net::Client> client;
    std::atomic<int> under_way{0};
    std::uint64_t used = 0;
  };

  // Counted as under way from here on, so that nobody drops it meanwhile.
  Result<Entry*> entry_for(const WebhookCall& call) {
    std::lock_guard lock(mutex_);
    std::unique_ptr<Entry>& entry = clients_[{call.ca_pem, call.server_name, call.to_pod}];
    if (!entry) {
      net::ClientOptions options;
      options.ca_pem = call.ca_pem;
      options.tls_server_name = call.server_name;
      if (call.to_pod) options.open_socket = pod_socket_;
      options.own_ranges = own_;
      Result<std::unique_ptr<net::Client>> made = net::Client::make(std::move(options));
      if (!made) {
        clients_.erase({call.ca_pem, call.server_name, call.to_pod});
        return std::unexpected(made.error());
      }
      entry = std::make_unique<Entry>();
      entry->client = std::move(*made);
    }
    entry->used = ++calls_;
    ++entry->under_way;
    Entry* const found = entry.get();
    if (clients_.size() > kMaxClients) drop_oldest();
    return found;
  }

  // Authorities are renewed for ever; the client of one that nobody names any more goes.
  void drop_oldest() {
    auto oldest = clients_.end();
    for (auto one = clients_.begin(); one != clients_.end(); ++one)
      if (one->second->under_way == 0 &&
          (oldest == clients_.end() || one->second->used < oldest->second->used))
        oldest = one;
    if (oldest != clients_.end()) clients_.erase(oldest);
  }

  const net::OpenSocket pod_socket_;
  const net::OwnRanges own_;
  std::mutex mutex_;
  std::uint64_t calls_ = 0;
  std::map<Key, std::unique_ptr<Entry>> clients_;
};

}  // namespace

std::unique_ptr<WebhookTransport> make_webhook_transport(net::OpenSocket pod_socket,
                                                         net::OwnRanges own) {
  return std::make_unique<HttpsTransport>(std::move(pod_socket), std::move(own));
}

}  // namespace hekla::apiserver
