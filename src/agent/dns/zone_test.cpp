#include "agent/dns/zone.h"

#include <gtest/gtest.h>

#include "agent/network/address_pool.h"

namespace hekla::agent {
namespace {

model::Service service(const std::string& name, const std::string& cluster_ip,
                       std::map<std::string, std::string> selector = {{"app", "x"}}) {
  model::Service out;
  out.metadata.name = name;
  out.metadata.ns = "default";
  out.spec.clusterIP = cluster_ip;
  out.spec.selector = std::move(selector);
  return out;
}

PodAddress pod(const std::string& name, const std::string& ip, bool ready = true) {
  return PodAddress{"default", name, name, "job", {{"app", "x"}}, *parse_ipv4(ip), ready};
}

std::vector<std::string> lookup(const Zone& zone, const std::string& name) {
  std::vector<std::string> out;
  auto found = zone.addresses.find(name);
  if (found == zone.addresses.end()) return out;
  for (std::uint32_t address : found->second) out.push_back(ipv4_text(address));
  return out;
}

using Addresses = std::vector<std::string>;

TEST(Zone, AHeadlessServiceIsItsReadyPods) {
  model::Service job = service("job", "None");
  Zone zone =
      make_zone("cluster.local", {&job},
                {pod("a", "10.0.0.2"), pod("b", "10.0.0.3"), pod("late", "10.0.0.4", false)});
  EXPECT_EQ(lookup(zone, "job.default.svc.cluster.local"), (Addresses{"10.0.0.2", "10.0.0.3"}));
  EXPECT_EQ(lookup(zone, "a.job.default.svc.cluster.local"), (Addresses{"10.0.0.2"}));
  EXPECT_FALSE(zone.has("late.job.default.svc.cluster.local"));
}

TEST(Zone, PublishesUnreadyPodsOnRequest) {
  model::Service job = service("job", "None");
  job.spec.publishNotReadyAddresses = true;
  Zone zone = make_zone("cluster.local", {&job}, {pod("late", "10.0.0.4", false)});
  EXPECT_EQ(lookup(zone, "late.job.default.svc.cluster.local"), (Addresses{"10.0.0.4"}));
}

TEST(Zone, AClusterIpStandsForTheService) {
  model::Service web = service("Web", "10.96.0.10");
  web.spec.ports = {{.name = "http", .protocol = "TCP", .port = 80}};
  Zone zone = make_zone("cluster.local", {&web}, {pod("a", "10.0.0.2")});
  EXPECT_EQ(lookup(zone, "web.default.svc.cluster.local"), (Addresses{"10.96.0.10"}));
  EXPECT_EQ(zone.services.at("_http._tcp.web.default.svc.cluster.local").front().port, 80);
}

TEST(Zone, ASubdomainNeedsAServiceThatSelectsThePod) {
  model::Service other = service("job", "None", {{"app", "other"}});
  model::Service blind = service("blind", "None", {});
  Zone zone = make_zone("cluster.local", {&other, &blind}, {pod("a", "10.0.0.2")});
  EXPECT_FALSE(zone.has("a.job.default.svc.cluster.local"));
  EXPECT_TRUE(lookup(zone, "blind.default.svc.cluster.local").empty());
  EXPECT_TRUE(zone.has("blind.default.svc.cluster.local"));
}

TEST(Zone, ReverseIsThePodsOwnName) {
  model::Service job = service("job", "None");
  PodAddress plain = pod("plain", "10.0.0.9");
  plain.subdomain.clear();
  model::Service web = service("web", "10.96.0.7");
  Zone zone = make_zone("cluster.local", {&job, &web}, {pod("a", "10.0.0.2"), plain});
  EXPECT_EQ(zone.reverse.at(*parse_ipv4("10.96.0.7")), "web.default.svc.cluster.local");
  EXPECT_EQ(zone.reverse.at(*parse_ipv4("10.0.0.2")), "a.job.default.svc.cluster.local");
  EXPECT_EQ(zone.reverse.at(*parse_ipv4("10.0.0.9")), "10-0-0-9.default.pod.cluster.local");
}

TEST(Zone, AHeadlessServiceHasTheEndpointsThatAreNotPodsOfThisNode) {
  model::Service db = service("db", "None", {});
  db.spec.ports = {{.name = "sql", .protocol = "TCP", .port = 1}};
  model::Service job = service("job", "None");
  ServiceEndpoints by_hand, of_pods;
  by_hand.subsets = {
      {{{"192.168.7.1", "first"}, {"192.168.7.2", ""}}, {{"sql", "TCP", 5432}, {"", "TCP", 9}}}};
  of_pods.subsets = {{{{"10.0.0.4", "late"}, {"192.168.0.1", ""}},
                      {}}};  // one that we know better, one of the host's
  Zone zone = make_zone(
      "cluster.local", {&db, &job}, {pod("late", "10.0.0.4", false)},
      [&](const model::Service& one) { return one.metadata.name == "db" ? &by_hand : &of_pods; });
  EXPECT_EQ(lookup(zone, "db.default.svc.cluster.local"),
            (Addresses{"192.168.7.1", "192.168.7.2"}));
  EXPECT_EQ(lookup(zone, "first.db.default.svc.cluster.local"), (Addresses{"192.168.7.1"}));
  EXPECT_EQ(lookup(zone, "192-168-7-2.db.default.svc.cluster.local"), (Addresses{"192.168.7.2"}));
  EXPECT_EQ(zone.reverse.at(*parse_ipv4("192.168.7.1")), "first.db.default.svc.cluster.local");
  const auto& targets = zone.services.at("_sql._tcp.db.default.svc.cluster.local");
  ASSERT_EQ(targets.size(), 2u);
  EXPECT_EQ(targets[0].port, 5432);
  EXPECT_EQ(targets[0].host, "first.db.default.svc.cluster.local");
  EXPECT_EQ(lookup(zone, "job.default.svc.cluster.local"), (Addresses{"192.168.0.1"}));
}

TEST(Zone, InnerNamesExist) {
  model::Service job = service("job", "None");
  Zone zone = make_zone("cluster.local", {&job}, {});
  for (const char* name : {"cluster.local", "svc.cluster.local", "default.svc.cluster.local"})
    EXPECT_TRUE(zone.has(name)) << name;
  EXPECT_FALSE(zone.has("local"));
}

}  // namespace
}  // namespace hekla::agent
