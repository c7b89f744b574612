#include "program.hpp"

void muffle::app::become_needed_program(int, char**) {}
