// Where the API server listens: what the user said, else the port of the last start, else a free
// one.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "net/listener.h"

namespace hekla {

struct ListenAddress {
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;
};

// ADDR:PORT, :PORT or empty; `flag` is named in errors.
Result<ListenAddress> parse_listen_address(const std::string& flag, const std::string& text);
// `text` is ADDR:PORT, :PORT or empty.
Result<ListenAddress> choose_listen_address(const std::string& text, const std::string& data_dir);
// A listener on what `flag` says, else on the port of the last start, which lies in `file` of the
// data directory, else on the usual one, else on any; the port is kept for the next start.
struct KeptPort {
  std::string flag, file;  // "--web-listen", "web-port"
  std::uint16_t usual = 0;
};
Result<net::Socket> listen_on_kept(const KeptPort& kept, const std::string& wanted,
                                   const std::string& data_dir, ListenAddress& address);
// The address is taken or no address of this machine: by whom, and which flag chooses another.
Error listen_error(const Error& error, std::uint16_t port, const std::string& flag);
// Kubeconfigs handed out keep working after a restart.
void remember_port(const std::string& data_dir, std::uint16_t port);

}  // namespace hekla
