#pragma once

namespace muffle::app {

/// LibTorch takes 0.4 s to load, and most verbs need nothing of it. So there are two programs of the same
/// main(): bin/muffle, which is linked without, and libexec/muffle/muffle-torch. The first becomes the second
/// where a verb trains, draws, scores or looks at LibTorch, where the records of a release are summed by a
/// map that needs it, and for the steps of a site that has networks; the second does nothing here. Called
/// before MPI, and under the watchdog: it may read the configuration.
/// @throws IoError  the second program isn't beside the first.
void become_needed_program(int argc, char** argv);

}  // namespace muffle::app
