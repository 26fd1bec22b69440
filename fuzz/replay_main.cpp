// Runs an entry point over the files of the directories given: fuzz_test NAME DIRECTORY..., for
// compilers without libFuzzer. An empty corpus is an error: a test that replays nothing proves
// nothing.
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#define ENTRY(name) extern "C" int fuzz_##name(const std::uint8_t* data, std::size_t size);
#include <fuzz_entries.inc>
#undef ENTRY

namespace {

using Entry = int (*)(const std::uint8_t* data, std::size_t size);

Entry find_entry(std::string_view wanted) {
#define ENTRY(name) \
  if (wanted == #name) return fuzz_##name;
#include <fuzz_entries.inc>
#undef ENTRY
  return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  const Entry entry = find_entry(argc > 1 ? argv[1] : "");
  if (entry == nullptr) {
    std::fprintf(stderr, "usage: fuzz_test ENTRY DIRECTORY...\n");
    return 2;
  }
  int count = 0;
  for (int i = 2; i < argc; ++i) {
    for (const auto& file_entry : std::filesystem::recursive_directory_iterator(argv[i])) {
      if (!file_entry.is_regular_file()) continue;
      std::ifstream file(file_entry.path(), std::ios::binary);
      const std::string text((std::istreambuf_iterator<char>(file)), {});
      std::printf("%s\n", file_entry.path().filename().c_str());
      entry(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
      ++count;
    }
  }
  std::printf("%d inputs\n", count);
  return count > 0 ? 0 : 1;
}
