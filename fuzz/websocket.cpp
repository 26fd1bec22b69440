// Any bytes, cut anywhere: no crash, the same messages however the bytes are cut, limits kept.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "net/websocket.h"

namespace {

using namespace hekla::net;

constexpr std::size_t kLimit = 4096;

struct Outcome {
  std::vector<WebSocketMessage> messages;
  bool failed = false;
};

Outcome read(std::string_view text, std::size_t step) {
  WebSocketReader reader(kLimit);
  Outcome outcome;
  for (std::size_t at = 0; at < text.size() && !outcome.failed; at += step)
    outcome.failed = !reader.feed(text.substr(at, step), outcome.messages);
  for (const WebSocketMessage& message : outcome.messages)
    CHECK(message.payload.size() <= kLimit);
  return outcome;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  Outcome whole = read(text, text.size()), cut = read(text, 1 + data[0] % 64);
  CHECK(whole.failed == cut.failed, "the pieces must not matter");
  CHECK(whole.messages.size() == cut.messages.size());
  for (std::size_t i = 0; i < whole.messages.size(); ++i)
    CHECK(whole.messages[i].payload == cut.messages[i].payload &&
          whole.messages[i].opcode == cut.messages[i].opcode);
  return 0;
}
