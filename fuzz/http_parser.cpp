// Any bytes, cut anywhere: the parser must not crash, must not read one byte stream in two ways,
// and must keep its limits. The first byte chooses where the input is cut.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "net/wire/http_parser.h"

namespace {

using namespace hekla::net;

constexpr std::size_t kMaxHeaderBytes = 4096, kMaxBodyBytes = 8192;

struct Outcome {
  std::vector<Request> requests;
  std::vector<Headers> trailers;  // of streamed bodies
  int error = 0;
};

// A connection without sockets: bodies whole, or streamed and put together again.
struct Reader {
  bool streamed;
  RequestParser parser{kMaxHeaderBytes};
  Outcome outcome = {};

  // False when more bytes are needed.
  Parsed<bool> step(std::string_view& data) {
    if (parser.streams_body()) return stream(data);
    switch (TRY(parser.feed(data))) {
      case RequestParser::Step::more:
        return false;
      case RequestParser::Step::head:
        TRY(parser.begin_body(kMaxBodyBytes, streamed));
        if (parser.streams_body()) outcome.requests.push_back(parser.take());
        return true;
      case RequestParser::Step::request:
        outcome.requests.push_back(parser.take());
        return true;
    }
    return false;
  }
  Parsed<bool> stream(std::string_view& data) {
    std::string scratch;
    Request& request = outcome.requests.back();
    request.body += TRY(parser.gather_body(data, scratch));
    CHECK(!request.body_bytes || request.body.size() <= *request.body_bytes);
    if (!parser.body_complete()) return false;
    CHECK(!request.body_bytes || request.body.size() == *request.body_bytes);
    outcome.trailers.push_back(parser.end_body());
    return true;
  }
};

Outcome parse(std::string_view text, std::size_t step, bool streamed) {
  Reader reader{.streamed = streamed};
  std::string input;
  for (std::size_t at = 0; at < text.size(); at += step) {
    input += text.substr(at, step);
    for (bool again = true; again;) {
      std::string_view data = input;
      Parsed<bool> went_on = reader.step(data);
      CHECK(data.size() <= input.size(), "the parser takes from the front");
      input.erase(0, input.size() - data.size());
      if (!went_on) {
        reader.outcome.error = went_on.error().status;
        return reader.outcome;
      }
      again = *went_on;
    }
  }
  return reader.outcome;
}

void check_request(const Request& request) {
  CHECK(request.body.size() <= kMaxBodyBytes);
  CHECK(request.path.starts_with('/') || request.path == "*");
  CHECK(request.path.find('\0') == std::string::npos);
  CHECK(request.target.starts_with('/') || request.target == "*");
  CHECK(request.target.find('#') == std::string::npos);
  CHECK(url_decode(request.target.substr(0, request.target.find('?'))) == request.path);
  for (const auto& [name, value] : request.headers.all())
    CHECK(value.find_first_of(std::string_view("\r\n\0", 3)) == std::string::npos);
}

bool same(const Request& a, const Request& b) {
  return a.method == b.method && a.target == b.target && a.path == b.path && a.body == b.body &&
         a.headers.all() == b.headers.all() && a.query.all() == b.query.all();
}

// What a client makes of an answer: its body, and whether the framing held.
struct Answer {
  std::string body = {};
  Headers trailers = {};
  bool failed = false;
};

Answer read_answer(const ResponseHead& head, std::string_view text, std::size_t step) {
  Answer answer;
  Parsed<BodyReader> reader = BodyReader::for_response(head, false, kMaxBodyBytes);
  if (!reader) return {.failed = true};
  std::string scratch;
  for (std::size_t at = 0; at < text.size() && !reader->complete(); at += step) {
    std::string_view data = text.substr(at, step);
    while (!data.empty() && !reader->complete()) {
      Parsed<std::string_view> piece = reader->gather(data, scratch);
      if (!piece) return {.failed = true};
      answer.body += *piece;
    }
  }
  CHECK(answer.body.size() <= kMaxBodyBytes);
  if (reader->complete()) CHECK(reader->left() == 0u);
  answer.trailers = reader->take_trailers();
  return answer;
}

void parse_response(std::string_view text, std::size_t step) {
  HeadReader reader(kMaxHeaderBytes);
  Parsed<bool> complete = reader.feed(text);
  if (!complete || !*complete) return;
  Parsed<ResponseHead> head = parse_response_head(reader.text());
  if (!head) return;
  Answer whole = read_answer(*head, text, text.size() + 1), cut = read_answer(*head, text, step);
  CHECK(whole.failed == cut.failed && whole.body == cut.body, "the pieces must not matter");
  CHECK(whole.trailers.all() == cut.trailers.all());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::size_t step = 1 + data[0] % 64;
  const Outcome whole = parse(text, text.size(), false);
  const Outcome streamed_whole = parse(text, text.size(), true);
  for (const Outcome& other : {parse(text, step, false), parse(text, step, true), streamed_whole}) {
    CHECK(whole.error == other.error, "the pieces must not matter");
    // A streamed request is taken before its body has come.
    CHECK(whole.requests.size() <= other.requests.size() &&
          other.requests.size() <= whole.requests.size() + 1);
    for (std::size_t i = 0; i < whole.requests.size(); ++i) {
      check_request(whole.requests[i]);
      CHECK(same(whole.requests[i], other.requests[i]));
    }
  }
  parse_response(text, step);
  return 0;
}
