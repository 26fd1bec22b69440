#include "json/yaml_lines.h"

#include <gtest/gtest.h>

namespace hekla::json {
namespace {

TEST(YamlLines, OfFieldsAndOfWhatIsThere) {
  constexpr std::string_view kText =
      "# first\n"
      "kind: Queue\n"
      "---\n"
      "kind: Job\n"
      "metadata:\n"
      "  labels: {a.b/c: d}\n"
      "spec:\n"
      "  tasks:\n"
      "  - name: one\n"
      "  - name: two\n"
      "    replicsa: 3\n";
  EXPECT_EQ(yaml_line_of(kText, 4, "spec.tasks[1].replicsa"), 11);
  EXPECT_EQ(yaml_line_of(kText, 4, "spec.tasks[1].template.spec"), 10);  // it has none
  EXPECT_EQ(yaml_line_of(kText, 4, "metadata.labels[a.b/c]"), 6);
  EXPECT_EQ(yaml_line_of(kText, 4, "spec.tasks[7]"), 8);
  EXPECT_EQ(yaml_line_of(kText, 2, "kind"), 2);
  EXPECT_EQ(yaml_line_of(kText, 4, ""), 4);
  EXPECT_EQ(yaml_line_of("a: [", 1, "a"), 1);  // no YAML at all
}

}  // namespace
}  // namespace hekla::json
