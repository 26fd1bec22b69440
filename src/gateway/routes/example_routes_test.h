// Objects out of JSON, and a table of them, for tests of routes.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "gateway/routes/route_table.h"
#include "gateway/routes/virtual_service.h"
#include "json/parse.h"

namespace hekla::gateway {

inline framework::AnyObject object_of(const std::string& text) {
  Result<json::Value> value = json::parse(text);
  EXPECT_TRUE(value) << text;
  Result<framework::AnyObject> object = framework::AnyObject::from_node(*value);
  EXPECT_TRUE(object) << text;
  return std::move(*object);
}

// `http` is the list's inside.
inline framework::AnyObject virtual_service(const std::string& ns, const std::string& http) {
  return object_of(R"({"metadata":{"name":"vs","namespace":")" + ns +
                   R"("},"spec":{"hosts":["*"],"gateways":["kubeflow/kubeflow-gateway"],"http":[)" +
                   http + "]}}");
}

inline Result<std::vector<Rule>> rules_of(const std::string& ns, const std::string& http) {
  std::vector<std::string> remarks;
  return rules_of_virtual_service(virtual_service(ns, http), remarks);
}

inline RouteTable::Rules good_rules(const std::string& ns, const std::string& http) {
  Result<std::vector<Rule>> rules = rules_of(ns, http);
  EXPECT_TRUE(rules) << rules.error().message;
  return std::make_shared<const std::vector<Rule>>(std::move(*rules));
}

// A rule that takes a prefix to a service of its namespace.
inline std::string to_service(const std::string& prefix, const std::string& service,
                              const std::string& more = "") {
  return R"({"match":[{"uri":{"prefix":")" + prefix + R"("}}],"route":[{"destination":{"host":")" +
         service + R"(","port":{"number":80}}}])" + more + "}";
}

}  // namespace hekla::gateway
