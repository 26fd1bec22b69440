// Under which names and addresses a server that listens somewhere is reached.
#pragma once

#include <string>
#include <vector>

namespace hekla {

bool is_wildcard(const std::string& address);  // every address of this machine: 0.0.0.0, ::
bool is_ip_address(const std::string& text);
// The addresses of the interfaces that are up, without those that mean something on one link only.
std::vector<std::string> interface_addresses();

// The names that the certificate of a server must have: the address it listens on (every one of
// this machine for a wildcard), loopback, and what else was asked for.
std::vector<std::string> server_names(const std::string& listen_address,
                                      const std::vector<std::string>& more);
// Where others find a server that listens there: of a wildcard the first address that is not
// loopback.
std::string advertised_address(const std::string& listen_address);
// Where clients on this machine find it: 127.0.0.1 for a wildcard.
std::string local_address(const std::string& listen_address);
// "https://127.0.0.1:6443": for clients on this machine.
std::string local_url(const std::string& listen_address, int port);

}  // namespace hekla
