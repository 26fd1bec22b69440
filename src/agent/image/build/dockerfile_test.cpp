#include "agent/image/build/dockerfile.h"

#include <gtest/gtest.h>

namespace hekla::agent {
namespace {

std::optional<std::string> lookup(const std::string& name) {
  if (name == "A") return "1";
  if (name == "EMPTY") return "";
  return std::nullopt;
}

std::string expand(const std::string& text) {
  Result<std::string> out = expand_word(text, lookup, '\\');
  return out ? *out : "error: " + out.error().message;
}

TEST(Dockerfile, StepsKeepTheirLines) {
  auto file = parse_dockerfile(
      "# a comment\n\nARG X\nfrom a AS b\nRUN one \\\n # in between\n\n  two\nCMD [\"a\", \"b\"]\n"
      "COPY --from=b --chown=1:2 x y\n");
  ASSERT_TRUE(file.has_value()) << file.error().message;
  ASSERT_EQ(file->steps.size(), 5u);
  EXPECT_EQ(file->steps[1].instruction, "FROM");
  EXPECT_EQ(file->steps[1].line, 4);
  EXPECT_EQ(file->steps[2].text, "one   two");
  EXPECT_EQ(file->steps[3].line, 9);
  EXPECT_EQ(*file->steps[3].list, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(file->steps[4].flags.at("from"), "b");
  EXPECT_EQ(file->steps[4].flags.at("chown"), "1:2");
  EXPECT_EQ(file->steps[4].text, "x y");
}

TEST(Dockerfile, ACommentAfterFromOnlyWarns) {
  auto file =
      parse_dockerfile("FROM tensorflow/tensorflow:latest-gpu #with drivers\nRUN echo a #b\n");
  ASSERT_TRUE(file.has_value());
  EXPECT_EQ(file->steps[0].text, "tensorflow/tensorflow:latest-gpu");
  EXPECT_EQ(file->steps[1].text, "echo a #b") << "the shell's affair";
  EXPECT_EQ(file->warnings,
            std::vector<std::string>{"Dockerfile:1: comments stand on lines of their own: ignoring "
                                     "\"#with drivers\" after FROM"});
}

TEST(Dockerfile, MistakesNameTheirLine) {
  EXPECT_EQ(parse_dockerfile("FROM a\nFETCH b\n").error().message,
            "Dockerfile:2: unknown instruction: FETCH");
  EXPECT_EQ(parse_dockerfile("FROM a\nRUN\n").error().message,
            "Dockerfile:2: RUN requires at least one argument");
  EXPECT_EQ(parse_dockerfile("FROM a\nFETCH x\n", "D3").error().message,
            "D3:2: unknown instruction: FETCH");
  EXPECT_EQ(parse_dockerfile("# nothing\n").error().message, "Dockerfile: the file has no FROM");
}

TEST(Dockerfile, NoFlagIsSwallowed) {
  auto said = [](const std::string& line) {
    auto file = parse_dockerfile("FROM a\n" + line + "\n");
    return file ? "fine" : file.error().message;
  };
  EXPECT_EQ(said("COPY --link --chown=1 x y"), "fine");
  EXPECT_EQ(said("COPY --parents x y"), "Dockerfile:2: COPY --parents is not supported");
  EXPECT_EQ(said("COPY --exclude=*.md x y"), "Dockerfile:2: COPY --exclude is not supported");
  EXPECT_EQ(said("COPY --chwon=1 x y"), "Dockerfile:2: unknown flag: --chwon of COPY");
  EXPECT_EQ(said("ADD --from=b x y"), "Dockerfile:2: unknown flag: --from of ADD");
  EXPECT_EQ(said("RUN --security=insecure x"), "Dockerfile:2: RUN --security is not supported");
  EXPECT_EQ(said("HEALTHCHECK --interval=5s CMD x"), "fine");
  EXPECT_EQ(said("ENV --x=1"), "fine") << "no flag there";
  EXPECT_EQ(said("ONBUILD RUN x"),
            "Dockerfile:2: ONBUILD is not supported: write its instruction where it is used");
  auto file = parse_dockerfile(
      "FROM --platform=linux/amd64 a\nRUN --mount=type=cache,target=/c --mount=target=/b x\n");
  ASSERT_TRUE(file);
  EXPECT_EQ(file->steps[0].flags.at("platform"), "linux/amd64");
  EXPECT_EQ(file->steps[1].mounts, (std::vector<std::string>{"type=cache,target=/c", "target=/b"}));
}

TEST(Dockerfile, MountsOfCommands) {
  auto cache = parse_run_mount("type=cache,id=pip,target=/var/cache/pip,sharing=locked,mode=0755");
  ASSERT_TRUE(cache) << cache.error().message;
  EXPECT_EQ(cache->type + " " + cache->id + " " + cache->target + " " + cache->mode,
            "cache pip /var/cache/pip 0755");
  EXPECT_EQ(parse_run_mount("source=a,dst=/b,ro")->source, "a");
  EXPECT_EQ(parse_run_mount("type=secret,id=key")->target, "/run/secrets/key");
  EXPECT_TRUE(parse_run_mount("type=secret,target=/x/key,required")->required);
  EXPECT_EQ(parse_run_mount("type=ssh").error().message, "--mount=type=ssh is not supported");
  EXPECT_EQ(parse_run_mount("type=cache").error().message, "--mount=type=cache needs a target");
  EXPECT_EQ(parse_run_mount("target=/x,colour=red").error().message,
            "unexpected key 'colour' in 'colour=red'");
  EXPECT_FALSE(parse_run_mount("target=/x,rw"));
}

TEST(Dockerfile, AnotherEscapeAndWindowsLines) {
  auto file = parse_dockerfile("# escape=`\r\nFROM a\r\nRUN one `\r\n two\r\n");
  ASSERT_TRUE(file.has_value());
  EXPECT_EQ(file->steps[1].text, "one  two");
}

TEST(Dockerfile, HereDocuments) {
  auto file =
      parse_dockerfile("FROM a\nCOPY <<ONE <<-'TWO' /x/\n$A\nONE\n\ttext\n\tTWO\nRUN cat\n");
  ASSERT_TRUE(file.has_value()) << file.error().message;
  const auto& documents = file->steps[1].documents;
  ASSERT_EQ(documents.size(), 2u);
  EXPECT_EQ(documents[0].text, "$A\n");
  EXPECT_TRUE(documents[0].expand);
  EXPECT_EQ(documents[1].text, "text\n");
  EXPECT_FALSE(documents[1].expand);
  EXPECT_EQ(file->steps[2].text, "cat");
}

TEST(Dockerfile, Variables) {
  EXPECT_EQ(expand("x$A-${A}y"), "x1-1y");
  EXPECT_EQ(expand("${B:-d$A}${A:+yes}${B:+no}${EMPTY:-e}${EMPTY-f}"), "d1yese");
  EXPECT_EQ(expand(R"('$A' "$A" \$A "a\"b" $)"), R"($A 1 $A a"b $)");
  EXPECT_EQ(expand("${A"), "error: syntax error: missing '}' or bad name in ${A");
  EXPECT_EQ(expand("${A:%x}"), "error: unsupported modifier (%x) in substitution");
  EXPECT_EQ(expand("${B:?wanted}"), "error: B: wanted");
  EXPECT_EQ(*expand_words("a 'b c'  \"$A d\"", lookup, '\\'),
            (std::vector<std::string>{"a", "b c", "1 d"}));
  using Pairs = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(*expand_pairs("K=v L=\"w x\"", lookup, '\\'), (Pairs{{"K", "v"}, {"L", "w x"}}));
  EXPECT_EQ(*expand_pairs("K v  w $A", lookup, '\\'), (Pairs{{"K", "v  w 1"}}));
  EXPECT_FALSE(expand_pairs("K=v L", lookup, '\\').has_value());
}

TEST(Dockerfile, IgnoredPaths) {
  DockerIgnore rules = DockerIgnore::parse(
      "# comment\n*.log\n/build/\n**/cache\nsrc/*/tmp?\n!keep.log\ndata\n!data/wanted\n");
  for (const char* path :
       {"a.log", "build", "build/x/y", "cache", "a/b/cache/c", "src/x/tmp1", "data/x"})
    EXPECT_TRUE(rules.ignores(path)) << path;
  for (const char* path :
       {"keep.log", "sub/a.log", "src/tmp1", "src/x/tmp12", "data/wanted", "rebuild"})
    EXPECT_FALSE(rules.ignores(path)) << path;
  EXPECT_TRUE(rules.has_exceptions());
  EXPECT_TRUE(matches_path("a[b-d]*", "acx"));
  EXPECT_FALSE(matches_path("a[^b-d]*", "acx"));
  EXPECT_FALSE(matches_path("*", "a/b"));
  EXPECT_TRUE(matches_path("**/x", "x"));
}

}  // namespace
}  // namespace hekla::agent
