// S3 as a client meets it: signed requests over a real connection, on a directory of the test's
// own.
#include "objects/s3.h"

#include <gtest/gtest.h>

#include "base/bytes.h"
#include "base/crypto.h"
#include "base/digest.h"
#include "base/temp_dir_test.h"
#include "net/client.h"
#include "net/server.h"
#include "objects/wire/signature.h"

namespace hekla::objects {
namespace {

class S3Test : public testing::Test {
 protected:
  void SetUp() override {
    open();
    put("", "PUT", "/data");
  }
  void open() {
    store = ObjectStore::open(directory.path() + "/objects", real_clock(), real_rng()).value();
    S3Options options;
    options.hosts = {"s3.test"};
    options.credentials = [](std::string_view key) -> std::optional<Credential> {
      if (key == "admin") return Credential{"admin", "secret", true};
      if (key == "team") return Credential{"team", "other", false, {{"data", "team/", true}}};
      return std::nullopt;
    };
    net::ServerOptions serving;
    serving.tls = false;
    serving.router = s3_router();
    server = net::Server::start(std::move(serving), s3_handler(*store, std::move(options))).value();
  }
  void restart() {
    server.reset();
    store.reset();
    open();
  }
  void TearDown() override {
    server.reset();
    store.reset();
  }

  struct Who {
    std::string access_key = "admin", secret = "secret";
  };
  net::Response send(const std::string& method, const std::string& target, std::string body,
                     net::Headers headers, std::string payload_hash, const Who& who) {
    const std::string host = "127.0.0.1:" + std::to_string(server->port());
    net::ClientRequest request;
    request.method = method;
    request.url = "http://" + host + target;
    request.headers = sign({method, target, host, std::move(payload_hash), std::move(headers)},
                           who.access_key, who.secret, "us-east-1", real_clock().wall());
    request.body = std::move(body);
    return client->fetch(std::move(request)).value();
  }
  net::Response put(std::string body, const std::string& method, const std::string& target,
                    net::Headers headers = {}) {
    const std::string hash = sha256_hex(body);
    return send(method, target, std::move(body), std::move(headers), hash, Who{});
  }
  net::Response get(const std::string& target, net::Headers headers = {}) {
    return put("", "GET", target, std::move(headers));
  }

  TempDir directory;
  std::unique_ptr<ObjectStore> store;
  std::unique_ptr<net::Server> server;
  std::unique_ptr<net::Client> client = net::Client::make({}).value();
};

TEST_F(S3Test, SmallAndLargeObjectsSurviveARestart) {
  const std::string small = "hello", large(3 << 20, 'x');
  EXPECT_EQ(put(small, "PUT", "/data/a").status, 200);
  EXPECT_EQ(put(large, "PUT", "/data/a/b").status, 200);
  restart();
  EXPECT_EQ(get("/data/a").body, small);
  EXPECT_EQ(get("/data/a/b").body, large);
  EXPECT_EQ(get("/data/a").headers.get("etag"), "\"5d41402abc4b2a76b9719d911017c592\"");
  EXPECT_EQ(get("/data/none").status, 404);
  EXPECT_NE(get("/data/none").body.find("<Code>NoSuchKey</Code>"), std::string::npos);
}

TEST_F(S3Test, RangesAndConditions) {
  put("0123456789", "PUT", "/data/n");
  net::Headers range;
  range.add("range", "bytes=2-4");
  net::Response part = get("/data/n", range);
  EXPECT_EQ(part.status, 206);
  EXPECT_EQ(part.body, "234");
  EXPECT_EQ(part.headers.get("content-range"), "bytes 2-4/10");
  net::Headers beyond;
  beyond.add("range", "bytes=10-");
  EXPECT_EQ(get("/data/n", beyond).status, 416);
  net::Headers unchanged;
  unchanged.add("if-none-match", std::string(part.headers.get("etag")));
  EXPECT_EQ(get("/data/n", unchanged).status, 304);
  net::Headers fresh;
  fresh.add("if-none-match", "*");
  EXPECT_EQ(put("again", "PUT", "/data/n", fresh).status, 412);
}

TEST_F(S3Test, WrongSecretWrongHashAndStrangersAreRefused) {
  EXPECT_EQ(send("GET", "/data/a", "", {}, sha256_hex(""), {"admin", "guess"}).status, 403);
  EXPECT_EQ(send("GET", "/data/a", "", {}, sha256_hex(""), {"nobody", "x"}).status, 403);
  net::Response wrong = send("PUT", "/data/a", "body", {}, sha256_hex("other"), {});
  EXPECT_EQ(wrong.status, 400);
  EXPECT_NE(wrong.body.find("XAmzContentSHA256Mismatch"), std::string::npos);
  EXPECT_EQ(get("/data/a").status, 404);
}

TEST_F(S3Test, AKeyWithAPrefixSeesNothingElse) {
  put("mine", "PUT", "/data/team/x");
  put("theirs", "PUT", "/data/other/x");
  const Who team{"team", "other"};
  const std::string none = sha256_hex("");
  EXPECT_EQ(send("GET", "/data/team/x", "", {}, none, team).body, "mine");
  EXPECT_EQ(send("GET", "/data/other/x", "", {}, none, team).status, 403);
  EXPECT_EQ(send("GET", "/data?prefix=other%2F", "", {}, none, team).status, 403);
  EXPECT_EQ(send("GET", "/data?prefix=team%2F", "", {}, none, team).status, 200);
  EXPECT_EQ(send("PUT", "/data/other/y", "", {}, none, team).status, 403);
  EXPECT_EQ(send("DELETE", "/data", "", {}, none, team).status, 403);
}

TEST_F(S3Test, ListingsFoldAtTheDelimiterAndPage) {
  for (const char* key : {"a", "b/1", "b/2", "c", "d/1"})
    put("x", "PUT", "/data/" + std::string(key));
  const std::string first = get("/data?delimiter=%2F&list-type=2&max-keys=2").body;
  EXPECT_NE(first.find("<Key>a</Key>"), std::string::npos);
  EXPECT_NE(first.find("<CommonPrefixes><Prefix>b/</Prefix></CommonPrefixes>"), std::string::npos);
  EXPECT_NE(first.find("<IsTruncated>true</IsTruncated>"), std::string::npos);
  const std::size_t at = first.find("<NextContinuationToken>");
  ASSERT_NE(at, std::string::npos);
  const std::size_t from = at + 23;
  const std::string token = first.substr(from, first.find('<', from) - from);
  const std::string rest =
      get("/data?continuation-token=" + token + "&delimiter=%2F&list-type=2").body;
  EXPECT_EQ(rest.find("b/"), std::string::npos);
  EXPECT_NE(rest.find("<Key>c</Key>"), std::string::npos);
  EXPECT_NE(rest.find("<Prefix>d/</Prefix>"), std::string::npos);
}

TEST_F(S3Test, ChunksAreVerifiedOneByOne) {
  const std::string chunk(64 * 1024, 'a');
  auto upload = [&](bool spoil) {
    const std::string host = "127.0.0.1:" + std::to_string(server->port());
    const WallTime now = real_clock().wall();
    net::Headers extra;
    extra.add("x-amz-decoded-content-length", std::to_string(chunk.size()));
    net::Headers headers =
        sign({"PUT", "/data/chunked", host, "STREAMING-AWS4-HMAC-SHA256-PAYLOAD", extra}, "admin",
             "secret", "us-east-1", now);
    const std::string authorization(headers.get("authorization"));
    const std::string date = amz_time(now).substr(0, 8);
    std::string key = hmac_sha256("AWS4secret", date);
    for (const char* step : {"us-east-1", "s3", "aws4_request"}) key = hmac_sha256(key, step);
    const SigningKey signing{key, amz_time(now), date + "/us-east-1/s3/aws4_request",
                             authorization.substr(authorization.rfind('=') + 1)};
    const std::string one = chunk_signature(signing, signing.seed, sha256_hex(chunk));
    const std::string last = chunk_signature(signing, one, sha256_hex(""));
    std::string sent = chunk;
    if (spoil) sent[7] = 'b';
    net::ClientRequest request;
    request.method = "PUT";
    request.url = "http://" + host + "/data/chunked";
    request.headers = headers;
    request.body = "10000;chunk-signature=" + one + "\r\n" + sent +
                   "\r\n0;chunk-signature=" + last + "\r\n\r\n";
    return client->fetch(std::move(request)).value().status;
  };
  EXPECT_EQ(upload(true), 403);
  EXPECT_EQ(get("/data/chunked").status, 404);
  EXPECT_EQ(upload(false), 200);
  EXPECT_EQ(get("/data/chunked").body, chunk);
}

TEST_F(S3Test, UploadsInParts) {
  const std::string begun = put("", "POST", "/data/big?uploads=").body;
  const std::size_t from = begun.find("<UploadId>") + 10;
  const std::string id = begun.substr(from, begun.find('<', from) - from);
  const std::string part(5 << 20, 'p'), tail = "tail";
  auto etag = [&](const std::string& body, int number) {
    return std::string(
        put(body, "PUT", "/data/big?partNumber=" + std::to_string(number) + "&uploadId=" + id)
            .headers.get("etag"));
  };
  const std::string first = etag(part, 1), second = etag(tail, 2);
  auto complete = [&](const std::string& a, const std::string& b) {
    return put("<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>" + a +
                   "</ETag></Part><Part><PartNumber>2</PartNumber><ETag>" + b +
                   "</ETag></Part></CompleteMultipartUpload>",
               "POST", "/data/big?uploadId=" + id);
  };
  EXPECT_NE(complete(first, first).body.find("InvalidPart"), std::string::npos);
  EXPECT_EQ(complete(first, second).status, 200);
  EXPECT_EQ(get("/data/big").body, part + tail);
  net::Headers across;
  across.add("range",
             "bytes=" + std::to_string(part.size() - 1) + "-" + std::to_string(part.size() + 1));
  EXPECT_EQ(get("/data/big", across).body, "pta");
  EXPECT_NE(complete(first, second).body.find("NoSuchUpload"), std::string::npos);
}

}  // namespace
}  // namespace hekla::objects
