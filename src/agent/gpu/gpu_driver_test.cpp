#include "agent/gpu/gpu_driver.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <filesystem>

#include "agent/runtime/devices.h"
#include "base/disk.h"
#include "base/temp_dir_test.h"

namespace hekla::agent {
namespace {

namespace fs = std::filesystem;

// A machine's /dev, /proc and libraries below a directory of the test's.
class GpuDriverTest : public ::testing::Test {
 protected:
  void node(const std::string& path, unsigned major, unsigned minor, mode_t type = S_IFCHR) {
    fs::create_directories(fs::path(root_ + path).parent_path());
    ASSERT_EQ(::mknod((root_ + path).c_str(), type | 0666, makedev(major, minor)), 0)
        << "these tests make device nodes: run them as root";
    ASSERT_EQ(::chmod((root_ + path).c_str(), 0666), 0);
  }
  void file(const std::string& path, const std::string& text = "") {
    fs::create_directories(fs::path(root_ + path).parent_path());
    ASSERT_TRUE(write_file_atomically(root_ + path, text, 0755));
  }
  static std::string paths(const std::vector<OciDevice>& devices) {
    std::string out;
    for (const OciDevice& one : devices)
      out += one.path + "=" + one.type + std::to_string(one.major) + ":" +
             std::to_string(one.minor) + " ";
    return out;
  }
  TempDir temp_;
  const std::string root_ = fs::canonical(temp_.path());
};

TEST_F(GpuDriverTest, CardsAreInTheOrderOfTheirNumbers) {
  node("/dev/nvidia10", 195, 10);
  node("/dev/nvidia9", 195, 9);
  node("/dev/nvidiactl", 195, 255);
  node("/dev/nvidia-uvm", 511, 0);
  node("/dev/nvidia-caps/nvidia-cap1", 236, 1);
  file("/dev/nvidia3");  // no device
  GpuDriver driver = find_gpus(root_, {});
  EXPECT_EQ(paths(driver.cards), "/dev/nvidia9=c195:9 /dev/nvidia10=c195:10 ");
  EXPECT_EQ(
      paths(driver.shared),
      "/dev/nvidia-caps/nvidia-cap1=c236:1 /dev/nvidia-modeset=c195:254 /dev/nvidia-uvm=c511:0 "
      "/dev/nvidiactl=c195:255 ");
}

TEST_F(GpuDriverTest, TheKernelKnowsCardsThatHaveNoNodesYet) {
  file("/proc/driver/nvidia/gpus/0000:01:00.0/information",
       "Model: \t\t A100\nDevice Minor: \t 0\n");
  file("/proc/driver/nvidia/gpus/0000:02:00.0/information",
       "Model: \t\t A100\nDevice Minor: \t 1\n");
  EXPECT_EQ(paths(find_gpus(root_, {}).cards), "/dev/nvidia0=c195:0 /dev/nvidia1=c195:1 ");
}

TEST_F(GpuDriverTest, WithoutCardsThereIsNothing) {
  file("/usr/bin/nvidia-smi");
  node("/dev/nvidiactl", 195, 255);
  GpuDriver driver = find_gpus(root_, {});
  EXPECT_TRUE(driver.cards.empty() && driver.shared.empty() && driver.files.empty());
}

TEST_F(GpuDriverTest, LibrariesOfTheDriversVersionAreTakenUnderEveryName) {
  node("/dev/nvidia0", 195, 0);
  file("/proc/driver/nvidia/version",
       "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 01:15:15 UTC "
       "2023\nGCC version: 12.2\n");
  file("/usr/lib/x86_64-linux-gnu/libcuda.so.535.104.05");
  fs::create_symlink("libcuda.so.535.104.05", root_ + "/usr/lib/x86_64-linux-gnu/libcuda.so.1");
  file("/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.470.1");          // of another version
  file("/usr/lib/x86_64-linux-gnu/libnvidia-container.so.1.14.0");  // not the driver's
  file("/usr/lib/x86_64-linux-gnu/libcudart.so.12");
  file("/elsewhere/libnvidia-ml.so.535.104.05");
  file("/usr/bin/nvidia-smi");
  std::string found;
  for (const OciMount& mount : find_gpus(root_, {"/elsewhere"}).files) {
    found += mount.destination + " ";
    EXPECT_NE(std::ranges::find(mount.options, "ro"), mount.options.end());
  }
  EXPECT_EQ(found,
            "/usr/local/nvidia/lib64/libcuda.so.1 /usr/local/nvidia/lib64/libcuda.so.535.104.05 "
            "/usr/local/nvidia/lib64/libnvidia-ml.so.535.104.05 /usr/bin/nvidia-smi ");
}

TEST(GpuDriver, ReadsVersionsAndDirectories) {
  EXPECT_EQ(
      driver_version(
          "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  545.23.06  Release Build\n"),
      "545.23.06");
  EXPECT_EQ(driver_version(""), "");
  EXPECT_EQ(
      driver_directories("12 libs found in cache\n\tlibz.so.1 (libc6,x86-64) => /lib/libz.so.1\n"
                         "\tlibcuda.so.1 (libc6,x86-64) => /opt/cuda/libcuda.so.1\n"
                         "\tlibcuda.so.1 (libc6) => /usr/lib32/libcuda.so.1\n"
                         "\tlibnvidia-ml.so.1 (libc6,x86-64) => /opt/cuda/libnvidia-ml.so.1\n"),
      std::vector<std::string>{"/opt/cuda"});
}

TEST(GpuDriver, AContainerGetsItsCardsAndNoOthers) {
  GpuDriver driver;
  driver.cards = {{"/dev/nvidia0", 'c', 195, 0}, {"/dev/nvidia1", 'c', 195, 1}};
  driver.shared = {{"/dev/nvidiactl", 'c', 195, 255}};
  driver.files = {{"/usr/local/nvidia/lib64/libcuda.so.1", "none", "/l", {"bind", "ro"}}};
  BundleSpec bundle;
  bundle.env = {"LD_LIBRARY_PATH=/mine"};
  give_gpus(driver, {1, 1, 7}, false, bundle);
  ASSERT_EQ(bundle.devices.size(), 2u);
  EXPECT_EQ(bundle.devices[0].path, "/dev/nvidia1");
  EXPECT_EQ(bundle.devices[1].path, "/dev/nvidiactl");
  EXPECT_EQ(bundle.mounts.size(), 1u);
  EXPECT_EQ(bundle.env, std::vector<std::string>{"LD_LIBRARY_PATH=/mine:/usr/local/nvidia/lib64"});
  BundleSpec own;
  give_gpus(driver, {0}, true, own);
  EXPECT_TRUE(own.mounts.empty() && own.env.empty()) << "the machine's own file system has them";
  BundleSpec declared;
  give_gpus(driver, {2}, false, declared);
  EXPECT_TRUE(declared.devices.empty() && declared.mounts.empty()) << "a card without a node";
}

TEST_F(GpuDriverTest, PrivilegedContainersGetTheMachinesDevices) {
  node("/dev/null", 1, 3);
  node("/dev/sda", 8, 0, S_IFBLK);
  node("/dev/dri/card0", 226, 0);
  file("/dev/shm/file");
  fs::create_symlink("sda", root_ + "/dev/disk");
  EXPECT_EQ(paths(host_devices(root_ + "/dev")), "/dev/dri/card0=c226:0 /dev/sda=b8:0 ");
}

}  // namespace
}  // namespace hekla::agent
