// The parser on its own: every split of every message, and a table of what must be refused.
#include "net/wire/http_parser.h"

#include <gtest/gtest.h>

#include <array>

namespace hekla::net {
namespace {

using namespace std::string_literals;

constexpr std::size_t kMaxHeaderBytes = 1024, kMaxBodyBytes = 100;

struct Outcome {
  std::vector<Request> requests;
  std::string trailers;
  int error = 0;
  std::string message;
};

// A connection without sockets: bodies whole, or streamed and put together again.
struct Reader {
  bool streamed;
  RequestParser parser{kMaxHeaderBytes};
  Outcome outcome = {};

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
    outcome.requests.back().body += TRY(parser.gather_body(data, scratch));
    if (!parser.body_complete()) return false;
    const Headers trailers = parser.end_body();
    for (const auto& [name, value] : trailers.all()) outcome.trailers += name + "=" + value + ";";
    return true;
  }
};

// Feeds `text` in pieces of `step` bytes, as a connection would.
Outcome parse_all(std::string_view text, std::size_t step, bool streamed = false) {
  Reader reader{.streamed = streamed};
  std::string input;
  for (std::size_t at = 0; at < text.size(); at += step) {
    input += text.substr(at, step);
    for (bool again = true; again;) {
      std::string_view data = input;
      Parsed<bool> went_on = reader.step(data);
      input.erase(0, input.size() - data.size());
      if (!went_on) {
        reader.outcome.error = went_on.error().status;
        reader.outcome.message = went_on.error().message;
        return reader.outcome;
      }
      again = *went_on;
    }
  }
  return reader.outcome;
}

TEST(RequestParser, ReadsAWholeRequest) {
  Outcome outcome = parse_all(
      "POST /api/v1/namespaces/a%20b/pods?limit=5&x=%2F HTTP/1.1\r\nHost: h\r\nContent-Type:  "
      "application/json \r\n"
      "Content-Length: 4\r\n\r\n{\"a}",
      1000);
  ASSERT_EQ(outcome.requests.size(), 1u) << outcome.message;
  const Request& request = outcome.requests[0];
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.target, "/api/v1/namespaces/a%20b/pods?limit=5&x=%2F");
  EXPECT_EQ(request.path, "/api/v1/namespaces/a b/pods");
  EXPECT_EQ(request.query.get("x"), "/");
  EXPECT_EQ(request.headers.get("content-type"), "application/json");
  EXPECT_EQ(request.body, "{\"a}");
}

TEST(RequestParser, EverySplitGivesTheSameRequests) {
  const std::string text =
      "GET /a HTTP/1.1\r\nHost: h\r\n\r\n"
      "\r\nPOST /b HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: Chunked\r\n\r\n"
      "3\r\nabc\r\n0A;name=value\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\n"
      "PUT /c HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n"
      "OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n"
      "GET http://h:80/d?e HTTP/1.0\r\n\r\n";
  for (std::size_t step = 1; step <= text.size(); ++step) {
    Outcome outcome = parse_all(text, step);
    ASSERT_EQ(outcome.requests.size(), 5u) << step << ": " << outcome.message;
    EXPECT_EQ(outcome.requests[1].body, "abc0123456789") << step;
    EXPECT_EQ(outcome.requests[2].path, "/c");
    EXPECT_EQ(outcome.requests[3].path, "*");
    EXPECT_EQ(outcome.requests[4].path, "/d");
    EXPECT_TRUE(outcome.requests[4].query.has("e"));
  }
}

struct Nasty {
  const char* name;
  std::string text;
  int status;
};

std::string get(const std::string& headers) {
  return "GET / HTTP/1.1\r\nHost: h\r\n" + headers + "\r\n";
}
std::string chunked(const std::string& body) {
  return "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n" + body;
}

const std::vector<Nasty>& nasty_inputs() {
  static const std::vector<Nasty> inputs{
      {"length and chunked", get("Content-Length: 3\r\nTransfer-Encoding: chunked\r\n"), 400},
      {"chunked and length", get("Transfer-Encoding: chunked\r\nContent-Length: 3\r\n"), 400},
      {"two lengths", get("Content-Length: 3\r\nContent-Length: 4\r\n"), 400},
      {"two equal lengths", get("Content-Length: 3\r\nContent-Length: 3\r\n"), 400},
      {"list of lengths", get("Content-Length: 3, 3\r\n"), 400},
      {"signed length", get("Content-Length: +3\r\n"), 400},
      {"negative length", get("Content-Length: -1\r\n"), 400},
      {"hex length", get("Content-Length: 0x3\r\n"), 400},
      {"empty length", get("Content-Length:\r\n"), 400},
      {"overflowing length", get("Content-Length: 99999999999999999999999\r\n"), 400},
      {"large length", get("Content-Length: 101\r\n"), 413},
      {"two codings", get("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"), 400},
      {"other coding", get("Transfer-Encoding: gzip, chunked\r\n"), 501},
      {"identity coding", get("Transfer-Encoding: identity\r\n"), 501},
      {"misspelt coding", get("Transfer-Encoding: xchunked\r\n"), 501},
      {"vertical tab coding",
       get("Transfer-Encoding: \x0b"
           "chunked\r\n"),
       400},
      {"chunked in 1.0", "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
      {"space before colon", get("Transfer-Encoding : chunked\r\n"), 400},
      {"folded header", get("X: a\r\n b\r\n"), 400},
      {"leading fold", "GET / HTTP/1.1\r\n Host: h\r\n\r\n", 400},
      {"NUL in a value", get("X: a\0b\r\n"s), 400},
      {"NUL in a name", get("X\0: a\r\n"s), 400},
      {"bare CR in a value", get("X: a\rTransfer-Encoding: chunked\r\n"), 400},
      {"bare LF", "GET / HTTP/1.1\nHost: h\n\n", 400},
      {"no colon", get("nonsense\r\n"), 400},
      {"empty name", get(": v\r\n"), 400},
      {"no host", "GET / HTTP/1.1\r\n\r\n", 400},
      {"two hosts", get("Host: i\r\n"), 400},
      {"no version", "GET /\r\n\r\n", 400},
      {"version 2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505},
      {"version 1.2", "GET / HTTP/1.2\r\nHost: h\r\n\r\n", 505},
      {"lower case version", "GET / http/1.1\r\nHost: h\r\n\r\n", 400},
      {"bad method", "G(T / HTTP/1.1\r\nHost: h\r\n\r\n", 400},
      {"space in the target", "GET /a b HTTP/1.1\r\nHost: h\r\n\r\n", 400},
      {"relative target", "GET a HTTP/1.1\r\nHost: h\r\n\r\n", 400},
      {"authority target", "CONNECT h:80 HTTP/1.1\r\nHost: h\r\n\r\n", 400},
      {"star target", "GET * HTTP/1.1\r\nHost: h\r\n\r\n", 400},
      {"bad percent", "GET /%zz HTTP/1.1\r\nHost: h\r\n\r\n", 400},
      {"cut percent", "GET /%4 HTTP/1.1\r\nHost: h\r\n\r\n", 400},
      {"encoded NUL", "GET /a%00b HTTP/1.1\r\nHost: h\r\n\r\n", 400},
      {"TLS hello", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\n"s, 400},
      {"many empty lines", "\r\n\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n", 400},
      {"expectation", get("Expect: miracles\r\n"), 417},
      {"huge head", get("X: " + std::string(2000, 'x') + "\r\n"), 431},
      {"huge line without end", "GET /" + std::string(2000, 'x'), 431},
      {"chunk size empty", chunked("\r\n"), 400},
      {"chunk size signed", chunked("+3\r\nabc\r\n"), 400},
      {"chunk size prefixed", chunked("0x3\r\nabc\r\n"), 400},
      {"chunk size with space", chunked("3 \r\nabc\r\n"), 400},
      {"chunk size negative", chunked("-1\r\n"), 400},
      {"chunk size overflowing", chunked("fffffffffffffffff\r\n"), 400},
      {"chunk size large", chunked("65\r\n"), 413},
      {"chunks large together", chunked("40\r\n" + std::string(64, 'a') + "\r\n40\r\n"), 413},
      {"chunk too long", chunked("3\r\nabcd\r\n0\r\n\r\n"), 400},
      {"chunk line bare LF", chunked("3\nabc\r\n"), 400},
      {"chunk extension with CR", chunked("3;a\rb\r\nabc\r\n"), 400},
      {"chunk extension endless", chunked("3;" + std::string(5000, 'a')), 400},
      {"trailer malformed", chunked("0\r\nno colon\r\n\r\n"), 400},
  };
  return inputs;
}

TEST(RequestParser, NastyInputsAreRefusedHoweverTheyArrive) {
  for (const Nasty& nasty : nasty_inputs())
    for (std::size_t step : {std::size_t{1}, std::size_t{7}, std::size_t{100'000}}) {
      Outcome outcome = parse_all(nasty.text, step);
      EXPECT_EQ(outcome.error, nasty.status)
          << nasty.name << " by " << step << ": " << outcome.message;
      EXPECT_TRUE(outcome.requests.empty()) << nasty.name;
    }
}

TEST(RequestParser, LimitsAreExact) {
  auto with_body = [](int size) {
    return "PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: " + std::to_string(size) + "\r\n\r\n" +
           std::string(static_cast<std::size_t>(size), 'b');
  };
  EXPECT_EQ(parse_all(with_body(100), 10).requests.size(), 1u);
  EXPECT_EQ(parse_all(with_body(101), 10).error, 413);
  EXPECT_EQ(parse_all(with_body(101), 10).message, "Request entity too large: limit is 100");
  std::string start = "GET / HTTP/1.1\r\nHost: h\r\nX: ", end = "\r\n\r\n";
  std::string fits(kMaxHeaderBytes - start.size() - end.size(), 'x');
  EXPECT_EQ(parse_all(start + fits + end, 50).requests.size(), 1u);
  EXPECT_EQ(parse_all(start + fits + "x" + end, 50).error, 431);
  EXPECT_EQ(parse_all(start + fits + "x" + end, 5000).error, 431);
}

TEST(RequestParser, ContinueIsWantedOnce) {
  for (bool streamed : {false, true}) {
    RequestParser parser(kMaxHeaderBytes);
    std::string_view head =
        "PUT / HTTP/1.1\r\nHost: h\r\nExpect: 100-Continue\r\nContent-Length: 2\r\n\r\n";
    EXPECT_EQ(parser.feed(head).value(), RequestParser::Step::head);
    ASSERT_TRUE(parser.begin_body(kMaxBodyBytes, streamed));
    EXPECT_TRUE(parser.take_continue());
    EXPECT_FALSE(parser.take_continue());
    if (streamed) continue;
    std::string_view body = "ok";
    EXPECT_EQ(parser.feed(body).value(), RequestParser::Step::request);
    EXPECT_EQ(parser.take().body, "ok");
  }
}

TEST(RequestParser, TheTargetKeepsItsBytes) {
  const std::vector<std::array<std::string, 3>> cases{
      // as sent, target, path
      {"/a%2Fb/%2e%2e/c?x=%2F&y=+", "/a%2Fb/%2e%2e/c?x=%2F&y=+", "/a/b/../c"},
      {"http://other:80/p%20q?r", "/p%20q?r", "/p q"},
      {"HTTPS://other?q=1", "/?q=1", "/"},
      {"http://other", "/", "/"},
      {"/p#frag?x", "/p", "/p"},
      {"//double//slash", "//double//slash", "//double//slash"},
  };
  for (const auto& [sent, target, path] : cases) {
    Outcome outcome = parse_all("GET " + sent + " HTTP/1.1\r\nHost: h\r\n\r\n", 1000);
    ASSERT_EQ(outcome.requests.size(), 1u) << sent << ": " << outcome.message;
    EXPECT_EQ(outcome.requests[0].target, target);
    EXPECT_EQ(outcome.requests[0].path, path);
  }
}

TEST(RequestParser, AStreamedBodySaysItsLengthAndBringsItsTrailers) {
  Outcome sized = parse_all(
      "PUT /a HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabcGET /b HTTP/1.1\r\nHost: "
      "h\r\n\r\n",
      1000, true);
  ASSERT_EQ(sized.requests.size(), 2u);
  EXPECT_TRUE(sized.requests[0].body_streamed);
  EXPECT_EQ(sized.requests[0].body_bytes, 3u);
  EXPECT_EQ(sized.requests[0].body, "abc");
  EXPECT_FALSE(sized.requests[1].body_streamed);
  for (std::size_t step : {1, 7, 1000}) {
    Outcome chunked = parse_all(
        "PUT /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1;e=1\r\nc\r\n"
        "0\r\nX-Sum:  12 \r\nX-Empty:\r\n\r\n",
        step, true);
    ASSERT_EQ(chunked.requests.size(), 1u) << chunked.message;
    EXPECT_FALSE(chunked.requests[0].body_bytes);
    EXPECT_EQ(chunked.requests[0].body, "abc");
    EXPECT_EQ(chunked.trailers, "X-Sum=12;X-Empty=;");
  }
}

TEST(KeepAlive, FollowsVersionAndConnectionHeader) {
  Headers none, close, keep;
  close.add("Connection", "Upgrade, Close");
  keep.add("Connection", "Keep-Alive");
  EXPECT_TRUE(wants_keep_alive(none, 1));
  EXPECT_FALSE(wants_keep_alive(none, 0));
  EXPECT_FALSE(wants_keep_alive(close, 1));
  EXPECT_TRUE(wants_keep_alive(keep, 0));
}

TEST(ResponseHead, StatusLines) {
  EXPECT_EQ(parse_response_head("HTTP/1.1 200 OK\r\nA: b\r\n\r\n")->headers.get("a"), "b");
  EXPECT_EQ(parse_response_head("HTTP/1.0 404\r\n\r\n")->status, 404);
  EXPECT_EQ(parse_response_head("HTTP/1.1 204 \r\n\r\n")->status, 204);
  for (const char* text :
       {"HTTP/1.1 2000 OK\r\n\r\n", "HTTP/1.1 20 OK\r\n\r\n", "HTTP/1.1  200\r\n\r\n",
        "HTTQ/1.1 200 OK\r\n\r\n", "HTTP/1.1 099 X\r\n\r\n", "\r\n"})
    EXPECT_FALSE(parse_response_head(text)) << text;
}

TEST(ResponseBody, FramingByHeaders) {
  auto body_of = [](ResponseHead head, bool answers_head, std::string_view data) -> std::string {
    BodyReader reader = BodyReader::for_response(head, answers_head, 1000).value();
    std::string out;
    if (!reader.feed(data, out)) return "error";
    bool whole = reader.complete();
    return out + (whole ? "|" : reader.at_eof() ? "|eof" : "|cut");
  };
  ResponseHead with_length{200, 1, {}}, open{200, 1, {}}, chunks{200, 1, {}}, empty{204, 1, {}};
  with_length.headers.add("Content-Length", "3");
  chunks.headers.add("Transfer-Encoding", "chunked");
  EXPECT_EQ(body_of(with_length, false, "abcdef"), "abc|");
  EXPECT_EQ(body_of(with_length, false, "ab"), "ab|cut");
  EXPECT_EQ(body_of(with_length, true, "abc"), "|");
  EXPECT_EQ(body_of(open, false, "abc"), "abc|eof");
  EXPECT_EQ(body_of(chunks, false, "1\r\na\r\n0\r\n\r\n"), "a|");
  EXPECT_EQ(body_of(chunks, false, "1\r\na\r\n"), "a|cut");
  EXPECT_EQ(body_of(empty, false, "abc"), "|");
}

}  // namespace
}  // namespace hekla::net
