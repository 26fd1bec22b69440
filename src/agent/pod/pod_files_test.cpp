#include "agent/pod/pod_files.h"

#include <gtest/gtest.h>

#include "json/codec.h"

namespace hekla::agent {
namespace {

PodFiles files(const std::string& spec) {
  model::Pod pod = json::decode_text<model::Pod>(
                       R"({"metadata":{"name":"p","namespace":"ns"},"spec":)" + spec + "}")
                       .value();
  return pod_files(pod, {"10.244.0.2", "node-1", "cluster.local", "10.244.0.1",
                         "127.0.0.1 localhost\n", "nameserver 1.1.1.1\nsearch corp\n"});
}

TEST(PodFiles, ClusterFirstFindsServicesByTheirShortNames) {
  EXPECT_EQ(files("{}").resolv_conf,
            "search ns.svc.cluster.local svc.cluster.local cluster.local\n"
            "nameserver 10.244.0.1\noptions ndots:5\n");
  EXPECT_EQ(files(R"({"dnsPolicy":"Default"})").resolv_conf, "search corp\nnameserver 1.1.1.1\n");
  // From the host's network the cluster's responder is not to be had, whatever is asked for.
  for (const char* policy : {"ClusterFirst", "ClusterFirstWithHostNet"})
    EXPECT_EQ(
        files(std::string(R"({"hostNetwork":true,"dnsPolicy":")") + policy + "\"}").resolv_conf,
        "search corp\nnameserver 1.1.1.1\n");
}

TEST(PodFiles, DnsConfigAddsAndReplaces) {
  EXPECT_EQ(files(R"({"dnsPolicy":"None","dnsConfig":{"nameservers":["9.9.9.9"],"searches":["x.y"],
      "options":[{"name":"ndots","value":"2"},{"name":"edns0"}]}})")
                .resolv_conf,
            "search x.y\nnameserver 9.9.9.9\noptions ndots:2 edns0\n");
  EXPECT_NE(files(R"({"dnsConfig":{"options":[{"name":"ndots","value":"1"}]}})")
                .resolv_conf.find("options ndots:1\n"),
            std::string::npos);
}

TEST(PodFiles, HostsNameThePodItself) {
  EXPECT_NE(files("{}").hosts.find("\n10.244.0.2\tp\n"), std::string::npos);
  EXPECT_NE(files(R"({"hostname":"w","subdomain":"job"})")
                .hosts.find("10.244.0.2\tw.job.ns.svc.cluster.local\tw\n"),
            std::string::npos);
  EXPECT_NE(files(R"({"hostAliases":[{"ip":"1.2.3.4","hostnames":["a","b"]}]})")
                .hosts.find("\n# Entries added by HostAliases.\n1.2.3.4\ta\tb\n"),
            std::string::npos);
  EXPECT_NE(files(R"({"hostNetwork":true})").hosts.find("127.0.0.1 localhost"), std::string::npos);
}

TEST(PodFiles, HostNames) {
  EXPECT_EQ(files("{}").hostname, "p\n");
  EXPECT_EQ(files(R"({"hostNetwork":true})").hostname, "node-1\n");
  model::Pod longer;
  longer.metadata.name = std::string(62, 'x') + "-yz";
  EXPECT_EQ(pod_hostname(longer, "n"), std::string(62, 'x'));
}

TEST(PodFiles, TheKernelsNameMayBeTheWholeOne) {
  model::Pod pod;
  pod.metadata.name = "p";
  pod.metadata.ns = "team";
  EXPECT_EQ(kernel_hostname(pod, "n", "cluster.local", true), "p") << "it has no domain";
  pod.spec.subdomain = "sub";
  EXPECT_EQ(kernel_hostname(pod, "n", "cluster.local", false), "p");
  EXPECT_EQ(kernel_hostname(pod, "n", "cluster.local", true), "p.sub.team.svc.cluster.local");
  pod.metadata.name = std::string(37, 'x');
  EXPECT_EQ(kernel_hostname(pod, "n", "cluster.local", true).value().size(), 64u);
  pod.metadata.name += "x";
  EXPECT_TRUE(kernel_hostname(pod, "n", "cluster.local", true)
                  .error()
                  .message.contains("65 characters requested"));
}

}  // namespace
}  // namespace hekla::agent
