#pragma once

namespace muffle {

/// A core dump would hold records and exact sums. Where core_pattern pipes dumps to a program, the kernel
/// heeds no limit but 1 (core(5)); in files, too, 1 byte is less than any dump. Without the right to raise a
/// limit of 0 that one must do.
void forbid_core_dumps();

/// Each rank holds descriptors of its machine's other ranks; the usual limit of 1,024 is for select(2), which
/// we do not use.
void allow_many_files();

}  // namespace muffle
