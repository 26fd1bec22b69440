#include "cli/cluster_install/image_context.h"

#include <link.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <vector>

#include "cli/cluster_install/deployed_files.h"

namespace hekla::cli {
namespace {

namespace fs = std::filesystem;

// Where the image looks for a library, whatever system its dynamic linker comes from.
constexpr const char* kLibraryLinks[] = {"lib64", "usr/lib", "usr/lib64"};
// Programs that manifests of others start (docs/on-a-cluster.md).
constexpr const char* kNames[] = {"manager", "vc-scheduler", "vc-controller-manager",
                                  "vc-webhook-manager"};
// The certificates of public authorities, on Debian's kin and on Fedora's.
constexpr const char* kAuthorities[] = {"/etc/ssl/certs/ca-certificates.crt",
                                        "/etc/pki/tls/certs/ca-bundle.crt"};

constexpr const char* kPasswd =
    "root:x:0:0:root:/:/bin/false\nhekla:x:65532:65532:hekla:/tmp:/bin/false\n";
constexpr const char* kGroup = "root:x:0:\nhekla:x:65532:\n";

Result<void> checked(const std::error_code& error, const std::string& what) {
  if (error) return fail(Code::internal, what + ": " + error.message());
  return {};
}

Result<void> make_directory(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  return checked(error, "make " + path.string());
}

Result<void> copy_into(const fs::path& from, const fs::path& to) {
  TRY(make_directory(to.parent_path()));
  std::error_code error;
  fs::copy_file(from, to, fs::copy_options::overwrite_existing, error);
  return checked(error, "copy " + from.string() + " to " + to.string());
}

Result<void> write_text(const fs::path& path, std::string_view text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (!file) return fail(Code::internal, "write " + path.string() + " failed");
  return {};
}

Result<void> make_link(const std::string& target, const fs::path& at) {
  TRY(make_directory(at.parent_path()));
  std::error_code error;
  fs::create_symlink(target, at, error);
  return checked(error, "link " + at.string());
}

// The libraries by the names they were asked for; the kernel's own has no file.
std::vector<fs::path> loaded_libraries() {
  std::vector<fs::path> out;
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* to) {
        if (info->dlpi_name && info->dlpi_name[0] == '/')
          static_cast<std::vector<fs::path>*>(to)->emplace_back(info->dlpi_name);
        return 0;
      },
      &out);
  return out;
}

Result<void> write_programs(const fs::path& root) {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  TRY(checked(error, "read /proc/self/exe"));
  TRY(copy_into(self, root / "bin/hekla"));
  for (const fs::path& library : loaded_libraries())
    TRY(copy_into(fs::canonical(library, error), root / "lib" / library.filename()));
  for (const char* place : kLibraryLinks)
    TRY(make_link(std::string(place).starts_with("usr") ? "../lib" : "lib", root / place));
  for (const char* name : kNames) TRY(make_link("bin/hekla", root / name));
  return {};
}

Result<void> write_data(const fs::path& root) {
  std::error_code error;
  for (const char* bundle : kAuthorities)
    if (fs::exists(bundle, error)) {
      TRY(copy_into(fs::canonical(bundle, error), root / "etc/ssl/certs/ca-certificates.crt"));
      break;
    }
  if (fs::is_directory("/usr/share/zoneinfo", error)) {
    TRY(make_directory(root / "usr/share"));
    fs::copy("/usr/share/zoneinfo", root / "usr/share/zoneinfo",
             fs::copy_options::recursive | fs::copy_options::copy_symlinks, error);
    TRY(checked(error, "copy /usr/share/zoneinfo"));
  }
  TRY(make_directory(root / "etc"));
  TRY(write_text(root / "etc/passwd", kPasswd));
  TRY(write_text(root / "etc/group", kGroup));
  TRY(make_directory(root / "tmp"));
  fs::permissions(root / "tmp", fs::perms::all | fs::perms::sticky_bit, error);
  return checked(error, "change the mode of tmp");
}

}  // namespace

Result<void> write_image_context(const std::string& directory) {
  std::error_code error;
  if (fs::exists(directory, error) && !fs::is_empty(directory, error))
    return fail(Code::already_exists, directory + " is not empty");
  const fs::path root = fs::path(directory) / "root";
  TRY(make_directory(root));
  TRY(write_programs(root));
  TRY(write_data(root));
  return write_text(fs::path(directory) / "Dockerfile", containerfile());
}

}  // namespace hekla::cli
