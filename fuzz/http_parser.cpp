// Any bytes, cut anywhere: the parser must not crash, must not read one byte stream in two ways,
// and must keep its limits. The first byte chooses where the input is cut.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "net/http_parser.h"

namespace {

using namespace hekla::net;

constexpr ParserLimits kLimits{.max_header_bytes = 4096, .max_body_bytes = 8192};

struct Outcome {
  std::vector<Request> requests;
  int error = 0;
};

Outcome parse(std::string_view text, std::size_t step) {
  RequestParser parser(kLimits);
  Outcome outcome;
  std::string input;
  for (std::size_t at = 0; at < text.size(); at += step) {
    input += text.substr(at, step);
    while (true) {
      std::string_view data = input;
      Parsed<bool> complete = parser.feed(data);
      CHECK(data.size() <= input.size(), "the parser takes from the front");
      input.erase(0, input.size() - data.size());
      if (!complete) {
        outcome.error = complete.error().status;
        return outcome;
      }
      if (!*complete) break;
      outcome.requests.push_back(parser.take());
      const Request& request = outcome.requests.back();
      CHECK(request.body.size() <= kLimits.max_body_bytes);
      CHECK(request.path.starts_with('/') || request.path == "*");
      CHECK(request.path.find('\0') == std::string::npos);
      for (const auto& [name, value] : request.headers.all())
        CHECK(value.find_first_of(std::string_view("\r\n\0", 3)) == std::string::npos);
    }
  }
  return outcome;
}

bool same(const Request& a, const Request& b) {
  return a.method == b.method && a.path == b.path && a.body == b.body &&
         a.headers.all() == b.headers.all() && a.query.all() == b.query.all();
}

void parse_response(std::string_view text) {
  HeadReader reader(kLimits.max_header_bytes);
  Parsed<bool> complete = reader.feed(text);
  if (!complete || !*complete) return;
  Parsed<ResponseHead> head = parse_response_head(reader.text());
  if (!head) return;
  Parsed<BodyReader> body = BodyReader::for_response(*head, false, kLimits.max_body_bytes);
  std::string out;
  if (body && body->feed(text, out)) CHECK(out.size() <= kLimits.max_body_bytes);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  Outcome whole = parse(text, text.size());
  Outcome cut = parse(text, 1 + data[0] % 64);
  CHECK(whole.error == cut.error, "the pieces must not matter");
  CHECK(whole.requests.size() == cut.requests.size());
  for (std::size_t i = 0; i < whole.requests.size(); ++i)
    CHECK(same(whole.requests[i], cut.requests[i]));
  parse_response(text);
  return 0;
}
