#include "agent/image/recipe.h"

#include <gtest/gtest.h>

#include "agent/image/build/dockerfile.h"
#include "agent/image/image_map.h"

namespace hekla::agent {
namespace {

TEST(Recipe, EachSaysWhatItCostsAndNeeds) {
  std::vector<Recipe> recipes = all_recipes();
  EXPECT_GE(recipes.size(), 6u);
  for (const Recipe& recipe : recipes) {
    EXPECT_FALSE(recipe.about.empty() || recipe.download.empty() || recipe.disk.empty() ||
                 recipe.takes.empty() || recipe.needs.empty())
        << recipe.name;
    const ImageReference name = recipe_reference(recipe);
    EXPECT_EQ(name.repository_name(), "hekla.io/" + recipe.name);
    EXPECT_TRUE(name.tag.starts_with(machine_key() + "-")) << name.tag;
    EXPECT_TRUE(parse_reference(name.canonical())) << name.canonical();
  }
}

TEST(Recipe, EveryDockerfileIsOne) {
  for (const RecipeFile& file : recipe_files()) {
    if (!file.path.ends_with("/Dockerfile")) continue;
    Result<Dockerfile> parsed = parse_dockerfile(file.content, std::string(file.path));
    ASSERT_TRUE(parsed) << parsed.error().message;
    EXPECT_EQ(parsed->steps.front().text, "host") << file.path;
  }
}

TEST(Recipe, TheDefaultMapNamesTheSeedsOfTutorials) {
  Result<ImageMap> map = ImageMap::parse(default_image_map());
  ASSERT_TRUE(map) << map.error().message;
  EXPECT_EQ(map->find("volcanosh/dist-mnist-tf-example:0.0.1")->recipe, "tensorflow");
  EXPECT_EQ(map->find("registry.example/team/distributed-tensorflow:0.0.1")->config.working_dir,
            "/app");
  EXPECT_EQ(map->find("kubeflowkatib/pytorch-mnist:v1beta1-45c5727")->recipe, "pytorch");
  EXPECT_EQ(map->find("nginx:latest"), nullptr);
  for (const Recipe& recipe : all_recipes())
    EXPECT_EQ(map->find("hekla.io/" + recipe.name)->recipe, recipe.name);
}

TEST(Recipe, NamesThePackagesThatAreMissing) {
  Recipe recipe;
  recipe.needs = {{"there", {"/no/such", "/etc/pass*d"}}, {"missing", {"/no/such"}}};
  EXPECT_EQ(missing_packages(recipe), std::vector<std::string>{"missing"});
}

}  // namespace
}  // namespace hekla::agent
