#include <gtest/gtest.h>

#include "cli/command.h"
#include "cli/documents/object_names.h"

namespace hekla::cli {
namespace {

struct Given {
  std::string ns, queue, what, kind, data_dir;
  bool follow = false;

  Command root() {
    Command logs{
        .name = "logs",
        .summary = "print a log",
        .flags = {Flag("what", what, "the job").completed_with(Names::jobs_and_pods),
                  Flag("-n,--namespace", ns, "where"), Flag("-f,--follow", follow, "go on"),
                  Flag("--data-dir", data_dir, "of the platform")},
        .footer = "Example:\n  .hekla's logs"};
    Command explain{.name = "explain",
                    .summary = "say why",
                    .flags = {Flag("kind", kind, "the kind"),
                              Flag("name", what, "its name").completed_with(Names::objects),
                              Flag("--queue", queue, "of it")}};
    return {.name = "hekla", .summary = "root", .commands = {std::move(logs), std::move(explain)}};
  }
};

TEST(ObjectNames, KnowWhatTheCursorIsAt) {
  Given given;
  const Command root = given.root();
  CursorPlace place = place_at_cursor(root, {"logs", "-f", "--data-dir=/d", "-n", "team", "tr"});
  EXPECT_EQ(place.names, Names::jobs_and_pods);
  EXPECT_EQ(place.ns, "team");
  EXPECT_EQ(place.data_dir, "/d");
  EXPECT_EQ(place.current, "tr");
  EXPECT_EQ(place_at_cursor(root, {"logs", "-n", ""}).names, Names::namespaces);
  EXPECT_EQ(place_at_cursor(root, {"explain", "--queue", ""}).names, Names::queues);
  EXPECT_EQ(place_at_cursor(root, {"explain", ""}).names, Names::files);
  place = place_at_cursor(root, {"explain", "vcjob", ""});
  EXPECT_EQ(place.names, Names::objects);
  EXPECT_EQ(place.type, "vcjob");
  EXPECT_EQ(place_at_cursor(root, {"logs", "one", "two"}).names, Names::files);
  EXPECT_EQ(place_at_cursor(root, {}).names, Names::files);
}

TEST(ManPages, EscapeWhatRoffWouldRead) {
  Given given;
  const std::vector<ManPage> pages = man_pages(given.root());
  ASSERT_EQ(pages.size(), 3u);
  EXPECT_EQ(pages[1].file, "hekla-logs.1");
  EXPECT_NE(pages[1].text.find("\\fB\\-f\\fR, \\fB\\-\\-follow\\fR\ngo on\n"), std::string::npos)
      << pages[1].text;
  EXPECT_NE(pages[1].text.find("Example:\n  .hekla's logs"), std::string::npos);
  EXPECT_NE(pages[0].text.find("\\fBhekla\\-explain\\fR(1)\nsay why\n"), std::string::npos);
}

}  // namespace
}  // namespace hekla::cli
