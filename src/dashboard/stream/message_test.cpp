#include "dashboard/stream/message.h"

#include <gtest/gtest.h>

#include "json/parse.h"

namespace hekla::dashboard {
namespace {

TEST(StreamMessage, ReadsASubscription) {
  auto request = parse_stream_request(
      R"({"op":"subscribe","id":7,"resource":"batch.volcano.sh/v1alpha1/jobs","namespace":"a",)"
      R"("labelSelector":"x=y","fieldSelector":"metadata.name=b","cursor":"12"})");
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_EQ(request->id, 7);
  EXPECT_EQ(request->resource.group, "batch.volcano.sh");
  EXPECT_EQ(request->resource.version, "v1alpha1");
  EXPECT_EQ(request->resource.plural, "jobs");
  EXPECT_EQ(request->ns, "a");
  EXPECT_EQ(request->label_selector, "x=y");
  EXPECT_EQ(request->field_selector, "metadata.name=b");
  EXPECT_EQ(request->cursor, "12");
}

TEST(StreamMessage, ReadsATopicAndItsParameters) {
  auto request =
      parse_stream_request(R"({"op":"subscribe","id":0,"topic":"runs","parameters":{"ns":"a"}})");
  ASSERT_TRUE(request);
  EXPECT_EQ(request->topic, "runs");
  EXPECT_EQ(request->parameters.at("ns"), "a");
}

TEST(StreamMessage, TheCoreGroupIsItsVersionAlone) {
  auto request = parse_stream_request(R"({"op":"subscribe","id":1,"resource":"v1/pods"})");
  ASSERT_TRUE(request);
  EXPECT_EQ(request->resource.group, "");
  EXPECT_EQ(request->resource.plural, "pods");
}

TEST(StreamMessage, RefusesWhatItCannotRead) {
  for (const char* text :
       {"", "[]", "{}", R"({"op":"subscribe"})", R"({"op":"delete","id":1})",
        R"({"op":"subscribe","id":1,"resource":"pods"})",
        R"({"op":"subscribe","id":1,"resource":"a/b/c/d"})",
        R"({"op":"subscribe","id":1,"resource":"v1/"})", R"({"op":"subscribe","id":-4})"})
    EXPECT_FALSE(parse_stream_request(text)) << text;
}

TEST(StreamMessage, AnObjectLosesWhatNobodyLooksAt) {
  EXPECT_EQ(
      page_object(
          R"({"kind":"Pod","metadata":{"name":"a","managedFields":[{"manager":"x\"}"}],)"
          R"("annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{}","k":"v"}},)"
          R"("spec":{"managedFields":1}})"),
      R"({"kind":"Pod","metadata":{"name":"a","annotations":{"k":"v"}},)"
      R"("spec":{"managedFields":1}})");
}

TEST(StreamMessage, MessagesAreJson) {
  MessageWriter pieces(3, "snapshot", "items");
  pieces.add(R"({"a":1})");
  pieces.add(R"({"a":2})");
  EXPECT_EQ(std::move(pieces).finish_with_more(),
            R"({"id":3,"type":"snapshot","items":[{"a":1},{"a":2}],"more":true})");
  MessageWriter changes(4, "changes", "changes");
  changes.add_change('D', "{}");
  EXPECT_EQ(std::move(changes).finish_with_cursor("9\""),
            R"({"id":4,"type":"changes","changes":[["D",{}]],"cursor":"9\""})");
  auto refused = json::parse(refused_message(5, {Code::forbidden, "no"}));
  ASSERT_TRUE(refused);
  EXPECT_EQ(json::int_at(*refused, {"code"}), 403);
  EXPECT_EQ(json::string_at(*refused, {"reason"}), "Forbidden");
}

}  // namespace
}  // namespace hekla::dashboard
