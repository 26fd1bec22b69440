#include "net/own_ranges.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>

namespace hekla::net {
namespace {

std::string refusal(const OwnRanges& ranges, const char* text) {
  sockaddr_in in{};
  sockaddr_in6 in6{};
  in.sin_family = AF_INET;
  in6.sin6_family = AF_INET6;
  const bool four = ::inet_pton(AF_INET, text, &in.sin_addr) == 1;
  EXPECT_TRUE(four || ::inet_pton(AF_INET6, text, &in6.sin6_addr) == 1) << text;
  return ranges.refusal(four ? reinterpret_cast<sockaddr*>(&in) : reinterpret_cast<sockaddr*>(&in6))
      .value_or("");
}

TEST(OwnRanges, OwnAddressesAreRefusedByName) {
  const OwnRanges ranges = OwnRanges::parse({"10.244.0.0/16", "10.96.0.0/16"}).value();
  EXPECT_EQ(refusal(ranges, "10.244.3.4"),
            "10.244.3.4 is an address of pods or services, which cannot be reached from the host's "
            "network");
  for (const char* own : {"10.244.0.0", "10.244.255.255", "10.96.0.1", "::ffff:10.96.0.1"})
    EXPECT_NE(refusal(ranges, own), "") << own;
  for (const char* other : {"10.243.255.255", "10.245.0.0", "127.0.0.1", "::1", "::ffff:127.0.0.1"})
    EXPECT_EQ(refusal(ranges, other), "") << other;
  EXPECT_EQ(refusal(OwnRanges(), "10.244.3.4"), "");
}

TEST(OwnRanges, WhatIsNoRangeIsAnError) {
  for (const char* text : {"", "10.0.0.0", "10.0.0.0/33", "10.0.0/8", "x/8", "::/0"})
    EXPECT_FALSE(OwnRanges::parse({text})) << text;
}

}  // namespace
}  // namespace hekla::net
