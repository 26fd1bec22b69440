#include "net/serving/ready_connections.h"

#include <boost/asio/post.hpp>
#include <vector>

#include "base/fetch_ahead.h"

namespace hekla::net {
namespace {

constexpr std::size_t kLot = 64;  // then sockets that have become ready have their turn

}  // namespace

void ReadyConnections::add(std::shared_ptr<ReadyConnection> connection, std::size_t bytes) {
  {
    std::lock_guard lock(mutex_);
    ready_.push_back({std::move(connection), bytes});
    if (draining_) return;
    draining_ = true;
  }
  post_drain();
}

void ReadyConnections::post_drain() {
  asio::post(io_, [this] { drain(); });
}

void ReadyConnections::drain() {
  std::vector<Ready> lot;
  bool more = false;
  {
    std::lock_guard lock(mutex_);
    std::size_t size = std::min(kLot, ready_.size());
    lot.assign(std::make_move_iterator(ready_.begin()),
               std::make_move_iterator(ready_.begin() + static_cast<std::ptrdiff_t>(size)));
    ready_.erase(ready_.begin(), ready_.begin() + static_cast<std::ptrdiff_t>(size));
    draining_ = more = !ready_.empty();
  }
  if (more) post_drain();
  for (std::size_t i = 0; i < lot.size(); ++i) {
    if (i + 3 < lot.size()) fetch_ahead(lot[i + 3].connection.get(), lot[i + 3].bytes);
    if (i + 1 < lot.size()) lot[i + 1].connection->fetch_parts();
    lot[i].connection->take_turn();
  }
}

}  // namespace hekla::net
