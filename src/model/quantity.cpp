// The grammar, the rounding and the canonical form of apimachinery's resource.Quantity (v0.34). One
// deliberate difference: Kubernetes remembers some texts as they were typed ("1.500"); here every
// quantity prints canonically.
#include "model/quantity.h"

#include <array>
#include <charconv>
#include <cstdint>
#include <limits>

#include "json/value.h"

namespace hekla::model {
namespace {

constexpr Int128 kNano = 1'000'000'000;
constexpr Int128 kMax = static_cast<Int128>(~UInt128{0} >> 1);
// Kubernetes caps binary quantities at 2^63-1.
constexpr Int128 kBinaryMax = static_cast<Int128>(INT64_MAX) * kNano;

struct Suffix {
  std::string_view text;
  int exponent;  // of 10, or of 1024 for binary
};
constexpr std::array kDecimal{Suffix{"n", -9}, Suffix{"u", -6}, Suffix{"m", -3}, Suffix{"", 0},
                              Suffix{"k", 3},  Suffix{"M", 6},  Suffix{"G", 9},  Suffix{"T", 12},
                              Suffix{"P", 15}, Suffix{"E", 18}};
constexpr std::array kBinary{Suffix{"Ki", 1}, Suffix{"Mi", 2}, Suffix{"Gi", 3},
                             Suffix{"Ti", 4}, Suffix{"Pi", 5}, Suffix{"Ei", 6}};

std::unexpected<Error> wrong_format() {
  return fail(Code::bad_request,
              "quantities must match the regular expression "
              "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
}

struct Scale {
  Quantity::Format format = Quantity::Format::decimal_si;
  int exponent = 0;
};

Result<Scale> interpret(std::string_view suffix) {
  for (const Suffix& known : kDecimal)
    if (known.text == suffix) return Scale{Quantity::Format::decimal_si, known.exponent};
  for (const Suffix& known : kBinary)
    if (known.text == suffix) return Scale{Quantity::Format::binary_si, known.exponent};
  if (suffix.size() > 1 && (suffix[0] == 'e' || suffix[0] == 'E')) {
    std::string_view number = suffix.substr(1);
    if (number[0] == '+') number.remove_prefix(1);
    int exponent = 0;
    const auto end = number.data() + number.size();
    if (auto [at, error] = std::from_chars(number.data(), end, exponent);
        error == std::errc{} && at == end)
      return Scale{Quantity::Format::decimal_exponent, exponent};
  }
  return fail(Code::bad_request, "unable to parse quantity's suffix");
}

bool only(std::string_view text, std::string_view allowed) {
  return text.find_first_not_of(allowed) == std::string_view::npos;
}

// `suffix` is letters, then perhaps a sign, then digits.
bool well_formed_suffix(std::string_view suffix) {
  const std::size_t letters = std::min(suffix.find_first_not_of("eEinumkKMGTP"), suffix.size());
  suffix.remove_prefix(letters);
  if (!suffix.empty() && (suffix[0] == '+' || suffix[0] == '-')) suffix.remove_prefix(1);
  return only(suffix, "0123456789");
}

Int128 saturating_multiply(Int128 a, Int128 b) {
  Int128 product = 0;
  if (!__builtin_mul_overflow(a, b, &product)) return product;
  return (a < 0) == (b < 0) ? kMax : -kMax;
}

Int128 saturating_add(Int128 a, Int128 b) {
  Int128 sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return a > 0 ? kMax : -kMax;
}

// digits * 10^exponent, rounded up; digits has no sign.
Int128 scaled_up(std::string_view digits, int exponent) {
  // What stands more than a few places below the last kept digit only matters as "not zero".
  Int128 number = 0;
  bool rest = false;
  std::size_t kept = digits.size();
  if (exponent < 0) kept -= std::min(kept, static_cast<std::size_t>(-static_cast<long>(exponent)));
  for (std::size_t i = 0; i < digits.size(); ++i) {
    const int digit = digits[i] - '0';
    if (i >= kept) {
      rest = rest || digit != 0;
      continue;
    }
    number = saturating_add(saturating_multiply(number, 10), digit);
  }
  for (int i = 0; i < exponent && number != 0 && number != kMax; ++i)
    number = saturating_multiply(number, 10);
  return rest ? saturating_add(number, 1) : number;
}

// digits (with `point` of them after the decimal point) * 1024^power in nano-units, rounded up.
Int128 binary_nanos(std::string_view digits, std::size_t point, int power) {
  // 1024^6 * 10^9 * n overflows early, but everything above 2^63-1 is capped anyway: bring the
  // number down to what fits first, whole part and fraction apart.
  const std::string_view whole_digits = digits.substr(0, digits.size() - point);
  const Int128 unit = Int128{1} << (10 * power);
  const Int128 whole = scaled_up(whole_digits, 0);
  if (whole > kBinaryMax / kNano / unit) return kBinaryMax;
  std::string_view fraction = digits.substr(digits.size() - point);
  // Further digits of a fraction are read as "not zero": up by a nano.
  bool rest = false;
  if (fraction.size() > 18) {
    rest = !only(fraction.substr(18), "0");
    fraction = fraction.substr(0, 18);
  }
  const Int128 numerator = scaled_up(fraction, 0);
  Int128 denominator = 1;
  for (std::size_t i = 0; i < fraction.size(); ++i) denominator *= 10;
  // numerator/denominator < 1; unit * numerator < 2^60 * 10^18 fits; the factor kNano is applied to
  // quotient and remainder separately.
  const Int128 product = unit * numerator;
  Int128 nanos = product / denominator * kNano;
  const Int128 remainder = product % denominator * kNano;
  nanos += remainder / denominator;
  if (remainder % denominator != 0 || rest) nanos += 1;
  return std::min(whole * unit * kNano + nanos, kBinaryMax);
}

// n / divisor rounded away from zero, kept in int64.
std::int64_t rounded_away(Int128 n, Int128 divisor) {
  Int128 quotient = n / divisor;
  if (n % divisor != 0) quotient += n > 0 ? 1 : -1;
  if (quotient > INT64_MAX) return INT64_MAX;
  if (quotient < INT64_MIN) return INT64_MIN;
  return static_cast<std::int64_t>(quotient);
}

std::string to_text(Int128 number) {
  if (number == 0) return "0";
  const bool negative = number < 0;
  auto magnitude = static_cast<UInt128>(negative ? -number : number);
  std::string text;
  for (; magnitude > 0; magnitude /= 10) text.push_back(static_cast<char>('0' + magnitude % 10));
  if (negative) text.push_back('-');
  return {text.rbegin(), text.rend()};
}

std::string decimal_text(Int128 nanos, bool exponent_form) {
  int exponent = -9;
  while (nanos % 1000 == 0 && (exponent_form || exponent < 18)) {
    nanos /= 1000;
    exponent += 3;
  }
  std::string text = to_text(nanos);
  if (exponent_form) return exponent == 0 ? text : text + "e" + std::to_string(exponent);
  return text.append(kDecimal[static_cast<std::size_t>(exponent / 3 + 3)].text);
}

}  // namespace

Result<Quantity> Quantity::parse(std::string_view text) {
  std::string_view rest = text;
  const bool negative = !rest.empty() && rest[0] == '-';
  if (!rest.empty() && (rest[0] == '-' || rest[0] == '+')) rest.remove_prefix(1);
  std::string number;
  std::size_t point = 0, at = 0;
  for (bool fraction = false; at < rest.size(); ++at) {
    if (rest[at] == '.' && !fraction) {
      fraction = true;
    } else if (rest[at] >= '0' && rest[at] <= '9') {
      number.push_back(rest[at]);
      if (fraction) ++point;
    } else {
      break;
    }
  }
  const std::string_view suffix = rest.substr(at);
  if (number.empty() || !well_formed_suffix(suffix)) return wrong_format();
  const Scale scale = TRY(interpret(suffix));

  Quantity quantity;
  quantity.format = scale.format;
  if (scale.format == Format::binary_si) {
    quantity.nanos = binary_nanos(number, point, scale.exponent);
    if (quantity.nanos < kNano) quantity.format = Format::decimal_si;
    if (quantity.nanos == 0) quantity.format = Format::binary_si;
  } else {
    // Beyond these every quantity is zero, rounded up to a nano, or saturated.
    const int exponent =
        std::clamp(scale.exponent, -100'000, 100'000) - static_cast<int>(point) + 9;
    quantity.nanos = scaled_up(number, exponent);
  }
  if (negative) quantity.nanos = -quantity.nanos;
  return quantity;
}

Quantity Quantity::of(std::int64_t whole, Format format) { return {Int128{whole} * kNano, format}; }

Quantity Quantity::of_milli(std::int64_t milli) {
  return {Int128{milli} * (kNano / 1000), Format::decimal_si};
}

std::int64_t Quantity::value() const { return rounded_away(nanos, kNano); }

std::int64_t Quantity::milli_value() const { return rounded_away(nanos, kNano / 1000); }

std::string Quantity::text() const {
  if (nanos == 0) return "0";
  const bool small = nanos > -1024 * kNano && nanos < 1024 * kNano;
  if (format != Format::binary_si || small || nanos % kNano != 0)
    return decimal_text(nanos, format == Format::decimal_exponent);
  Int128 number = nanos / kNano;
  std::size_t power = 0;
  while (number % 1024 == 0 && power < kBinary.size()) {
    number /= 1024;
    ++power;
  }
  std::string text = to_text(number);
  return power == 0 ? text : text.append(kBinary[power - 1].text);
}

Quantity& Quantity::operator+=(const Quantity& other) {
  if (nanos == 0) format = other.format;
  nanos = saturating_add(nanos, other.nanos);
  return *this;
}

Quantity& Quantity::operator-=(const Quantity& other) {
  if (nanos == 0) format = other.format;
  nanos = saturating_add(nanos, -other.nanos);
  return *this;
}

Quantity Quantity::operator*(std::int64_t times) const {
  return {saturating_multiply(nanos, times), format};
}

Result<Quantity> Quantity::from_node(const json::Node& node) {
  if (node.is_string()) {
    std::string_view text = node.get_string();
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
    while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
    return parse(text);
  }
  if (node.is_number()) return parse(json::serialize(TRY(node.to_value())));
  if (node.is_null()) return Quantity{};
  return fail(Code::bad_request, "a quantity is a string or a number");
}

json::Value Quantity::to_json() const { return json::Value(text()); }

void add(ResourceList& to, const ResourceList& other) {
  for (const auto& [name, quantity] : other) to[name] += quantity;
}

}  // namespace hekla::model
