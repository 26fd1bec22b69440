#include "net/local_clients.h"

#include <vector>

#include "base/check.h"
#include "net/io_thread.h"

namespace hekla::net {
namespace {

class ClientsOfThreads final : public LocalClients {
 public:
  void add(const IoThread* thread, std::unique_ptr<Client> client) {
    clients_.push_back({thread, std::move(client)});
  }
  Client& here() override {
    const IoThread* thread = IoThread::current();
    for (const OfThread& each : clients_)
      if (each.thread == thread) return *each.client;
    CHECK(false, "a local client is asked for on a thread of its server");
  }

 private:
  struct OfThread {
    const IoThread* thread;
    std::unique_ptr<Client> client;
  };
  std::vector<OfThread> clients_;
};

}  // namespace

Result<std::unique_ptr<LocalClients>> LocalClients::make(Server& server,
                                                         const ClientOptions& options) {
  auto clients = std::make_unique<ClientsOfThreads>();
  for (const std::shared_ptr<IoThread>& thread : server.threads())
    clients->add(thread.get(), TRY(Client::make_on(thread, options)));
  return clients;
}

}  // namespace hekla::net
