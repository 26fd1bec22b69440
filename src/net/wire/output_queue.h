// The bytes of one message on their way to a connection: pieces that several streams may share,
// framed as chunks while they are taken, so that many small writes become one chunk and one system
// call. Not thread-safe: its owner guards it.
#pragma once

#include <string>
#include <vector>

#include "net/http.h"

namespace hekla::net {

class OutputQueue {
 public:
  // Bytes as they are, or as part of a chunk.
  enum class Form : bool { raw, chunk };
  void push(SharedBytes bytes, Form form);
  void push(std::string bytes) {
    push(std::make_shared<const std::string>(std::move(bytes)), Form::raw);
  }
  void push(BodyTail tail);

  // Appends framed bytes to `out` until there are about `limit_bytes` in it. Returns how many of
  // them are framing.
  std::size_t take(std::string& out, std::size_t limit_bytes);
  bool empty() const { return pieces_.empty(); }
  std::size_t pieces() const { return pieces_.size(); }
  // Memory of what has not been taken; a tail that is made while it is sent takes none.
  std::size_t held_bytes() const;

 private:
  struct Piece {
    SharedBytes bytes;
    Form form = Form::raw;
    BodyTail tail = {};  // in place of bytes
    std::size_t taken = 0;
    std::size_t left() const { return bytes->size() - taken; }
  };
  std::size_t append_chunk(std::string& out, std::size_t limit_bytes);
  void append_tail(std::string& out, std::size_t limit_bytes);
  std::size_t append_front(std::string& out, std::size_t limit_bytes);

  std::vector<Piece> pieces_;
  std::size_t front_ = 0;  // pieces before it have been taken; 0 between two calls
};

}  // namespace hekla::net
