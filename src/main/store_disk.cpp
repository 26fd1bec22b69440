#include "main/store_disk.h"

#include <cstdlib>
#include <filesystem>

#include "base/held_disk.h"
#include "base/log.h"

namespace hekla {

Result<std::unique_ptr<Disk>> open_store_disk(const std::string& root) {
  std::unique_ptr<Disk> disk = TRY(open_disk(root));
  const char* set = std::getenv("HEKLA_TEST_DISK");
  const std::string kind = set ? set : "";
  if (kind.empty()) return disk;
  if (kind == "held") return hold_back(std::move(disk), true);
  if (kind == "held-without-syncs") return hold_back(std::move(disk), false);
  return fail(Code::bad_request, "HEKLA_TEST_DISK=" + kind + ": held or held-without-syncs");
}

bool store_was_in_use(const std::string& data_dir) {
  std::error_code unknown;
  if (!std::filesystem::exists(data_dir + "/pki/service-account.key", unknown)) return false;
  if (std::filesystem::is_directory(data_dir + "/store", unknown)) return true;
  log_warn("main", "certificates without a store: beginning with an empty one",
           {{"directory", data_dir}});
  return false;
}

}  // namespace hekla
