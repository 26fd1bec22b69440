#include "main/listen.h"

#include <charconv>

#include "base/disk.h"
#include "base/log.h"

namespace hekla {
namespace {

bool parse_port(std::string_view text, std::uint16_t& port) {
  while (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

}  // namespace

Result<ListenAddress> choose_listen_address(const std::string& text, const std::string& data_dir) {
  ListenAddress chosen;
  if (!text.empty()) {
    std::size_t colon = text.rfind(':');
    if (colon == std::string::npos ||
        !parse_port(std::string_view(text).substr(colon + 1), chosen.port))
      return fail(Code::bad_request,
                  "--listen " + text + ": write ADDR:PORT, for example 127.0.0.1:6443");
    if (colon > 0) chosen.address = text.substr(0, colon);
    if (chosen.address.starts_with('[') && chosen.address.ends_with(']'))
      chosen.address = chosen.address.substr(1, chosen.address.size() - 2);
    if (chosen.port != 0) return chosen;
  }
  if (Result<std::string> last = read_file(data_dir + "/port")) parse_port(*last, chosen.port);
  return chosen;
}

void remember_port(const std::string& data_dir, std::uint16_t port) {
  Result<void> written =
      write_file_atomically(data_dir + "/port", std::to_string(port) + "\n", 0600);
  if (!written)
    log_warn("main", "the port could not be kept for the next start",
             {{"error", written.error().message}});
}

}  // namespace hekla
