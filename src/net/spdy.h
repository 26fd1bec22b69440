// SPDY/3.1 frames as Kubernetes uses them after an upgrade: streams with headers, no flow control,
// no settings. Pure: bytes in, events out, frames to bytes. The server's side; clients open the
// streams.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "net/http.h"

namespace hekla::net {

struct SpdyEvent {
  // A stream is refused when its id is not larger than every earlier one's, as the protocol wants:
  // whoever reads it answers with a reset and keeps nothing of it.
  enum class Kind : std::uint8_t { stream, refused_stream, data, reset, ping, goaway };
  Kind kind = Kind::data;
  std::uint32_t id = 0;  // of the stream, or of the ping
  Headers headers;       // stream
  std::string data;
  bool fin = false;  // the client sends nothing more on the stream
};

class SpdyReader {
 public:
  SpdyReader();
  ~SpdyReader();
  // Takes everything; appends what became complete. After an error the bytes mean nothing any more.
  Result<void> feed(std::string_view bytes, std::vector<SpdyEvent>& out);

 private:
  struct Inflater;
  Result<void> on_control(std::uint16_t type, std::uint8_t flags, std::string_view payload,
                          std::vector<SpdyEvent>& out);
  Result<Headers> read_headers(std::string_view block);
  std::unique_ptr<Inflater> inflater_;
  std::string buffer_;
  std::uint32_t last_stream_ = 0;
};

// Header blocks share one compressor, so those frames leave in the order they are made.
class SpdyWriter {
 public:
  SpdyWriter();
  ~SpdyWriter();
  std::string syn_reply(std::uint32_t stream);
  // As a client would: for tests.
  std::string syn_stream(std::uint32_t stream, const Headers& headers, bool fin);

  // These depend on nothing and may be made anywhere.
  static std::string data(std::uint32_t stream, std::string_view bytes, bool fin);
  static constexpr std::uint32_t kProtocolError = 1, kRefusedStream = 3;
  static std::string reset(std::uint32_t stream, std::uint32_t status);
  static std::string ping(std::uint32_t id);

 private:
  struct Deflater;
  std::string pack(const Headers& headers);
  std::unique_ptr<Deflater> deflater_;
};

}  // namespace hekla::net
