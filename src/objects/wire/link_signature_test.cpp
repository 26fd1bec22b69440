#include "objects/wire/link_signature.h"

#include <gtest/gtest.h>

#include "net/text.h"

namespace hekla::objects {
namespace {

constexpr const char* kSecret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";

net::Request link(const std::string& target) {
  net::Request request;
  request.method = "GET";
  request.target = target;
  request.query = net::Query::parse(std::string_view(target).substr(target.find('?') + 1));
  return request;
}

WallTime at(std::int64_t seconds) { return WallTime(std::chrono::seconds(seconds)); }

// The example that Amazon's own description of the version has.
TEST(LinkSignature, IsTheDocumentedOne) {
  const net::Request request = link(
      "/photos/puppy.jpg?AWSAccessKeyId=AKIAIOSFODNN7EXAMPLE&Signature="
      "NpgCjnDzrM%2BWFzoENXmpNDUsSn8%3D&Expires=1175139620");
  const std::optional<LinkSignature> signature = read_link_signature(request);
  ASSERT_TRUE(signature);
  EXPECT_EQ(signature->access_key, "AKIAIOSFODNN7EXAMPLE");
  EXPECT_TRUE(verify_link(request, "johnsmith", *signature, kSecret, at(1175139620)));
  EXPECT_EQ(verify_link(request, "johnsmith", *signature, kSecret, at(1175139621)).error().message,
            "Request has expired");
  EXPECT_EQ(verify_link(request, "smithjohn", *signature, kSecret, at(0)).error().code,
            "SignatureDoesNotMatch");
  EXPECT_EQ(verify_link(request, "johnsmith", *signature, "guess", at(0)).error().code,
            "SignatureDoesNotMatch");
}

TEST(LinkSignature, CoversWhatChangesTheMeaning) {
  const std::string tail =
      "AWSAccessKeyId=AKIAIOSFODNN7EXAMPLE&Signature="
      "NpgCjnDzrM%2BWFzoENXmpNDUsSn8%3D&Expires=1175139620";
  for (const char* more : {"acl&", "response-content-type=text%2Fhtml&", "uploadId=7&"}) {
    const net::Request request = link("/photos/puppy.jpg?" + std::string(more) + tail);
    EXPECT_FALSE(verify_link(request, "johnsmith", *read_link_signature(request), kSecret, at(0)))
        << more;
  }
  net::Request request = link("/photos/puppy.jpg?" + tail);
  request.headers.add("x-amz-copy-source", "/other/object");
  EXPECT_FALSE(verify_link(request, "johnsmith", *read_link_signature(request), kSecret, at(0)));
  EXPECT_FALSE(read_link_signature(link("/photos/puppy.jpg?Expires=1175139620")));
}

}  // namespace
}  // namespace hekla::objects
