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

// A connection as its thread sees it.
class ReadyConnection {
 public:
  virtual ~ReadyConnection() = default;
  virtual void take_turn() = 0;
  // Fetches memory that the connection points to: its turn comes soon, its own is there.
  virtual void fetch_parts() const = 0;
};

class ReadyConnections {
 public:
  explicit ReadyConnections(asio::io_context& io) : io_(io) {}
  asio::io_context& io() { return io_; }
  // From any thread; the connection's turn comes on its own. It takes `bytes` of memory, which are
  // fetched before its turn.
  void add(std::shared_ptr<ReadyConnection> connection, std::size_t bytes);

 private:
  struct Ready {
    std::shared_ptr<ReadyConnection> connection;
    std::size_t bytes;
  };
  void post_drain();
  void drain();

  asio::io_context& io_;
  std::mutex mutex_;
  std::deque<Ready> ready_;
  bool draining_ = false;  // a drain is posted that has not yet taken its lot
};

}  // namespace hekla::net
