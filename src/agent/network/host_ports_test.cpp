#include "agent/network/host_ports.h"

#include <gtest/gtest.h>

#include "json/codec.h"

namespace hekla::agent {
namespace {

TEST(HostPorts, OfAPod) {
  auto pod = json::decode_text<model::PodSpec>(R"({
      "initContainers":[{"name":"side","ports":[{"containerPort":1,"hostPort":11}]}],
      "containers":[{"name":"c","ports":[{"containerPort":80},
        {"containerPort":8080,"hostPort":54323,"hostIP":"192.0.2.7","protocol":"TCP"},
        {"containerPort":53,"hostPort":5353,"hostIP":"0.0.0.0","protocol":"UDP"},
        {"containerPort":9,"hostPort":9,"protocol":"SCTP"},
        {"containerPort":9,"hostPort":9,"hostIP":"::1"}]}]})");
  ASSERT_TRUE(pod) << pod.error().message;
  const std::vector<HostPort> expected = {{{11, false, 0x7f000001}, {{"10.244.0.2", 1}}},
                                          {{54323, false, 0xc0000207}, {{"10.244.0.2", 8080}}},
                                          {{5353, true, 0}, {{"10.244.0.2", 53}}}};
  EXPECT_EQ(host_ports_of(*pod, "10.244.0.2"), expected);
}

}  // namespace
}  // namespace hekla::agent
