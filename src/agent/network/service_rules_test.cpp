#include "agent/network/service_rules.h"

#include <gtest/gtest.h>

namespace hekla::agent {
namespace {

model::Service web_service() {
  model::Service service;
  service.metadata.name = "web";
  service.spec.clusterIP = "10.96.7.7";
  service.spec.ports = {{.name = "http", .protocol = "TCP", .port = 80},
                        {.name = "dns", .protocol = "UDP", .port = 53}};
  return service;
}

ServiceEndpoints web_endpoints() {
  ServiceEndpoints endpoints;
  endpoints.subsets = {{.addresses = {{"10.244.0.9"}, {"10.244.0.5"}},
                        .ports = {{"http", "TCP", 8080}, {"dns", "UDP", 5353}}}};
  return endpoints;
}

TEST(ServiceRules, APortLeadsToTheEndpointsOfItsNameAndProtocol) {
  ServiceEndpoints endpoints = web_endpoints();
  auto routes = routes_of(web_service(), &endpoints);
  ASSERT_EQ(routes.size(), 2u);
  EXPECT_EQ(routes[0],
            (ServiceRoute{"10.96.7.7", "tcp", 80, {{"10.244.0.5", 8080}, {"10.244.0.9", 8080}}}));
  EXPECT_EQ(routes[1],
            (ServiceRoute{"10.96.7.7", "udp", 53, {{"10.244.0.5", 5353}, {"10.244.0.9", 5353}}}));
}

TEST(ServiceRules, SlicesCountOnceAndOnlyWhereReady) {
  ServiceSlice slice;
  slice.metadata.labels["kubernetes.io/service-name"] = "web";
  slice.endpoints = {
      {{"10.244.0.9"}, {true}}, {{"10.244.0.5"}, {}}, {{"10.244.0.6"}, {false}}, {{}, {true}}};
  slice.ports = {{"http", "TCP", 8080}};
  EXPECT_EQ(service_of(slice), "web");
  ServiceEndpoints endpoints;
  endpoints.subsets = {subset_of(slice), subset_of(slice)};
  auto routes = routes_of(web_service(), &endpoints);
  EXPECT_EQ(routes[0].targets,
            (ServiceRoute{"", "", 0, {{"10.244.0.5", 8080}, {"10.244.0.9", 8080}}}.targets));
  slice.metadata.labels.clear();
  EXPECT_EQ(service_of(slice), "");
}

TEST(ServiceRules, HeadlessAndExternalServicesHaveNone) {
  model::Service service = web_service();
  service.spec.clusterIP = "None";
  EXPECT_TRUE(routes_of(service, nullptr).empty());
  service.spec.clusterIP = "";
  EXPECT_TRUE(routes_of(service, nullptr).empty());
  service = web_service();
  service.spec.type = "ExternalName";
  EXPECT_TRUE(routes_of(service, nullptr).empty());
}

TEST(ServiceRules, SeveralTargetsShareConnectionsAndNoneIsRefused) {
  ServiceEndpoints endpoints = web_endpoints();
  std::string text = service_rules(routes_of(web_service(), &endpoints), "10.96.0.0/16");
  EXPECT_NE(text.find("ip daddr 10.96.7.7 tcp dport 80 dnat ip addr . port to numgen random mod 2 "
                      "map { 0 : 10.244.0.5 . 8080, 1 : 10.244.0.9 . 8080 }"),
            std::string::npos);
  EXPECT_NE(text.find("ip daddr 10.96.0.0/16 meta l4proto tcp reject with tcp reset"),
            std::string::npos);
  endpoints.subsets[0].addresses.clear();
  text = service_rules(routes_of(web_service(), &endpoints), "10.96.0.0/16");
  EXPECT_EQ(text.find("10.96.7.7"), std::string::npos);
}

TEST(ServiceRules, OneTargetNeedsNoMap) {
  std::string text =
      service_rules({{"10.96.0.1", "tcp", 443, {{"10.244.0.1", 6443}}}}, "10.96.0.0/16");
  EXPECT_NE(text.find("ip daddr 10.96.0.1 tcp dport 443 dnat to 10.244.0.1:6443\n"),
            std::string::npos);
}

}  // namespace
}  // namespace hekla::agent
