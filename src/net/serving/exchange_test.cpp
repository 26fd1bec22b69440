#include "net/serving/exchange.h"

#include <gtest/gtest.h>

namespace hekla::net {
namespace {

// Bytes written while the connection is sending belong to the next turn: only then has the
// queue drained.
TEST(Exchange, DrainedIsSaidAfterWhatCameMeanwhile) {
  auto exchange = std::make_shared<Exchange>(AnswerForm{}, false, [] {});
  auto writer = exchange->make_writer();
  int drained = 0;
  writer->on_drained([&] { ++drained; });
  writer->begin(200, {});
  std::string out;
  const auto take_all = [&] {
    while (exchange->take(out, std::size_t{1} << 16) == Exchange::Left::more) out.clear();
  };
  take_all();
  writer->write(std::string(std::size_t{4} << 20, 'x'));
  exchange->notify_drained();
  EXPECT_EQ(drained, 0);
  take_all();
  exchange->notify_drained();
  EXPECT_EQ(drained, 1);
  exchange->close();
}

}  // namespace
}  // namespace hekla::net
