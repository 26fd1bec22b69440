// cert-manager's Certificate: a Secret with a key and a certificate that fit it, made again when it
// has changed and when two thirds of its time are over.
#pragma once

#include "framework/kind_description.h"

namespace hekla::controllers::certificates {

framework::KindDescription certificate_description();

}  // namespace hekla::controllers::certificates
