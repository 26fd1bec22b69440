// bench/object_server: the object store alone on a port of loopback, for measuring it beside others
// and for running other people's clients against it. Ends with its standard input.
//   object_server DIRECTORY [PORT]   access key "bench", secret key "benchbench"
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/clock.h"
#include "base/rng.h"
#include "net/server.h"
#include "objects/s3.h"

int main(int argc, char** argv) {
  using namespace hekla;
  if (argc < 2) {
    std::fprintf(stderr, "usage: object_server DIRECTORY [PORT]\n");
    return 2;
  }
  Result<std::unique_ptr<objects::ObjectStore>> store =
      objects::ObjectStore::open(argv[1], real_clock(), real_rng());
  if (!store) {
    std::fprintf(stderr, "bench/object_server: %s\n", store.error().message.c_str());
    return 1;
  }
  objects::S3Options options;
  options.hosts = {"localhost"};
  options.credentials = [](std::string_view key) -> std::optional<objects::Credential> {
    if (key != "bench") return std::nullopt;
    return objects::Credential{"bench", "benchbench", true};
  };
  net::ServerOptions serving;
  serving.tls = false;
  serving.port = static_cast<std::uint16_t>(argc > 2 ? std::atoi(argv[2]) : 0);
  serving.router = objects::s3_router();
  auto server = net::Server::start(std::move(serving), objects::s3_handler(**store, options));
  if (!server) {
    std::fprintf(stderr, "bench/object_server: %s\n", server.error().message.c_str());
    return 1;
  }
  std::printf("http://127.0.0.1:%u\n", static_cast<unsigned>((*server)->port()));
  std::fflush(stdout);
  char byte = 0;
  while (::read(STDIN_FILENO, &byte, 1) > 0) {
  }
  return 0;
}
