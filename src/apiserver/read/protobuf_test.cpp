// Protobuf bodies against Kubernetes' own golden files, and against damage.
#include "apiserver/read/protobuf.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "apiserver/read/protobuf_wire.h"
#include "json/parse.h"

namespace hekla::apiserver {
namespace {

std::filesystem::path test_data() {
  return std::filesystem::path(__FILE__).parent_path() / "testdata";
}

std::string contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// Magic, then runtime.Unknown {1: {1: apiVersion, 2: kind}, 2: raw}.
std::string envelope(std::string_view api_version, std::string_view kind, std::string_view raw) {
  std::string type, out(kProtobufMagic);
  protobuf::put_bytes(type, 1, api_version);
  protobuf::put_bytes(type, 2, kind);
  protobuf::put_bytes(out, 1, type);
  protobuf::put_bytes(out, 2, raw);
  return out;
}

TEST(Protobuf, GoldenFilesDecodeToTheirJson) {
  int seen = 0;
  for (const auto& entry : std::filesystem::directory_iterator(test_data())) {
    if (entry.path().extension() != ".pb") continue;
    ++seen;
    auto decoded = decode_protobuf(contents(entry.path()));
    ASSERT_TRUE(decoded.has_value()) << entry.path() << ": " << decoded.error().message;
    std::filesystem::path text = entry.path();
    auto expected = json::parse(contents(text.replace_extension(".json")));
    ASSERT_TRUE(expected.has_value());
    EXPECT_TRUE(json::equal(*decoded, *expected)) << entry.path();
  }
  EXPECT_EQ(seen, 8);
}

TEST(Protobuf, WhatIsEncodedDecodesToTheSame) {
  for (const auto& entry : std::filesystem::directory_iterator(test_data())) {
    if (entry.path().extension() != ".json") continue;
    auto object = json::parse(contents(entry.path()));
    ASSERT_TRUE(object.has_value());
    auto encoded = encode_protobuf(*object);
    ASSERT_TRUE(encoded.has_value()) << entry.path() << ": " << encoded.error().message;
    auto decoded = decode_protobuf(*encoded);
    ASSERT_TRUE(decoded.has_value()) << entry.path() << ": " << decoded.error().message;
    EXPECT_TRUE(json::equal(*decoded, *object)) << entry.path();
  }
}

TEST(Protobuf, AWatchFrameIsItsLengthTypeAndObject) {
  auto event = json::parse(
      R"({"type":"ADDED","object":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"m"}}})");
  auto frame = encode_watch_frame(*event);
  ASSERT_TRUE(frame.has_value());
  EXPECT_EQ(frame->size(), 4 + static_cast<unsigned char>((*frame)[3]));
  protobuf::Reader reader(std::string_view(*frame).substr(4));
  auto type = reader.next();
  EXPECT_EQ(type->bytes, "ADDED");
  auto object = reader.next();
  protobuf::Reader raw(object->bytes);
  auto decoded = decode_protobuf(raw.next()->bytes);
  ASSERT_TRUE(decoded.has_value());
  EXPECT_EQ(json::string_at(*decoded, {"metadata", "name"}), "m");
}

TEST(Protobuf, ZeroValuesOfPlainFieldsVanishAndThoseOfPointersStay) {
  std::string spec, deployment;
  protobuf::put_varint(spec, 1, 0);  // replicas, a pointer
  protobuf::put_varint(spec, 5, 0);  // minReadySeconds, plain
  protobuf::put_varint(spec, 7, 0);  // paused, plain
  protobuf::put_bytes(deployment, 2, spec);
  auto decoded = decode_protobuf(envelope("apps/v1", "Deployment", deployment));
  ASSERT_TRUE(decoded.has_value()) << decoded.error().message;
  EXPECT_EQ(json::serialize(*decoded),
            R"({"kind":"Deployment","apiVersion":"apps/v1","spec":{"replicas":0}})");
}

TEST(Protobuf, NegativeIntegersAndEmptyTimes) {
  std::string meta, spec, pod;
  protobuf::put_bytes(meta, 1, "p");
  protobuf::put_bytes(meta, 8, "");  // creationTimestamp
  protobuf::put_varint(spec, 4, static_cast<std::uint64_t>(-5));
  protobuf::put_bytes(pod, 1, meta);
  protobuf::put_bytes(pod, 2, spec);
  auto decoded = decode_protobuf(envelope("v1", "Pod", pod));
  ASSERT_TRUE(decoded.has_value()) << decoded.error().message;
  EXPECT_TRUE(json::equal(
      *decoded,
      *json::parse(
          R"({"kind":"Pod","apiVersion":"v1","metadata":{"name":"p","creationTimestamp":null},)"
          R"("spec":{"terminationGracePeriodSeconds":-5}})")))
      << json::serialize(*decoded);
}

TEST(Protobuf, AnEntryOfAMapMayLackItsKeyAndItsValue) {
  std::string meta, pod;
  protobuf::put_bytes(meta, 11, "");  // labels
  protobuf::put_bytes(pod, 1, meta);
  auto decoded = decode_protobuf(envelope("v1", "Pod", pod));
  ASSERT_TRUE(decoded.has_value()) << decoded.error().message;
  EXPECT_EQ(json::serialize(*json::find_path(*decoded, {"metadata", "labels"})), R"({"":""})");
}

// Go's zero time and a moment, as client-go's own tests like to write them.
TEST(Protobuf, TimesOfAnyYearComeBack) {
  for (const char* time : {"0001-01-01T00:00:02.000000Z", "9999-12-31T23:59:59.999999Z"}) {
    auto lease = json::parse(
        std::string(R"({"kind":"Lease","apiVersion":"coordination.k8s.io/v1","metadata":)") +
        R"({"name":"l"},"spec":{"renewTime":")" + time + "\"}}");
    auto decoded = decode_protobuf(*encode_protobuf(*lease));
    ASSERT_TRUE(decoded.has_value()) << decoded.error().message;
    EXPECT_EQ(json::string_at(*decoded, {"spec", "renewTime"}), time);
  }
  std::string time, spec, lease;
  protobuf::put_varint(time, 1, 253'402'300'800);  // the year 10000
  protobuf::put_bytes(spec, 4, time);
  protobuf::put_bytes(lease, 2, spec);
  EXPECT_FALSE(decode_protobuf(envelope("coordination.k8s.io/v1", "Lease", lease)).has_value());
}

TEST(Protobuf, OptionsCarryTheGroupOfTheirResource) {
  std::string options;
  protobuf::put_varint(options, 1, 5);
  auto decoded = decode_protobuf(envelope("apps/v1", "DeleteOptions", options));
  ASSERT_TRUE(decoded.has_value()) << decoded.error().message;
  EXPECT_EQ(json::int_at(*decoded, {"gracePeriodSeconds"}), 5);
}

TEST(Protobuf, ReviewsAndSubresourcesAreKnown) {
  for (const auto& [version, kind] :
       {std::pair<const char*, const char*>{"authorization.k8s.io/v1", "SelfSubjectAccessReview"},
        {"authentication.k8s.io/v1", "TokenRequest"},
        {"authentication.k8s.io/v1", "TokenReview"},
        {"policy/v1", "Eviction"},
        {"policy/v1beta1", "Eviction"},
        {"v1", "Binding"},
        {"autoscaling/v1", "Scale"},
        {"rbac.authorization.k8s.io/v1", "Role"},
        {"apiregistration.k8s.io/v1", "APIService"}})
    EXPECT_TRUE(decode_protobuf(envelope(version, kind, "")).has_value()) << version << " " << kind;
  EXPECT_FALSE(decode_protobuf(envelope("batch.volcano.sh/v1alpha1", "Job", "")).has_value());
}

TEST(Protobuf, UnknownFieldsAreSkipped) {
  std::string map;
  protobuf::put_varint(map, 99, 7);
  protobuf::put_double(map, 98, 1.5);
  auto decoded = decode_protobuf(envelope("v1", "ConfigMap", map));
  ASSERT_TRUE(decoded.has_value());
  EXPECT_EQ(json::serialize(*decoded), R"({"kind":"ConfigMap","apiVersion":"v1"})");
}

TEST(Protobuf, DamageIsAnErrorAndNeverACrash) {
  EXPECT_FALSE(decode_protobuf("{}").has_value());
  EXPECT_FALSE(decode_protobuf("").has_value());
  std::string whole = contents(test_data() / "core.v1.Service.pb");
  for (std::size_t size = 4; size < whole.size(); ++size)
    (void)decode_protobuf(std::string_view(whole).substr(0, size));
  for (std::size_t at = 4; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0xff);
    auto decoded = decode_protobuf(damaged);
    // A body that is accepted must be JSON again: strings are checked for UTF-8.
    if (!decoded) continue;
    EXPECT_TRUE(json::parse(json::serialize(*decoded)).has_value()) << at;
  }
}

TEST(Protobuf, NestingIsBounded) {
  std::string schema;
  for (int i = 0; i < 300; ++i) {
    std::string outer;
    protobuf::put_bytes(outer, 28, schema);  // not
    schema = outer;
  }
  EXPECT_FALSE(
      decode_message("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps",
                     schema)
          .has_value());
}

}  // namespace
}  // namespace hekla::apiserver
