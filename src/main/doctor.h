// hekla doctor.
#pragma once

namespace hekla {

// Prints one line per finding; 1 when pods could not run here.
int run_doctor();

}  // namespace hekla
