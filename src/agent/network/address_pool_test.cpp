#include "agent/network/address_pool.h"

#include <gtest/gtest.h>

namespace hekla::agent {
namespace {

TEST(AddressPool, BeginsBehindTheGatewayAndGoesRound) {
  AddressPool pool(Subnet::parse("10.1.0.0/29").value());
  for (const char* wanted : {"10.1.0.2", "10.1.0.3", "10.1.0.4", "10.1.0.5", "10.1.0.6"})
    EXPECT_EQ(ipv4_text(*pool.take()), wanted);
  EXPECT_FALSE(pool.take());
  pool.release(*parse_ipv4("10.1.0.4"));
  EXPECT_EQ(ipv4_text(*pool.take()), "10.1.0.4");
}

TEST(AddressPool, AReleasedAddressRests) {
  AddressPool pool(Subnet::parse("10.244.0.0/16").value());
  std::uint32_t first = *pool.take();
  pool.release(first);
  EXPECT_NE(*pool.take(), first);
}

TEST(AddressPool, ClaimedAddressesAreNotGivenAway) {
  AddressPool pool(Subnet::parse("10.1.0.0/29").value());
  EXPECT_TRUE(pool.claim(*parse_ipv4("10.1.0.2")));
  EXPECT_FALSE(pool.claim(*parse_ipv4("10.1.0.2")));
  EXPECT_FALSE(pool.claim(*parse_ipv4("10.1.0.1")));
  EXPECT_FALSE(pool.claim(*parse_ipv4("10.1.0.7")));
  EXPECT_EQ(ipv4_text(*pool.take()), "10.1.0.3");
}

TEST(Subnet, RefusesWhatIsNoRange) {
  for (const char* text : {"", "10.0.0.0", "10.0.0.1/16", "10.0.0.0/30", "10.0.0.0/7", "10.0.0.0/x",
                           "fd00::/64", "10.0.0.0/16 "})
    EXPECT_FALSE(Subnet::parse(text)) << text;
  EXPECT_EQ(ipv4_text(Subnet::parse("10.244.0.0/16")->gateway()), "10.244.0.1");
}

}  // namespace
}  // namespace hekla::agent
