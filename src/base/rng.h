// Randomness as an argument, so that a simulation is its seed.
#pragma once

#include <cstdint>
#include <string>

namespace hekla {

// Thread-safe.
class Rng {
 public:
  virtual ~Rng() = default;
  virtual std::uint64_t next() = 0;
};

// Seeded by the operating system; cryptographically strong (OpenSSL).
Rng& real_rng();

// Uniform in [0, bound); bound > 0.
std::uint64_t uniform(Rng& rng, std::uint64_t bound);
// A random (version 4) UUID in canonical form.
std::string uuid(Rng& rng);
// `length` characters of Kubernetes' safe alphabet for generated names (no vowels, no look-alikes).
std::string name_suffix(Rng& rng, int length);

}  // namespace hekla
