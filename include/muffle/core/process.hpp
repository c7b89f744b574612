#pragma once

namespace muffle {

/// A core dump would hold records and exact sums. Where core_pattern pipes dumps to a program, the kernel
/// heeds no limit but 1 (core(5)); in files, too, 1 byte is less than any dump. Without the right to raise a
/// limit of 0 that one must do.
void forbid_core_dumps();

/// Each rank holds descriptors of its machine's other ranks; the usual limit of 1,024 is for select(2), which
/// we do not use.
void allow_many_files();

/// Makes the standard streams safe to write to; call first in main. A closed stdin, stdout or stderr is
/// opened on /dev/null: its number would otherwise go to the next file that is opened, a release perhaps, and
/// log lines would be written into that. A reader that goes away ends a write with an error instead of the
/// process (SIGPIPE). Never throws; if even /dev/null cannot be opened, nothing changes.
void secure_standard_streams() noexcept;

/// Writes out what C and C++ streams still hold for stdout. False if any of it could not be written (full
/// disk, reader gone).
bool flush_standard_output() noexcept;

/// Writes a line to stderr without memory, locks or loggers: when nothing else can be relied on.
void last_words(const char* text) noexcept;

}  // namespace muffle
