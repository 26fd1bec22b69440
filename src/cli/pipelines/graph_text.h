// A pipeline as text: one line for each task, below what it stands in, in an order in which they
// may run.
#pragma once

#include <map>
#include <string>

#include "json/value.h"

namespace hekla::cli {

//   train-and-test
//     load
//     train                after load
//     for-loop-1           after train; for each item
//       score
// `states` are words by a task's path ("root/for-loop-1/score"), shown where there is one.
std::string graph_text(const json::Value& spec,
                       const std::map<std::string, std::string>& states = {});

}  // namespace hekla::cli
