// The connections of one net thread that have something to do, handed to it in lots. One commit may
// answer a hundred requests and feed hundreds of watches: a post for each would wake the thread for
// each.
#pragma once

#include <boost/asio/io_context.hpp>
#include <deque>
#include <memory>
#include <mutex>

namespace hekla::net {

namespace asio = boost::asio;
class Connection;

class ReadyConnections {
 public:
  explicit ReadyConnections(asio::io_context& io) : io_(io) {}
  asio::io_context& io() { return io_; }
  // From any thread; the connection's turn comes on its own.
  void add(std::shared_ptr<Connection> connection);

 private:
  void post_drain();
  void drain();

  asio::io_context& io_;
  std::mutex mutex_;
  std::deque<std::shared_ptr<Connection>> ready_;
  bool draining_ = false;  // a drain is posted that has not yet taken its lot
};

}  // namespace hekla::net
