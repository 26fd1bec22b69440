#include "agent/probes/probe.h"

#include <gtest/gtest.h>

#include "agent/probes/probe_run.h"
#include "json/parse.h"

namespace hekla::agent {
namespace {

using std::chrono::seconds;

std::optional<ProbeSpec> parsed(const char* text) {
  model::Container container;
  container.ports.push_back({.name = "web", .containerPort = 8080});
  return parse_probe(json::parse(text).value(), container);
}

TEST(Probe, ReadsWhatTheSpecSays) {
  auto http = parsed(R"({"httpGet":{"path":"healthz","port":"web","scheme":"HTTPS","httpHeaders":
      [{"name":"A","value":"b"}]},"periodSeconds":3,"failureThreshold":5,"timeoutSeconds":2,
      "terminationGracePeriodSeconds":7})");
  ASSERT_TRUE(http);
  EXPECT_EQ(http->action.kind, ProbeAction::Kind::http);
  EXPECT_EQ(http->action.path, "/healthz");
  EXPECT_EQ(http->action.scheme, "https");
  EXPECT_EQ(http->action.port, 8080);
  EXPECT_EQ(http->action.headers.size(), 1u);
  EXPECT_EQ(http->action.timeout, seconds(2));
  EXPECT_EQ(http->period, seconds(3));
  EXPECT_EQ(http->failure_threshold, 5);
  EXPECT_EQ(http->success_threshold, 1);
  EXPECT_EQ(http->grace_seconds, 7);
  EXPECT_EQ(parsed(R"({"tcpSocket":{"port":80}})")->action.port, 80);
  EXPECT_EQ(parsed(R"({"grpc":{"port":80,"service":"s"}})")->action.service, "s");
  EXPECT_FALSE(parsed(R"({"tcpSocket":{"port":"unknown"}})"));
  EXPECT_FALSE(parsed("{}"));
  EXPECT_FALSE(parsed("null"));
}

TEST(Probe, PodsOnTheHostsNetworkProbeNoOtherPods) {
  PodNetwork network({}, {}, -1, nullptr);
  ProbeTarget target{
      .pod_uid = "u", .pod_ip = "127.0.0.1", .host_network = true, .exec = {}, .own_ranges = {}};
  target.own_ranges = net::OwnRanges::parse({"127.1.0.0/16"}).value();
  for (ProbeAction::Kind kind :
       {ProbeAction::Kind::tcp, ProbeAction::Kind::http, ProbeAction::Kind::grpc}) {
    ProbeAction action;
    action.kind = kind;
    action.host = target.pod_ip = "127.1.2.3";
    action.port = 9;
    action.timeout = std::chrono::seconds(1);
    Result<ProbeOutcome> outcome = run_probe(action, target, network);
    ASSERT_TRUE(outcome) << outcome.error().message;
    EXPECT_FALSE(outcome->success);
    EXPECT_TRUE(
        outcome->output.ends_with("dial tcp 127.1.2.3:9: 127.1.2.3 is an address of pods or "
                                  "services, which cannot be reached from the host's "
                                  "network"))
        << outcome->output;
  }
}

TEST(Probe, CountsRows) {
  ProbeSpec spec;
  spec.success_threshold = 2;
  spec.failure_threshold = 3;
  ProbeCounter counter(spec);
  EXPECT_EQ(counter.add(true), std::nullopt);
  EXPECT_EQ(counter.add(true), true);
  EXPECT_EQ(counter.add(false), std::nullopt);
  EXPECT_EQ(counter.add(false), std::nullopt);
  EXPECT_EQ(counter.add(true), std::nullopt) << "one success is not a row of two";
  EXPECT_EQ(counter.add(false), std::nullopt);
  EXPECT_EQ(counter.add(false), std::nullopt);
  EXPECT_EQ(counter.add(false), false);
}

}  // namespace
}  // namespace hekla::agent
