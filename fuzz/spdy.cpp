// Any bytes, cut anywhere: no crash, the same events however the bytes are cut.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "net/spdy.h"

namespace {

using namespace hekla::net;

struct Outcome {
  std::vector<SpdyEvent> events;
  bool failed = false;
};

Outcome read(std::string_view text, std::size_t step) {
  SpdyReader reader;
  Outcome outcome;
  for (std::size_t at = 0; at < text.size() && !outcome.failed; at += step)
    outcome.failed = !reader.feed(text.substr(at, step), outcome.events);
  return outcome;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  Outcome whole = read(text, text.size()), cut = read(text, 1 + data[0] % 64);
  CHECK(whole.failed == cut.failed, "the pieces must not matter");
  CHECK(whole.events.size() == cut.events.size());
  for (std::size_t i = 0; i < whole.events.size(); ++i) {
    const SpdyEvent &a = whole.events[i], &b = cut.events[i];
    CHECK(a.kind == b.kind && a.id == b.id && a.data == b.data && a.fin == b.fin &&
          a.headers.all() == b.headers.all());
  }
  return 0;
}
