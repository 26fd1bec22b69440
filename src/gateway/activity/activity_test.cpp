#include "gateway/activity/activity.h"

#include "gateway/activity/frame_scan.h"
#include "gateway/activity/kernels.h"
#include "gateway/routes/example_routes_test.h"
#include "net/websocket.h"

namespace hekla::gateway {
namespace {

using net::WebSocketOpcode;

TEST(FrameScan, MessagesAreToldFromPings) {
  const std::string ping = net::websocket_frame(WebSocketOpcode::ping, "are you there"),
                    pong = std::string("\x8a\x80mask", 6);  // as browsers answer an empty one
  FrameScan scan;
  EXPECT_FALSE(scan.has_message(ping));
  EXPECT_FALSE(scan.has_message(pong + ping));
  for (const std::size_t size : {0, 1, 125, 126, 70'000}) {
    const std::string text = net::websocket_frame(WebSocketOpcode::text, std::string(size, '\x81'));
    EXPECT_TRUE(scan.has_message(text)) << size;
    EXPECT_FALSE(scan.has_message(ping)) << size;
    EXPECT_TRUE(scan.has_message(ping + text + pong)) << size;
  }
  EXPECT_TRUE(scan.has_message(net::websocket_frame(WebSocketOpcode::continuation, "x")));
  EXPECT_FALSE(scan.has_message(net::websocket_close(1000, "")));
}

TEST(FrameScan, PiecesMayBeCutAnywhere) {
  const std::string ping = net::websocket_frame(WebSocketOpcode::ping, std::string(100, 'p')),
                    text = net::websocket_frame(WebSocketOpcode::binary, std::string(300, 't'));
  FrameScan scan;
  std::size_t pings = 0, texts = 0;
  for (const char byte : ping) pings += scan.has_message({&byte, 1});
  for (const char byte : text) texts += scan.has_message({&byte, 1});
  for (const char byte : ping) pings += scan.has_message({&byte, 1});
  EXPECT_EQ(pings, 0u);
  EXPECT_EQ(texts, 301u);  // the payload and the end of the head
}

TEST(Activity, OnlyNewUsesAreTaken) {
  Activity activity;
  const kube::Key lab{"a", "lab"}, idle{"a", "idle"};
  const WallTime start{std::chrono::hours(24 * 365 * 56)};
  const std::shared_ptr<UseMark> kept = activity.mark(lab);
  (void)activity.mark(idle);
  EXPECT_TRUE(activity.take_new().empty());
  kept->note(start + std::chrono::seconds(9));
  kept->note(start);  // the latest counts
  const auto used = activity.take_new();
  ASSERT_EQ(used.size(), 1u);
  EXPECT_EQ(used[0].first, lab);
  EXPECT_EQ(used[0].second, start + std::chrono::seconds(9));
  EXPECT_TRUE(activity.take_new().empty());
  // An open stream's mark is not forgotten while it is silent.
  kept->note(start + std::chrono::hours(1));
  EXPECT_EQ(activity.take_new().size(), 1u);
}

TEST(Activity, IsWrittenAsTheControllerReadsIt) {
  const kube::Write write =
      last_activity({"a", "lab"}, WallTime{std::chrono::hours(24 * 365 * 56 + 14 * 24)});
  EXPECT_EQ(write.patch_type, kube::PatchType::merge);
  EXPECT_EQ(json::serialize(write.body),
            R"({"metadata":{"annotations":{"notebooks.kubeflow.org/last-activity":)"
            R"("2026-01-01T00:00:00Z"}}})");
}

TEST(Activity, ServersSayWhetherTheirKernelsAreBusy) {
  const WallTime now{std::chrono::hours(24 * 365 * 56 + 14 * 24)};
  EXPECT_EQ(last_use("[]", now), std::nullopt);
  for (const char* bad : {"", "{}", "[1]", "<html>", R"([{"last_activity":"yesterday"}])"})
    EXPECT_EQ(last_use(bad, now), std::nullopt) << bad;
  EXPECT_EQ(last_use(R"([{"execution_state":"idle","last_activity":"2025-12-31T23:00:00.5Z"},
                         {"execution_state":"idle","last_activity":"2025-12-31T22:00:00Z"}])",
                     now),
            now - std::chrono::hours(1) + std::chrono::milliseconds(500));
  EXPECT_EQ(last_use(R"([{"last_activity":"2099-01-01T00:00:00Z"}])", now), now);
  EXPECT_EQ(last_use(R"([{"execution_state":"busy","last_activity":"2025-01-01T00:00:00Z"}])", now),
            now);
}

TEST(Activity, ServersThatKeepTheirPrefixAreAsked) {
  const RouteTable table(
      std::vector{good_rules(
          "a", to_service("/notebook/a/lab/", "lab", R"(,"rewrite":{"uri":"/notebook/a/lab/"})") +
                   "," + to_service("/notebook/a/code/", "lab", R"(,"rewrite":{"uri":"/"})") + "," +
                   to_service("/notebook/a/cold/", "cold") + "," +
                   to_service("/notebook/b/lab/", "lab") + "," +
                   to_service("/tensorboard/a/lab/", "lab"))},
      RouteTable::Backends{{{{"a", "lab"}, 80}, {{"10.1.0.2", 8888}}}});
  const auto servers = table.notebook_servers();
  ASSERT_EQ(servers.size(), 1u);
  EXPECT_EQ(servers[0].notebook, (kube::Key{"a", "lab"}));
  EXPECT_EQ(servers[0].prefix, "/notebook/a/lab/");
  EXPECT_EQ(servers[0].at.port, 8888);
}

}  // namespace
}  // namespace hekla::gateway
