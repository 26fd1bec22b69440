#include "cli/inside/delivery.h"

#include <elf.h>
#include <link.h>

#include <filesystem>
#include <set>

#include "base/disk.h"

namespace hekla::cli {
namespace {

namespace fs = std::filesystem;

struct Loaded {
  std::set<std::string> libraries;  // the linker among them
  std::string linker;
};

// The objects that this process consists of: the first is the program.
int take_object(dl_phdr_info* object, std::size_t, void* data) {
  auto& loaded = *static_cast<Loaded*>(data);
  for (int i = 0; i < object->dlpi_phnum; ++i)
    if (object->dlpi_phdr[i].p_type == PT_INTERP)
      loaded.linker =
          reinterpret_cast<const char*>(object->dlpi_addr + object->dlpi_phdr[i].p_vaddr);
  if (const std::string name = object->dlpi_name; name.starts_with('/'))
    loaded.libraries.insert(name);
  return 0;
}

Result<void> copy(const std::string& from, const std::string& to) {
  std::error_code error;
  fs::copy_file(from, to, fs::copy_options::overwrite_existing, error);
  if (error) return fail(Code::internal, "copy " + from + " to " + to + ": " + error.message());
  return {};
}

}  // namespace

Result<void> deliver_kubectl(const std::string& directory) {
  Loaded loaded;
  ::dl_iterate_phdr(take_object, &loaded);
  const std::string place = directory + "/lib";
  std::error_code error;
  fs::create_directories(place, error);
  if (error) return fail(Code::internal, "make " + place + ": " + error.message());
  TRY(copy("/proc/self/exe", place + "/hekla"));
  for (const std::string& library : loaded.libraries)
    TRY(copy(library, place + "/" + fs::path(library).filename().string()));
  std::string start = place + "/hekla";
  if (!loaded.linker.empty()) {
    const std::string linker = place + "/" + fs::path(loaded.linker).filename().string();
    TRY(copy(loaded.linker, linker));
    start = linker + " --library-path " + place + " " + start;
  }
  return write_file_atomically(directory + "/kubectl",
                               "#!/bin/sh\nexec " + start + " inside kubectl \"$@\"\n", 0755);
}

}  // namespace hekla::cli
