// Kinds of others that are stored and that nothing here follows: their objects say so themselves,
// in the condition that people look at.
#pragma once

#include <vector>

#include "framework/kind_description.h"

namespace hekla::controllers::certificates {

std::vector<framework::KindDescription> unobeyed_descriptions();

}  // namespace hekla::controllers::certificates
