// Streamed answers: flushed at once, gathered, slowed down by their reader, ended by either side.
#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "base/loop.h"
#include "net/raw_peer_test.h"
#include "net/server.h"
#include "net/wire/http_parser.h"
#include "net/write_batch.h"

namespace hekla::net {
namespace {

using namespace std::chrono_literals;
using WriterPtr = std::shared_ptr<ResponseWriter>;

// Hands the writer of each request to the test.
class Streams : public testing::Test {
 protected:
  Streams() {
    ServerOptions options;
    options.tls = false;
    server = Server::start(options, [this](Request, WriterPtr writer) {
               writer->on_closed([this] { closed.set_value(); });
               writer->on_drained([this] { ++drained; });
               writer->begin(200, {});
               begun.set_value(writer);
             }).value();
  }
  ~Streams() override {
    if (server) server->stop(0ms);
  }
  WriterPtr open(RawPeer& peer) {
    peer.send("GET /watch HTTP/1.1\r\nHost: h\r\n\r\n");
    return begun.get_future().get();
  }
  bool is_closed_soon() {
    return closed.get_future().wait_for(kPatience) == std::future_status::ready;
  }

  std::promise<WriterPtr> begun;
  std::promise<void> closed;
  std::atomic<int> drained = 0;
  std::unique_ptr<Server> server;
};

std::string decode_chunks(std::string_view text) {
  text.remove_prefix(text.find("\r\n\r\n") + 4);
  Headers headers;
  headers.add("Transfer-Encoding", "chunked");
  BodyReader reader = BodyReader::for_request(headers, 1, std::size_t{1} << 30).value();
  std::string out;
  EXPECT_TRUE(reader.feed(text, out));
  EXPECT_TRUE(reader.complete());
  return out;
}

TEST_F(Streams, HeadersAndChunksComeWithoutDelay) {
  RawPeer peer(server->port());
  WriterPtr writer = open(peer);
  EXPECT_NE(peer.receive_until("\r\n\r\n").find("Transfer-Encoding: chunked"), std::string::npos);
  peer.received.clear();
  writer->write("{\"type\":\"ADDED\"}\n");
  EXPECT_EQ(peer.receive_until("\n\r\n"), "11\r\n{\"type\":\"ADDED\"}\n\r\n");
  writer->end();
  EXPECT_TRUE(peer.receive_until("0\r\n\r\n").ends_with("0\r\n\r\n"));
  EXPECT_TRUE(is_closed_soon());
  EXPECT_TRUE(writer->is_closed());
}

TEST_F(Streams, ConnectionServesAnotherRequestAfterAStream) {
  RawPeer peer(server->port());
  WriterPtr writer = open(peer);
  writer->end();
  EXPECT_TRUE(is_closed_soon());
  begun = {};
  closed = {};
  WriterPtr second = open(peer);
  second->write("again");
  EXPECT_NE(peer.receive_until("again").find("5\r\nagain"), std::string::npos);
  second->end();
}

TEST_F(Streams, ASlowReaderIsSeenInPendingBytesAndDrainedFiresWhenItCatchesUp) {
  RawPeer peer(server->port(), 65536);
  WriterPtr writer = open(peer);
  std::string chunk(1023, 'x'), expected;
  chunk += '\n';
  for (int i = 0; i < 10'000; ++i) {
    writer->write(chunk);
    expected += chunk;
  }
  EXPECT_GT(writer->pending_bytes(), 1u << 20);
  int drained_before = drained;
  writer->write("last\n");
  peer.receive_until("last\n");
  EXPECT_TRUE(soon([&] { return drained != drained_before || writer->is_closed(); }));
  EXPECT_EQ(writer->pending_bytes(), 0u);
  writer->end();
  peer.receive_until("0\r\n\r\n");
  EXPECT_TRUE(decode_chunks(peer.received) == expected + "last\n");
}

TEST_F(Streams, AChunkLargerThanAnyWriteArrivesWhole) {
  RawPeer peer(server->port());
  WriterPtr writer = open(peer);
  std::string large;
  for (int i = 0; i < 100'000; ++i) large += std::to_string(i);
  writer->write("before\n");
  writer->write(large);
  writer->write("after\n");
  writer->end();
  peer.receive_until("\r\n0\r\n\r\n");
  EXPECT_TRUE(decode_chunks(peer.received) == "before\n" + large + "after\n");
}

TEST_F(Streams, TwoStreamsShareTheirBytes) {
  RawPeer first(server->port()), second(server->port());
  WriterPtr to_first = open(first);
  begun = {};
  WriterPtr to_second = open(second);
  auto event = std::make_shared<const std::string>("one event for both\n");
  for (const WriterPtr& writer : {to_first, to_second}) writer->write(event);
  EXPECT_TRUE(first.receive_until(*event + "\r\n").ends_with("13\r\n" + *event + "\r\n"))
      << first.received;
  EXPECT_TRUE(second.receive_until(*event + "\r\n").ends_with("13\r\n" + *event + "\r\n"))
      << second.received;
  to_first->end();
  EXPECT_TRUE(is_closed_soon());
  closed = {};
  to_second->end();
  EXPECT_TRUE(is_closed_soon());
  EXPECT_TRUE(soon([&] { return event.use_count() == 1; }));
}

TEST_F(Streams, ABatchHoldsBackWhatItsThreadWritesUntilItsEnd) {
  RawPeer peer(server->port());
  WriterPtr writer = open(peer);
  {
    WriteBatch outer;
    writer->write("one ");
    {
      WriteBatch inner;
      writer->write("two ");
    }
    writer->write("three\n");
  }
  peer.receive_until("three\n\r\n");
  ASSERT_TRUE(soon([&] { return writer->pending_bytes() == 0; }));
  {
    WriteBatch batch;
    writer->write("four ");
    writer->write("five\n");
    EXPECT_EQ(writer->pending_bytes(), 10u) << "nobody has been told";
  }
  EXPECT_TRUE(peer.receive_until("five\n\r\n").ends_with("a\r\nfour five\n\r\n")) << peer.received;
  {
    WriteBatch batch;
    writer->end();
    peer.received.clear();
  }
  EXPECT_EQ(peer.receive_until("0\r\n\r\n"), "0\r\n\r\n");
  EXPECT_TRUE(is_closed_soon());
}

TEST_F(Streams, ManyThreadsMayWrite) {
  RawPeer peer(server->port());
  WriterPtr writer = open(peer);
  {
    WorkerPool pool("writers", 4);
    for (int i = 0; i < 4; ++i) {
      Task task = [writer] {
        for (int j = 0; j < 1000; ++j) writer->write("abcdefg\n");
      };
      ASSERT_TRUE(pool.try_post(task));
    }
  }
  writer->end();
  peer.receive_until("\r\n0\r\n\r\n");
  std::string body = decode_chunks(peer.received);
  EXPECT_EQ(body.size(), 4u * 1000 * 8);
  for (std::size_t at = 0; at < body.size(); at += 8) ASSERT_EQ(body.substr(at, 8), "abcdefg\n");
}

TEST_F(Streams, APeerThatLeavesIsNoticedWithoutWriting) {
  WriterPtr writer;
  {
    RawPeer peer(server->port());
    writer = open(peer);
    EXPECT_FALSE(writer->is_closed());
  }
  EXPECT_TRUE(is_closed_soon());
  EXPECT_TRUE(writer->is_closed());
  writer->write("into the void");
  EXPECT_EQ(writer->pending_bytes(), 0u);
}

TEST_F(Streams, APeerThatLeavesWithAFullQueueIsNoticed) {
  WriterPtr writer;
  {
    RawPeer peer(server->port(), 4096);
    writer = open(peer);
    for (int i = 0; i < 200; ++i) writer->write(std::string(100'000, 'x'));
  }
  EXPECT_TRUE(is_closed_soon());
}

TEST_F(Streams, AbortBreaksOffWithoutTheLastChunk) {
  RawPeer peer(server->port());
  WriterPtr writer = open(peer);
  peer.receive_until("\r\n\r\n");
  writer->abort();
  EXPECT_FALSE(peer.receive_all().ends_with("0\r\n\r\n"));
  EXPECT_TRUE(is_closed_soon());
}

TEST_F(Streams, AbortWorksWhileThePeerDoesNotRead) {
  RawPeer peer(server->port(), 4096);
  WriterPtr writer = open(peer);
  for (int i = 0; i < 200; ++i) writer->write(std::string(100'000, 'x'));
  writer->abort();
  EXPECT_TRUE(is_closed_soon());
}

TEST_F(Streams, DroppingTheWriterBreaksOff) {
  RawPeer peer(server->port());
  WriterPtr writer = open(peer);
  begun = {};  // it held a reference
  writer.reset();
  EXPECT_FALSE(peer.receive_all().ends_with("0\r\n\r\n"));
  EXPECT_TRUE(is_closed_soon());
}

TEST_F(Streams, StopEndsStreamsCleanly) {
  RawPeer peer(server->port());
  WriterPtr writer = open(peer);
  writer->write("last words");
  server->stop(kPatience);
  EXPECT_TRUE(writer->is_closed());
  EXPECT_TRUE(is_closed_soon());
  EXPECT_TRUE(peer.receive_all().ends_with("last words\r\n0\r\n\r\n")) << peer.received;
}

TEST_F(Streams, CallbackSetTooLateRunsAtOnce) {
  RawPeer peer(server->port());
  WriterPtr writer = open(peer);
  writer->end();
  ASSERT_TRUE(is_closed_soon());
  bool told = false;
  writer->on_closed([&] { told = true; });
  EXPECT_TRUE(told);
}

TEST(Upgrades, BytesFlowBothWaysUntilTheEnd) {
  ServerOptions options;
  options.tls = false;
  std::promise<WriterPtr> upgraded;
  std::promise<void> gone;
  auto server = Server::start(options, [&](Request request, WriterPtr writer) {
                  EXPECT_EQ(request.headers.get("Upgrade"), "echo");
                  Headers headers;
                  headers.set("Upgrade", "echo");
                  writer->on_closed([&] { gone.set_value(); });
                  auto echo = [writer](std::string_view data) {
                    writer->write("<" + std::string(data) + ">");
                  };
                  writer->upgrade(std::move(headers), echo);
                  upgraded.set_value(writer);
                }).value();
  RawPeer peer(server->port());
  // Bytes behind the request already belong to the new protocol.
  peer.send("GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\nearly");
  const std::string& head = peer.receive_until("<early>");
  EXPECT_TRUE(head.starts_with("HTTP/1.1 101 Switching Protocols\r\n")) << head;
  EXPECT_NE(head.find("Connection: Upgrade\r\n"), std::string::npos);
  EXPECT_EQ(head.find("Transfer-Encoding"), std::string::npos);
  WriterPtr writer = upgraded.get_future().get();
  writer->pause_input(true);
  peer.send("later");
  writer->write("[now]");
  peer.receive_until("[now]");
  writer->pause_input(false);
  peer.receive_until("<later>");
  writer->write("bye");
  writer->end();
  EXPECT_TRUE(peer.receive_all().ends_with("bye")) << peer.received;
  EXPECT_EQ(gone.get_future().wait_for(kPatience), std::future_status::ready);
  server->stop(0ms);
}

// Input comes back in pieces of so many bytes, as pings do.
class UnreadAnswers : public testing::TestWithParam<std::size_t> {};

TEST_P(UnreadAnswers, HoldTheirClientsInput) {
  ServerOptions options;
  options.tls = false;
  std::promise<WriterPtr> upgraded;
  std::atomic<std::size_t> read = 0;
  auto server = Server::start(options, [&](Request, WriterPtr writer) {
                  auto echo = [&, writer](std::string_view data) {
                    read += data.size();
                    for (std::size_t at = 0; at < data.size(); at += GetParam())
                      writer->write(std::string(data.substr(at, GetParam())));
                  };
                  writer->upgrade({}, echo);
                  upgraded.set_value(writer);
                }).value();
  RawPeer peer(server->port(), 65536);
  peer.send("GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n");
  WriterPtr writer = upgraded.get_future().get();
  constexpr std::size_t kSent = 16 << 20, kTurn = 256 * 1024;
  WorkerPool sender("sender", 1);
  Task task = [&] { peer.send(std::string(kSent, '.')); };
  ASSERT_TRUE(sender.try_post(task));
  for (std::size_t before = 0; read == 0 || before != read;) {
    before = read;
    std::this_thread::sleep_for(100ms);
  }
  EXPECT_LT(read, kSent * 3 / 4) << "read on although nobody takes the answers";
  EXPECT_LE(writer->pending_bytes(), std::min<std::size_t>(2 << 20, 16384 * GetParam()) + kTurn);
  // A client that reads at last gets every answer.
  const std::size_t head = peer.receive_until("\r\n\r\n").find("\r\n\r\n") + 4;
  while (peer.received.size() < head + kSent && peer.receive_some()) {
  }
  EXPECT_EQ(peer.received.size(), head + kSent);
  server->stop(0ms);
}

INSTANTIATE_TEST_SUITE_P(Upgrades, UnreadAnswers, testing::Values(32, 4096));

}  // namespace
}  // namespace hekla::net
