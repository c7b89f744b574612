#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "muffle/core/error.hpp"
#include "muffle/data/source.hpp"

namespace muffle::data {

/// A picture of a folder. Private, its name too.
struct ListedPicture {
  std::string path;  ///< within the folder
  std::int32_t label = 0;
};

/// The pictures of this rank's folder in an order that their names alone decide: by the file's own name, then
/// by its folder's, byte by byte. With DataSpec::labels: those that the table names, in its order.
/// Labels are places in Schema::class_names, or without them numbers; -1: none that a class could have.
/// @throws DataError  a link, a name that is no UTF-8, a class that has no name in the configuration, a file
/// that is no picture by its name, a folder within a class's; of the table a path that leads out of the
/// folder, or twice to the same file. Which one is a local detail.  IoError: no such folder.
std::vector<ListedPicture> list_pictures(const DataSpec& spec, int rank);

/// The bytes of a picture. No name but the folder's gets into a message or a watched step.
/// @throws DataError  a link, no regular file or gone.  IoError: the disk or the system fails.
/// PictureProblem, a misfit: it is too long.
std::vector<std::byte> read_picture(const std::string& folder, const std::string& path);

/// One text whatever is wrong. @param local  "'FILE' is cut off": private.
DataError unusable_picture(const std::string& folder, const std::string& local);

}  // namespace muffle::data
