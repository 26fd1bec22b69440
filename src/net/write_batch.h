// Many streams written to at a time: while one of these lives, the connections that its thread
// writes to are not woken one by one but together at its end. A commit may feed hundreds of
// watches; net threads that are woken for the first of them would run dry before the last, and be
// woken again and again.
#pragma once

#include <memory>
#include <vector>

namespace hekla::net {

class Exchange;

class WriteBatch {
 public:
  WriteBatch();
  ~WriteBatch();
  WriteBatch(const WriteBatch&) = delete;
  WriteBatch& operator=(const WriteBatch&) = delete;

  // Takes an exchange whose connection is to be woken, if this thread has a batch.
  static bool take(Exchange& exchange);

 private:
  WriteBatch* const outer_;
  std::vector<std::shared_ptr<Exchange>> waiting_;
};

}  // namespace hekla::net
