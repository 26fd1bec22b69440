// Any bytes, cut anywhere: no crash, the same events however the bytes are cut.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "in_pieces.h"
#include "net/spdy.h"

using namespace hekla::net;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  auto whole = read_in_pieces<SpdyEvent>(SpdyReader(), text, text.size());
  auto cut = read_in_pieces<SpdyEvent>(SpdyReader(), text, 1 + data[0] % 64);
  CHECK(whole.failed == cut.failed, "the pieces must not matter");
  CHECK(whole.events.size() == cut.events.size());
  for (std::size_t i = 0; i < whole.events.size(); ++i) {
    const SpdyEvent &a = whole.events[i], &b = cut.events[i];
    CHECK(a.kind == b.kind && a.id == b.id && a.data == b.data && a.fin == b.fin &&
          a.headers.all() == b.headers.all());
  }
  return 0;
}
