#include "gateway/activity/frame_scan.h"

#include <algorithm>

namespace hekla::gateway {

// As far as it is known from what has been read of it (RFC 6455 section 5.2).
std::size_t FrameScan::head_size() const {
  if (head_bytes_ < 2) return 2;
  const unsigned length = head_[1] & 0x7f;
  const std::size_t extended = length == 126 ? 2 : length == 127 ? 8 : 0;
  return 2 + extended + (head_[1] & 0x80 ? 4 : 0);
}

bool FrameScan::has_message(std::string_view bytes) {
  bool found = false;
  while (!bytes.empty()) {
    if (left_ > 0) {
      const std::size_t step =
          static_cast<std::size_t>(std::min<std::uint64_t>(left_, bytes.size()));
      found = found || is_message();
      bytes.remove_prefix(step);
      left_ -= step;
      continue;
    }
    if (head_bytes_ >= head_size()) head_bytes_ = 0;  // the frame before is over
    head_[head_bytes_++] = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    if (head_bytes_ < head_size()) continue;
    found = found || is_message();
    const unsigned length = head_[1] & 0x7f;
    left_ = length < 126 ? length : 0;
    for (std::size_t i = 0, count = length == 126 ? 2 : length == 127 ? 8 : 0; i < count; ++i)
      left_ = left_ << 8 | head_[2 + i];
  }
  return found;
}

}  // namespace hekla::gateway
