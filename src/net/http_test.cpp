#include "net/http.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "net/gzip.h"
#include "net/url.h"
#include "net/wire/http_format.h"

namespace hekla::net {
namespace {

TEST(Headers, NamesCompareWithoutCaseAndOrderIsKept) {
  Headers headers;
  headers.add("Accept", "a");
  headers.add("X-One", "1");
  headers.add("accept", "b");
  EXPECT_EQ(headers.get("ACCEPT"), "a");
  EXPECT_EQ(headers.get_all("Accept"), (std::vector<std::string_view>{"a", "b"}));
  EXPECT_TRUE(headers.has("x-one"));
  EXPECT_FALSE(headers.has("x-two"));
  headers.set("aCCept", "c");
  EXPECT_EQ(headers.get_all("accept"), std::vector<std::string_view>{"c"});
  headers.remove("X-ONE");
  EXPECT_EQ(headers.get("x-one"), "");
}

TEST(Query, DecodesKeepsOrderAndRepeats) {
  Query query =
      Query::parse("labelSelector=a%3Db%2Cc&watch=true&x=1&x=2&empty=&flag&sp=a+b%20c&&bad=%zz%4");
  EXPECT_EQ(query.get("labelSelector"), "a=b,c");
  EXPECT_EQ(query.get_all("x"), (std::vector<std::string_view>{"1", "2"}));
  EXPECT_TRUE(query.has("flag"));
  EXPECT_EQ(query.get("flag"), "");
  EXPECT_EQ(query.get("sp"), "a b c");
  EXPECT_EQ(query.get("bad"), "%zz%4");
  EXPECT_EQ(query.all().size(), 8u);
}

TEST(Query, EncodeIsUndoneByParse) {
  Query query;
  query.add("field&Selector", "metadata.name=a b+c%/ü");
  query.add("limit", "500");
  Query again = Query::parse(query.encode());
  EXPECT_EQ(again.all(), query.all());
  EXPECT_EQ(query.encode(), "field%26Selector=metadata.name%3Da%20b%2Bc%25%2F%C3%BC&limit=500");
}

TEST(UrlDecode, LeavesPlusAlone) {
  EXPECT_EQ(url_decode("/a%20b+c"), "/a b+c");
  EXPECT_EQ(url_decode("%41"), "A");
  EXPECT_EQ(url_decode("%4"), "%4");
}

TEST(ParseUrl, TakesItApart) {
  Url url = parse_url("https://127.0.0.1:6443/api/v1/pods?limit=1").value();
  EXPECT_EQ(url.origin, (Origin{Origin::Scheme::https, "127.0.0.1", 6443}));
  EXPECT_EQ(url.target, "/api/v1/pods?limit=1");
  EXPECT_EQ(url.authority, "127.0.0.1:6443");
  EXPECT_EQ(parse_url("https://[::1]:99")->origin, (Origin{Origin::Scheme::https, "::1", 99}));
  EXPECT_EQ(parse_url("http://host?q=1")->target, "/?q=1");
  EXPECT_EQ(parse_url("http://host")->origin.port, 80);
  EXPECT_EQ(parse_url("HTTPS://host")->origin.port, 443);
  Url unix_url = parse_url("unix:///run/x.sock:/v1/ping?a=b").value();
  EXPECT_EQ(unix_url.origin, (Origin{Origin::Scheme::unix_socket, "/run/x.sock", 0}));
  EXPECT_EQ(unix_url.target, "/v1/ping?a=b");
}

TEST(ParseUrl, RefusesWhatItCannotMean) {
  for (const char* text :
       {"", "host/path", "ftp://x/", "http://", "http://:80/", "http://h:0/", "http://h:70000/",
        "http://h:8x/", "http://[::1/", "http://u@h/", "http://h/a b", "unix://relative:/x",
        "unix:///s:relative", "http://h/\r\nX: y"})
    EXPECT_FALSE(parse_url(text)) << text;
}

TEST(Gzip, RoundTripInAnyPieces) {
  std::string text;
  for (int i = 0; i < 50'000; ++i) text += "{\"n\":" + std::to_string(i * 7919 % 1000) + "},";
  std::string packed = gzip_compress(text);
  EXPECT_LT(packed.size(), text.size() / 3);
  for (std::size_t step : {std::size_t{1000}, std::size_t{65537}, packed.size()}) {
    GzipReader reader;
    std::string out;
    for (std::size_t at = 0; at < packed.size(); at += step)
      ASSERT_TRUE(reader.feed(std::string_view(packed).substr(at, step), out, 1u << 30));
    EXPECT_TRUE(out == text);
    EXPECT_TRUE(reader.complete());
  }
}

TEST(Gzip, BombsAndDamageAreErrors) {
  std::string packed = gzip_compress(std::string(10 << 20, 'a'));
  std::string out;
  GzipReader bomb;
  Result<void> stopped = bomb.feed(packed, out, 1 << 20);
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, Code::too_large);
  EXPECT_LT(out.size(), 2u << 20);
  GzipReader damaged;
  EXPECT_FALSE(damaged.feed("this is not gzip", out, 1 << 20));
  GzipReader cut;
  EXPECT_TRUE(cut.feed(std::string_view(packed).substr(0, 100), out, 100 << 20));
  EXPECT_FALSE(cut.complete());
}

Request get_with(std::string accept_encoding) {
  Request request;
  request.method = "GET";
  if (!accept_encoding.empty()) request.headers.add("Accept-Encoding", std::move(accept_encoding));
  return request;
}

TEST(AnswerForm, GzipOnlyWhenAskedFor) {
  EXPECT_TRUE(answer_form(get_with("gzip"), 1, true).accepts_gzip);
  EXPECT_TRUE(answer_form(get_with("deflate, GZIP;q=0.5"), 1, true).accepts_gzip);
  EXPECT_FALSE(answer_form(get_with("gzip;q=0"), 1, true).accepts_gzip);
  EXPECT_FALSE(answer_form(get_with("gzip;q=0.0"), 1, true).accepts_gzip);
  EXPECT_FALSE(answer_form(get_with(""), 1, true).accepts_gzip);
  Request post = get_with("gzip");
  post.method = "POST";
  EXPECT_FALSE(answer_form(post, 1, true).accepts_gzip);
}

TEST(Format, FramingIsOursAndLineBreaksDoNotForgeHeaders) {
  Response response{.status = 200, .headers = {}, .body = "hello"};
  response.headers.add("Content-Length", "99");
  response.headers.add("Transfer-Encoding", "chunked");
  response.headers.add("Warning", "299 - \"a\r\nSet-Cookie: x\"");
  response.headers.add("Bad Name", "v");
  std::string head = format_response_head(response, {});
  EXPECT_NE(head.find("Content-Length: 5\r\n"), std::string::npos);
  EXPECT_EQ(head.find("99"), head.find("299") + 1);
  EXPECT_EQ(head.find("Transfer-Encoding"), std::string::npos);
  EXPECT_NE(head.find("Warning: 299 - \"a  Set-Cookie: x\"\r\n"), std::string::npos);
  EXPECT_EQ(head.find("Bad Name"), std::string::npos);
  EXPECT_NE(head.find("\r\nDate: "), std::string::npos);
  EXPECT_TRUE(head.starts_with("HTTP/1.1 200 OK\r\n"));
  EXPECT_TRUE(head.ends_with("\r\n\r\n"));
}

TEST(Format, StatusBodyForLargeRequests) {
  Response response = status_response({413, "Request entity too large: limit is 3145728"});
  EXPECT_EQ(response.body, R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",)"
                           R"("message":"Request entity too large: limit is 3145728",)"
                           R"("reason":"RequestEntityTooLarge","code":413})");
}

}  // namespace
}  // namespace hekla::net
