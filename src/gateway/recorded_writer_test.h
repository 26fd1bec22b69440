// A writer that keeps what it was told, for requests as values.
#pragma once

#include <optional>
#include <string>

#include "net/http.h"

namespace hekla::gateway {

class RecordedWriter final : public net::ResponseWriter {
 public:
  using net::ResponseWriter::write;
  std::optional<net::Response> response;
  bool aborted = false, upgraded = false;

  void respond(net::Response given) override { response = std::move(given); }
  void begin(int status, net::Headers headers) override {
    response = net::Response{status, std::move(headers), {}};
  }
  void write(net::SharedBytes chunk) override {
    if (response) response->body += *chunk;
  }
  void end() override {}
  void abort() override { aborted = true; }
  std::size_t pending_bytes() const override { return 0; }
  void on_drained(std::function<void()>) override {}
  void on_closed(std::function<void()>) override {}
  bool is_closed() const override { return false; }
  void upgrade(net::Headers, std::function<void(std::string_view)>) override { upgraded = true; }
  void pause_input(bool) override {}
};

}  // namespace hekla::gateway
