#include "net/websocket.h"

#include <gtest/gtest.h>

namespace hekla::net {
namespace {

// As a client sends it: masked.
std::string masked(std::uint8_t first, std::string_view payload) {
  std::string plain = websocket_frame(WebSocketOpcode::binary, payload);
  std::size_t head = plain.size() - payload.size();
  std::string out = plain.substr(0, head);
  out[0] = static_cast<char>(first);
  out[1] = static_cast<char>(out[1] | 0x80);
  const std::string mask = "\x11\x22\x33\x44";
  out += mask;
  for (std::size_t i = 0; i < payload.size(); ++i)
    out += static_cast<char>(payload[i] ^ mask[i % 4]);
  return out;
}

std::vector<WebSocketMessage> read_all(std::string_view bytes, std::size_t step) {
  WebSocketReader reader(1 << 20);
  std::vector<WebSocketMessage> out;
  for (std::size_t at = 0; at < bytes.size(); at += step)
    EXPECT_TRUE(reader.feed(bytes.substr(at, step), out));
  return out;
}

TEST(WebSocket, AnswersTheHandshakeOfTheStandard) {
  Request request;
  request.headers.add("Connection", "keep-alive, Upgrade");
  request.headers.add("Upgrade", "WebSocket");
  request.headers.add("Sec-WebSocket-Version", "13");
  request.headers.add("Sec-WebSocket-Protocol", "v5.channel.k8s.io, v4.channel.k8s.io");
  EXPECT_TRUE(wants_websocket(request));
  EXPECT_FALSE(websocket_answer(request, ""));
  request.headers.add("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==");
  EXPECT_EQ(websocket_protocols(request),
            (std::vector<std::string>{"v5.channel.k8s.io", "v4.channel.k8s.io"}));
  Result<Headers> answer = websocket_answer(request, "v4.channel.k8s.io");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->get("Sec-WebSocket-Accept"), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
  EXPECT_EQ(answer->get("Sec-WebSocket-Protocol"), "v4.channel.k8s.io");
}

TEST(WebSocket, ReadsMessagesHoweverTheyAreCut) {
  const std::string large(70'000, 'x');
  std::string bytes = masked(0x82, "one") + masked(0x01, "two ") + masked(0x89, "ping") +
                      masked(0x80, "halves") + masked(0x82, large);
  for (std::size_t step : {bytes.size(), std::size_t{1}, std::size_t{7}, std::size_t{4096}}) {
    std::vector<WebSocketMessage> got = read_all(bytes, step);
    ASSERT_EQ(got.size(), 4u);
    EXPECT_EQ(got[0].payload, "one");
    EXPECT_EQ(got[1].opcode, WebSocketOpcode::ping);
    EXPECT_EQ(got[2].opcode, WebSocketOpcode::text);
    EXPECT_EQ(got[2].payload, "two halves");
    EXPECT_EQ(got[3].payload, large);
  }
}

TEST(WebSocket, RefusesWhatTheStandardForbids) {
  auto refused = [](const std::string& bytes, std::size_t limit = 100) {
    WebSocketReader reader(limit);
    std::vector<WebSocketMessage> out;
    return !reader.feed(bytes, out).has_value();
  };
  EXPECT_TRUE(refused(websocket_frame(WebSocketOpcode::binary, "not masked")));
  EXPECT_TRUE(refused(masked(0xc2, "reserved bit")));
  EXPECT_TRUE(refused(masked(0x83, "unknown opcode")));
  EXPECT_TRUE(refused(masked(0x80, "continues nothing")));
  EXPECT_TRUE(refused(masked(0x02, "begun") + masked(0x82, "begun again")));
  EXPECT_TRUE(refused(masked(0x09, "a ping in pieces")));
  EXPECT_TRUE(refused(masked(0x89, std::string(126, 'p')), 1000));
  EXPECT_FALSE(refused(masked(0x82, std::string(100, 'x'))));
  EXPECT_TRUE(refused(masked(0x82, std::string(101, 'x'))));
  EXPECT_TRUE(refused(masked(0x02, std::string(60, 'x')) + masked(0x80, std::string(60, 'x'))));
}

TEST(WebSocket, ReadsServersToo) {
  WebSocketReader reader(100, WebSocketReader::From::server);
  std::vector<WebSocketMessage> out;
  EXPECT_TRUE(reader.feed(websocket_frame(WebSocketOpcode::binary, "plain"), out));
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(out[0].payload, "plain");
  EXPECT_FALSE(reader.feed(masked(0x82, "masked"), out));
}

TEST(WebSocket, ClosesWithCodeAndReason) {
  std::string frame = websocket_close(1000, "bye");
  EXPECT_EQ(frame, std::string("\x88\x05\x03\xe8"
                               "bye",
                               7));
}

}  // namespace
}  // namespace hekla::net
