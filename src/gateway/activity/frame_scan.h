// Tells a WebSocket's messages from its pings by the heads of its frames alone: a tunnel's bytes
// are looked at as they pass, in whatever pieces, and nothing of them is kept.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace hekla::gateway {

// Of one direction.
class FrameScan {
 public:
  // Whether any of the bytes belong to a message: text, binary or a continuation.
  bool has_message(std::string_view bytes);

 private:
  std::size_t head_size() const;
  bool is_message() const { return (head_[0] & 0x0f) < 8; }

  std::array<unsigned char, 14> head_{};
  std::size_t head_bytes_ = 0;  // of the head that is being read
  std::uint64_t left_ = 0;      // of the frame's payload
};

}  // namespace hekla::gateway
