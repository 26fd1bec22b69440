#include "agent/dns/dns_service.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace hekla::agent {
namespace {

TEST(DnsService, IsMadeOnceAndItsEndpointsFollow) {
  const Subnet range = Subnet::parse("10.96.0.0/16").value();
  const auto count = [&](bool known, const char* plural) {
    return std::ranges::count_if(
        dns_service_writes(range, "10.244.0.1", known),
        [&](const kube::Write& write) { return write.resource.plural == plural; });
  };
  EXPECT_EQ(count(false, "services"), 1);
  EXPECT_EQ(count(true, "services"), 0);
  EXPECT_EQ(count(true, "endpoints"), count(false, "endpoints"));
}

}  // namespace
}  // namespace hekla::agent
