#include "main/listen.h"

#include <charconv>

#include "base/disk.h"
#include "base/log.h"
#include "main/port_holder.h"

namespace hekla {
namespace {

bool parse_port(std::string_view text, std::uint16_t& port) {
  while (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

void keep_port(const std::string& file, std::uint16_t port) {
  Result<void> written = write_file_atomically(file, std::to_string(port) + "\n", 0600);
  if (!written)
    log_warn("main", "the port could not be kept for the next start",
             {{"error", written.error().message}});
}

}  // namespace

Result<ListenAddress> parse_listen_address(const std::string& flag, const std::string& text) {
  ListenAddress chosen;
  if (text.empty()) return chosen;
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos ||
      !parse_port(std::string_view(text).substr(colon + 1), chosen.port))
    return fail(Code::bad_request,
                flag + " " + text + ": write ADDR:PORT, for example 127.0.0.1:6443");
  if (colon > 0) chosen.address = text.substr(0, colon);
  if (chosen.address.starts_with('[') && chosen.address.ends_with(']'))
    chosen.address = chosen.address.substr(1, chosen.address.size() - 2);
  return chosen;
}

Result<ListenAddress> choose_listen_address(const std::string& text, const std::string& data_dir) {
  ListenAddress chosen = TRY(parse_listen_address("--listen", text));
  if (chosen.port != 0) return chosen;
  if (Result<std::string> last = read_file(data_dir + "/port")) parse_port(*last, chosen.port);
  return chosen;
}

Result<net::Socket> listen_on_kept(const KeptPort& kept, const std::string& wanted,
                                   const std::string& data_dir, ListenAddress& address) {
  address = TRY(parse_listen_address(kept.flag, wanted));
  const std::string file = data_dir + "/" + kept.file;
  std::uint16_t last = 0;
  if (Result<std::string> text = read_file(file)) parse_port(*text, last);
  Result<net::Socket> listener = fail(Code::unavailable, "");
  if (address.port != 0) {
    listener = net::listen_on(address.address, address.port);
  } else {
    if (last != 0) listener = net::listen_on(address.address, last);
    if (!listener) listener = net::listen_on(address.address, kept.usual);
    if (!listener) listener = net::listen_on(address.address, 0);
  }
  if (!listener) return std::unexpected(listen_error(listener.error(), address.port, kept.flag));
  address.port = net::local_port(*listener);
  keep_port(file, address.port);
  return listener;
}

Error listen_error(const Error& error, std::uint16_t port, const std::string& flag) {
  const std::string holder = port_holder(port);
  return Error{error.code, error.message + (holder.empty() ? "" : " by " + holder) +
                               "; choose another address with " + flag +
                               " ADDR:PORT (port 0 takes a free one)"};
}

void remember_port(const std::string& data_dir, std::uint16_t port) {
  keep_port(data_dir + "/port", port);
}

}  // namespace hekla
