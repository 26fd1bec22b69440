// gzip, whole texts and streams (zlib lives here).
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace hekla::net {

// The fastest level: the reader waits for the answer, and JSON shrinks tenfold even so.
std::string gzip_compress(std::string_view data);

// Undoes gzip or zlib framing piece by piece. Not thread-safe.
class GzipReader {
 public:
  GzipReader();
  ~GzipReader();
  GzipReader(GzipReader&&) noexcept;
  GzipReader& operator=(GzipReader&&) noexcept;

  // Appends to `out`; fails on damage, and when this reader's whole output would pass
  // `limit_bytes`.
  Result<void> feed(std::string_view data, std::string& out, std::size_t limit_bytes);
  // True when the stream has come to its proper end.
  bool complete() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hekla::net
