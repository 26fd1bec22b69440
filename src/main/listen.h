// Where the API server listens: what the user said, else the port of the last start, else a free
// one.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace hekla {

struct ListenAddress {
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;
};

// `text` is ADDR:PORT, :PORT or empty.
Result<ListenAddress> choose_listen_address(const std::string& text, const std::string& data_dir);
// Kubeconfigs handed out keep working after a restart.
void remember_port(const std::string& data_dir, std::uint16_t port);

}  // namespace hekla
