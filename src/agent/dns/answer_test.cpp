#include "agent/dns/answer.h"

#include <gtest/gtest.h>

#include "agent/network/address_pool.h"

namespace hekla::agent {
namespace {

constexpr int kA = 1, kPtr = 12, kAaaa = 28, kSrv = 33;

std::string query(const std::string& name, int type) {
  std::string out("\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00", 12);
  for (std::size_t at = 0; at < name.size();) {
    std::size_t dot = std::min(name.find('.', at), name.size());
    out += static_cast<char>(dot - at);
    out += name.substr(at, dot - at);
    at = dot + 1;
  }
  out += std::string("\0\0", 2);
  out += static_cast<char>(type);
  out += std::string("\0\1", 2);
  return out;
}

struct Header {
  int code, answers, authorities;
  bool authoritative, truncated;
};
Header header(const std::string& wire) {
  auto byte = [&](std::size_t i) { return static_cast<unsigned char>(wire[i]); };
  return {byte(3) & 15, byte(7), byte(9), (byte(2) & 4) != 0, (byte(2) & 2) != 0};
}

Zone sample() {
  model::Service job;
  job.metadata.name = "job";
  job.metadata.ns = "default";
  job.spec.clusterIP = "None";
  job.spec.selector = {{"app", "x"}};
  job.spec.ports = {{.name = "rdzv", .protocol = "TCP", .port = 29400}};
  model::Service outside;
  outside.metadata.name = "db";
  outside.metadata.ns = "default";
  outside.spec.type = "ExternalName";
  outside.spec.externalName = "db.example.com";
  std::vector<PodAddress> pods;
  for (int i = 0; i < 2; ++i)
    pods.push_back({"default",
                    "w" + std::to_string(i),
                    "w" + std::to_string(i),
                    "job",
                    {{"app", "x"}},
                    *parse_ipv4("10.244.0.2") + static_cast<std::uint32_t>(i),
                    true});
  ServiceEndpoints endpoints;
  endpoints.subsets = {{{{"10.244.0.2", "w0"}, {"10.244.0.3", "w1"}}, {{"rdzv", "TCP", 29400}}}};
  Zone zone =
      make_zone("cluster.local", {&job, &outside}, pods, [&](const model::Service& service) {
        return service.metadata.name == "job" ? &endpoints : nullptr;
      });
  zone.ranges = {Subnet::parse("10.244.0.0/16").value()};
  return zone;
}

std::string ask(const std::string& name, int type, std::size_t limit = 512) {
  return answer_query(sample(), query(name, type), limit).value().wire;
}

TEST(DnsAnswer, GivesEveryAddressWithAShortLife) {
  std::string wire = ask("JOB.default.svc.cluster.local", kA);
  EXPECT_EQ(wire.substr(0, 2), "\x12\x34");
  EXPECT_EQ(header(wire).code, 0);
  EXPECT_EQ(header(wire).answers, 2);
  EXPECT_TRUE(header(wire).authoritative);
  EXPECT_NE(wire.find(std::string("\x00\x00\x00\x05\x00\x04\x0a\xf4\x00\x02", 10)),
            std::string::npos);
}

TEST(DnsAnswer, AnExistingNameWithoutTheTypeIsNoError) {
  Header reply = header(ask("w0.job.default.svc.cluster.local", kAaaa));
  EXPECT_EQ(reply.code, 0);
  EXPECT_EQ(reply.answers, 0);
  EXPECT_EQ(reply.authorities, 1);
  EXPECT_EQ(header(ask("default.svc.cluster.local", kA)).code, 0);
}

TEST(DnsAnswer, AMissingNameIsNxdomainWithAuthority) {
  Header reply = header(ask("w9.job.default.svc.cluster.local", kA));
  EXPECT_EQ(reply.code, 3);
  EXPECT_EQ(reply.authorities, 1);
}

TEST(DnsAnswer, OutsideNamesAreRefused) {
  Header reply = header(ask("example.com", kA));
  EXPECT_EQ(reply.code, 5);
  EXPECT_FALSE(reply.authoritative);
}

TEST(DnsAnswer, ReverseNamesThePod) {
  std::string wire = ask("3.0.244.10.in-addr.arpa", kPtr);
  EXPECT_EQ(header(wire).answers, 1);
  EXPECT_NE(wire.find("w1"), std::string::npos);
  EXPECT_EQ(header(ask("9.0.244.10.in-addr.arpa", kPtr)).code, 3);
  EXPECT_EQ(header(ask("9.0.244.10.in-addr.arpa", kPtr)).authorities, 1);
  EXPECT_EQ(header(ask("3.0.244.10.in-addr.arpa", kA)).code, 0);
}

TEST(DnsAnswer, WhatIsElsewhereIsSaid) {
  auto elsewhere = [](const std::string& name, int type) {
    return answer_query(sample(), query(name, type), 512)->elsewhere;
  };
  EXPECT_EQ(elsewhere("Example.com", kA), "example.com");
  EXPECT_EQ(elsewhere("4.4.8.8.in-addr.arpa", kPtr), "4.4.8.8.in-addr.arpa");
  EXPECT_EQ(elsewhere("9.0.244.10.in-addr.arpa", kPtr), "");
  EXPECT_EQ(elsewhere("job.default.svc.cluster.local", kA), "");
  EXPECT_EQ(elsewhere("db.default.svc.cluster.local", kA), "db.example.com");
}

TEST(DnsAnswer, AnAliasIsFollowedToItsAddress) {
  const std::string asked = query("db.default.svc.cluster.local", kA);
  const DnsAnswer own = *answer_query(sample(), asked, 512);
  EXPECT_EQ(header(own.wire).answers, 1);
  EXPECT_EQ(query_for(asked, own.elsewhere), query("db.example.com", kA));
  std::string theirs = query("db.example.com", kA);
  theirs[2] = static_cast<char>(0x81);
  theirs[7] = 1;
  theirs += std::string("\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4\x01\x02\x03\x04", 16);
  const std::string joined = *join_answers(asked, own.wire, theirs, 512);
  EXPECT_EQ(joined.substr(0, 2), asked.substr(0, 2));
  EXPECT_EQ(header(joined).answers, 2);
  EXPECT_NE(joined.find(std::string("\0\0\0\x3c\0\4\x01\x02\x03\x04", 10)), std::string::npos);
  theirs[3] = 3;
  theirs[7] = 0;
  theirs.resize(theirs.size() - 16);
  EXPECT_EQ(header(*join_answers(asked, own.wire, theirs, 512)).code, 3);
  // A name that was not ours at all is theirs as it is.
  const std::string outside = query("example.com", kA);
  EXPECT_EQ(join_answers(outside, answer_query(sample(), outside, 512)->wire, theirs, 512), theirs);
}

TEST(DnsAnswer, ServicePortsAndAliases) {
  EXPECT_EQ(header(ask("_rdzv._tcp.job.default.svc.cluster.local", kSrv)).answers, 2);
  std::string wire = ask("db.default.svc.cluster.local", kA);
  EXPECT_EQ(header(wire).answers, 1);
  EXPECT_NE(wire.find("example"), std::string::npos);
}

TEST(DnsAnswer, LongAnswersAreCut) {
  std::string wire = ask("job.default.svc.cluster.local", kA, 60);
  EXPECT_TRUE(header(wire).truncated);
  EXPECT_EQ(header(wire).answers, 0);
}

TEST(DnsAnswer, IgnoresWhatIsNoQuestion) {
  EXPECT_FALSE(answer_query(sample(), "", 512));
  EXPECT_FALSE(answer_query(sample(), "garbage", 512));
  std::string response = query("job.default.svc.cluster.local", kA);
  response[2] = static_cast<char>(0x81);
  EXPECT_FALSE(answer_query(sample(), response, 512));
}

}  // namespace
}  // namespace hekla::agent
