#include "net/spdy.h"

#include <gtest/gtest.h>

#include "base/crypto.h"
#include "net/spdy_dictionary.h"

namespace hekla::net {
namespace {

Headers stream_headers(const std::string& type) {
  Headers headers;
  headers.add("streamtype", type);
  headers.add("port", "80");
  return headers;
}

std::vector<SpdyEvent> read_all(std::string_view bytes, std::size_t step) {
  SpdyReader reader;
  std::vector<SpdyEvent> out;
  for (std::size_t at = 0; at < bytes.size(); at += step)
    EXPECT_TRUE(reader.feed(bytes.substr(at, step), out));
  return out;
}

TEST(Spdy, TheDictionaryIsTheProtocols) {
  EXPECT_EQ(spdy_dictionary().size(), 1423u);
  EXPECT_EQ(sha256_hex(spdy_dictionary()),
            "51d27341373f923f3cd88e1eb7162aeaa3723d7585ff2399201dc06498407f02");
}

TEST(Spdy, ReadsFramesHoweverTheyAreCut) {
  SpdyWriter client;
  std::string bytes = client.syn_stream(1, stream_headers("error"), true);
  bytes += client.syn_stream(3, stream_headers("data"), false);
  bytes += SpdyWriter::data(3, "hello", false) + SpdyWriter::ping(7);
  bytes += SpdyWriter::data(3, "", true) + SpdyWriter::reset(1, 5);
  bytes += std::string("\x80\x03\x00\x07\x00\x00\x00\x08\x00\x00\x00\x03\x00\x00\x00\x00",
                       16);  // goaway
  for (std::size_t step : {bytes.size(), std::size_t{1}, std::size_t{13}}) {
    std::vector<SpdyEvent> got = read_all(bytes, step);
    ASSERT_EQ(got.size(), 7u);
    EXPECT_EQ(got[0].kind, SpdyEvent::Kind::stream);
    EXPECT_EQ(got[0].id, 1u);
    EXPECT_TRUE(got[0].fin);
    EXPECT_EQ(got[0].headers.get("streamtype"), "error");
    EXPECT_EQ(got[1].headers.get("StreamType"), "data");
    EXPECT_EQ(got[1].headers.get("port"), "80");
    EXPECT_EQ(got[2].data, "hello");
    EXPECT_FALSE(got[2].fin);
    EXPECT_EQ(got[3].kind, SpdyEvent::Kind::ping);
    EXPECT_EQ(got[3].id, 7u);
    EXPECT_TRUE(got[4].fin);
    EXPECT_EQ(got[5].kind, SpdyEvent::Kind::reset);
    EXPECT_EQ(got[6].kind, SpdyEvent::Kind::goaway);
  }
}

TEST(Spdy, AStreamIdIsUsedOnceAndGrows) {
  SpdyWriter client;
  std::string bytes;
  const std::uint32_t ids[] = {0, 1, 5, 5, 3, 7, 1};
  for (std::uint32_t id : ids) bytes += client.syn_stream(id, stream_headers("data"), false);
  std::vector<SpdyEvent> got = read_all(bytes, bytes.size());
  ASSERT_EQ(got.size(), std::size(ids));
  for (std::size_t i = 0; i < got.size(); ++i) {
    const bool first = i == 1 || i == 2 || i == 5;
    EXPECT_EQ(got[i].kind, first ? SpdyEvent::Kind::stream : SpdyEvent::Kind::refused_stream) << i;
    EXPECT_EQ(got[i].id, ids[i]);
  }
}

TEST(Spdy, IgnoresSettingsAndRefusesRubbish) {
  SpdyReader reader;
  std::vector<SpdyEvent> out;
  EXPECT_TRUE(
      reader.feed(std::string("\x80\x03\x00\x04\x00\x00\x00\x04\x00\x00\x00\x00", 12), out));
  EXPECT_TRUE(reader.feed(std::string("\x80\x03\x00\x09\x00\x00\x00\x00", 8), out));
  EXPECT_TRUE(out.empty());
  EXPECT_FALSE(reader.feed(std::string("\x80\x02\x00\x01\x00\x00\x00\x00", 8), out));
  SpdyReader second;
  EXPECT_FALSE(second.feed(
      std::string("\x80\x03\x00\x01\x00\x00\x00\x0e\0\0\0\1\0\0\0\0\0\0zzzz", 22), out));
  SpdyReader third;
  EXPECT_FALSE(third.feed(std::string("\x80\x03\x00\x01\x00\xff\xff\xff", 8), out));
}

TEST(Spdy, RepliesAreFramesToo) {
  SpdyWriter server;
  std::string reply = server.syn_reply(5);
  EXPECT_EQ(reply.substr(0, 4), std::string("\x80\x03\x00\x02", 4));
  EXPECT_EQ(reply.substr(8, 4), std::string("\0\0\0\x05", 4));
  EXPECT_EQ(SpdyWriter::data(5, "ab", true), std::string("\0\0\0\x05\x01\0\0\x02"
                                                         "ab",
                                                         10));
}

}  // namespace
}  // namespace hekla::net
