#include <gtest/gtest.h>

#include "launcher/http.h"
#include "launcher/json.h"
#include "launcher/preamble.h"

namespace hekla::launcher {
namespace {

TEST(LauncherJson, ReadsAndWrites) {
  const auto value =
      parse_json(R"( {"a": [1, true, "x\n\u00e4\ud83d\ude00"], "b": {}, "c": null} )");
  ASSERT_TRUE(value);
  EXPECT_EQ(value->find("a")->items[2].text, "x\n\xc3\xa4\xf0\x9f\x98\x80");
  EXPECT_EQ(value->find("a")->items[0].text, "1");
  EXPECT_EQ(value->string("c"), "");
  EXPECT_EQ(quoted("a\"\\\n\xff\xc3\xa4"), "\"a\\\"\\\\\\u000a\xef\xbf\xbd\xc3\xa4\"");
  for (const char* bad : {"", "{", "[1,]", "{\"a\" 1}", "\"x", "[1] 2", "\"\\q\"", "\"\\u12\""})
    EXPECT_FALSE(parse_json(bad)) << bad;
  EXPECT_FALSE(parse_json(std::string(100, '[') + std::string(100, ']')));
}

TEST(LauncherHttp, EncodesKeys) { EXPECT_EQ(path_encoded("a b/ü?"), "a%20b/%C3%BC%3F"); }

const std::string kBegin =
    "\nif ! [ -x \"$(command -v pip)\" ]; then\n    python3 -m ensurepip || python3 -m ensurepip "
    "--user || apt-get install python3-pip\nfi\n\nPIP_DISABLE_PIP_VERSION_CHECK=1 ";
const std::string kKfp =
    "python3 -m pip install --quiet --no-warn-script-location 'kfp==2.17.0' '--no-deps' "
    "'typing-extensions>=3.7.4,<5; python_version<\"3.9\"' && \"$0\" \"$@\"\n";

using Words = std::vector<std::string>;
Words requirements(const std::string& script) {
  return preamble_requirements({"sh", "-c", script, "sh", "-ec", "program", "source"});
}

TEST(Preamble, IsKnownToTheLetter) {
  EXPECT_EQ(requirements(kBegin + kKfp), Words{"kfp==2.17.0"});
  EXPECT_EQ(requirements(kBegin +
                         "python3 -m pip install --quiet --no-warn-script-location "
                         "'tabulate==0.9.0'  &&  " +
                         kKfp),
            (Words{"tabulate==0.9.0", "kfp==2.17.0"}));
  EXPECT_EQ(without_preamble({"sh", "-c", "x", "sh", "-ec", "p"}), (Words{"sh", "-ec", "p"}));
}

TEST(Preamble, AnythingElseIsLeftToPip) {
  for (const char* other : {"'tabulate'", "'tabulate>=0.9'", "'git+https://x/y'",
                            "--index-url x 'a==1'", "'a==1; os_name==\"x\"'"})
    EXPECT_EQ(requirements(kBegin + "python3 -m pip install --quiet --no-warn-script-location " +
                           other + " && " + kKfp),
              Words{})
        << other;
  EXPECT_EQ(requirements("echo; " + kKfp), Words{});
  EXPECT_EQ(requirements(kBegin + kKfp + "rm x"), Words{});
  EXPECT_EQ(preamble_requirements({"python3"}), Words{});
}

}  // namespace
}  // namespace hekla::launcher
