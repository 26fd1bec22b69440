#include "net/local_clients.h"

#include <map>
#include <mutex>

#include "base/check.h"
#include "net/wire/io_thread.h"
#include "net/wire/tls.h"

namespace hekla::net {
namespace {

class ClientsOfThreads final : public LocalClients {
 public:
  explicit ClientsOfThreads(ClientOptions options) : options_(std::move(options)) {}
  ~ClientsOfThreads() override {
    CHECK(IoThread::current() == nullptr, "whoever waits for net threads is on none");
  }

  Client& here() override {
    IoThread* const thread = IoThread::current();
    CHECK(thread != nullptr, "a local client is asked for on a net thread");
    std::lock_guard lock(mutex_);
    std::unique_ptr<Client>& client = clients_[thread];
    if (!client) {
      Result<std::unique_ptr<Client>> made = Client::make_on(thread->shared_from_this(), options_);
      CHECK(made.has_value(), "the options have been tried");
      client = std::move(*made);
    }
    return *client;
  }

 private:
  const ClientOptions options_;
  std::mutex mutex_;
  std::map<IoThread*, std::unique_ptr<Client>> clients_;
};

}  // namespace

Result<std::unique_ptr<LocalClients>> LocalClients::make(ClientOptions options) {
  TRY(make_client_context({options.ca_pem, options.certificate, options.insecure_skip_verify}));
  return std::make_unique<ClientsOfThreads>(std::move(options));
}

}  // namespace hekla::net
