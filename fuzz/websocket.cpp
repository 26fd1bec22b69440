// Any bytes, cut anywhere: no crash, the same messages however the bytes are cut, limits kept.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "in_pieces.h"
#include "net/websocket.h"

using namespace hekla::net;

constexpr std::size_t kLimit = 4096;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  auto whole = read_in_pieces<WebSocketMessage>(WebSocketReader(kLimit), text, text.size());
  auto cut = read_in_pieces<WebSocketMessage>(WebSocketReader(kLimit), text, 1 + data[0] % 64);
  CHECK(whole.failed == cut.failed, "the pieces must not matter");
  CHECK(whole.events.size() == cut.events.size());
  for (std::size_t i = 0; i < whole.events.size(); ++i)
    CHECK(whole.events[i].payload.size() <= kLimit &&
          whole.events[i].payload == cut.events[i].payload &&
          whole.events[i].opcode == cut.events[i].opcode);
  return 0;
}
