// SHA-256 of what arrives in pieces.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace hekla {

// One owner; finish() is called once.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void add(std::string_view data);
  std::string finish_hex();  // 64 lower-case digits

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hekla
