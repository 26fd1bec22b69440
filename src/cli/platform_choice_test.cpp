#include "cli/platform_choice.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/disk.h"
#include "cli/instance.h"

namespace hekla::cli {
namespace {

class PlatformChoiceTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "choice-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    root = pattern + "/";
    around = {"", root + "home", root + "usual"};
    std::filesystem::create_directories(root + "home/.kube");
  }
  void TearDown() override { std::filesystem::remove_all(root); }

  std::string kubeconfig(const std::string& path, const std::string& server,
                         const std::string& authority = "QQ==") {
    std::filesystem::create_directories(std::filesystem::path(root + path).parent_path());
    EXPECT_TRUE(write_file_atomically(root + path,
                                      "clusters: [{name: c, cluster: {server: '" + server +
                                          "', certificate-authority-data: " + authority +
                                          "}}]\ncontexts: [{name: c, context: {cluster: c}}]\n"
                                          "current-context: c\n",
                                      0600));
    return root + path;
  }
  // A platform that runs until the lock is given up.
  std::unique_ptr<InstanceLock> platform(const std::string& name, const std::string& server) {
    kubeconfig(name + "/admin.kubeconfig", server);
    return InstanceLock::take(root + name).value();
  }
  std::string chosen(const PlatformFlags& flags, LocalPlatform local = LocalPlatform::must_run) {
    Result<PlatformChoice> choice = choose_platform(flags, local, around);
    if (!choice) return choice.error().message;
    auto shown = [&](std::string path) {
      return path.starts_with(root) ? path.substr(root.size()) : path;
    };
    return shown(choice->kubeconfig) + " of " + shown(choice->data_dir);
  }

  std::string root;
  PlatformSurroundings around;
};

TEST_F(PlatformChoiceTest, AFlagComesBeforeTheEnvironment) {
  auto one = platform("one", "https://127.0.0.1:1"), two = platform("two", "https://127.0.0.1:2");
  around.kubeconfig = root + "one/admin.kubeconfig";
  EXPECT_EQ(chosen({}), "one/admin.kubeconfig of one");
  EXPECT_EQ(chosen({.data_dir = root + "two"}), "two/admin.kubeconfig of two");
  EXPECT_EQ(chosen({.kubeconfig = root + "two/admin.kubeconfig"}), "two/admin.kubeconfig of two");
  // Nor does a directory without a platform fall back to anything.
  EXPECT_EQ(chosen({.data_dir = root + "three"}), "three/admin.kubeconfig of three");
}

TEST_F(PlatformChoiceTest, FlagsThatDisagreeAreRefused) {
  auto one = platform("one", "https://127.0.0.1:1"), two = platform("two", "https://127.0.0.1:2");
  std::string copy = kubeconfig("copy", "https://127.0.0.1:1");
  std::string other = kubeconfig("other", "https://127.0.0.1:1", "Qg==");
  EXPECT_EQ(chosen({copy, root + "one"}), "copy of one");
  EXPECT_EQ(chosen({copy, root + "two"}), "--kubeconfig " + copy + " and --data-dir " + root +
                                              "two name two different platforms: give one of them");
  EXPECT_NE(chosen({other, root + "one"}).find("two different platforms"), std::string::npos);
  EXPECT_NE(chosen({copy, root + "none"}).find("two different platforms"), std::string::npos);
}

TEST_F(PlatformChoiceTest, TheEnvironmentComesBeforeTheLocalPlatformAndThatBeforeHome) {
  auto local = platform("usual", "https://127.0.0.1:1");
  kubeconfig("home/.kube/config", "https://production:6443");
  EXPECT_EQ(chosen({}), "usual/admin.kubeconfig of usual");
  around.kubeconfig = kubeconfig("elsewhere", "https://elsewhere:6443");
  EXPECT_EQ(chosen({}), "elsewhere of ");
  around.kubeconfig.clear();
  local.reset();
  EXPECT_EQ(chosen({}), "home/.kube/config of ");
  // Verbs that can start it take the local platform all the same.
  EXPECT_EQ(chosen({}, LocalPlatform::may_rest), "usual/admin.kubeconfig of usual");
  std::filesystem::remove(root + "home/.kube/config");
  EXPECT_EQ(chosen({}), "usual/admin.kubeconfig of usual");
}

TEST_F(PlatformChoiceTest, AKubeconfigThatNamesALocalPlatformIsKnown) {
  {
    auto resting = platform("usual", "https://127.0.0.1:1");
  }
  around.kubeconfig = root + "usual/admin.kubeconfig";
  EXPECT_EQ(chosen({}), "usual/admin.kubeconfig of usual");
  around.kubeconfig = kubeconfig("copy", "https://127.0.0.1:1");
  EXPECT_EQ(chosen({}), "copy of usual");
  EXPECT_EQ(choose_data_dir("", around).value(), root + "usual");
  around.kubeconfig = kubeconfig("production", "https://production:6443");
  EXPECT_EQ(choose_data_dir("", around).error().message,
            "KUBECONFIG (" + around.kubeconfig +
                ") names a cluster that is not one of this machine's data directories: say which "
                "is meant, such as --data-dir " +
                root + "usual");
  EXPECT_EQ(choose_data_dir(root + "usual", around).value(), root + "usual");
}

}  // namespace
}  // namespace hekla::cli
