#include "gateway/web_table.h"

#include <gtest/gtest.h>

namespace hekla::gateway {
namespace {

kube::WebRoute route(std::string prefix, bool any_tail = false) {
  kube::WebRoute made;
  made.prefix = std::move(prefix);
  made.any_tail = any_tail;
  made.handler = [](const kube::WebExchange&) {};
  return made;
}

WebTable example() {
  Result<WebTable> made = WebTable::make({route("/"), route("/jupyter/"), route("/jupyter/api/"),
                                          route("/apis/v2beta1"), route("/ml_metadata.", true)});
  EXPECT_TRUE(made) << made.error().message;
  return std::move(*made);
}

TEST(WebTable, LongestPrefixOfWholeSegmentsWins) {
  const WebTable table = example();
  const std::vector<std::pair<std::string, std::string>> rows{
      {"/", "/"},
      {"/unknown", "/"},
      {"/jupyter/", "/jupyter/"},
      {"/jupyter/new", "/jupyter/"},
      {"/jupyter/api/config", "/jupyter/api/"},
      {"/jupyterx", "/"},
      {"/apis/v2beta1", "/apis/v2beta1"},
      {"/apis/v2beta1/runs", "/apis/v2beta1"},
      {"/apis/v2beta10", "/"},
      {"/ml_metadata.MetadataStoreService/GetTypes", "/ml_metadata."},
  };
  for (const auto& [path, prefix] : rows) {
    const WebTable::Found found = table.find(path);
    ASSERT_NE(found.route, nullptr) << path;
    EXPECT_EQ(found.route->prefix, prefix) << path;
    EXPECT_EQ(found.redirect, "") << path;
  }
}

TEST(WebTable, SendsToTheSlashThatIsMissing) {
  const WebTable table = example();
  EXPECT_EQ(table.find("/jupyter").redirect, "/jupyter/");
  EXPECT_EQ(table.find("/jupyter").route, nullptr);
  EXPECT_EQ(table.find("/jupyter/api").redirect, "/jupyter/api/");
}

TEST(WebTable, OwnsWhatIsBelowAndAbove) {
  const WebTable table = example();
  for (std::string_view owned : {"/jupyter", "/jupyter/", "/jupyter/x", "/jup", "/apis/v2beta1/x"})
    EXPECT_TRUE(table.owns(owned)) << owned;
  for (std::string_view free : {"/", "/notebook/a/b/", "/mlflow"})
    EXPECT_FALSE(table.owns(free)) << free;
}

TEST(WebTable, RefusesWhatMakesNoSense) {
  EXPECT_EQ(WebTable::make({route("jupyter")}).error().message,
            "web route \"jupyter\" does not begin with a slash");
  EXPECT_EQ(WebTable::make({route("/a"), route("/a")}).error().message, "two web routes claim /a");
  kube::WebRoute silent = route("/a");
  silent.handler = nullptr;
  EXPECT_EQ(WebTable::make({silent}).error().message, "web route /a has no handler");
  kube::WebRoute open = route("/a");
  open.gate = kube::WebGate::object;
  EXPECT_FALSE(WebTable::make({open}));
}

}  // namespace
}  // namespace hekla::gateway
