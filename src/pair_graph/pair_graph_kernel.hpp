// The inner loops of drawing cells of a pair graph: one column of many records.
#pragma once

#include <cstddef>
#include <cstdint>

namespace muffle::pair_graph {

/// Records side by side, and codes side by side: both come in whole packets.
inline constexpr std::size_t kPacket = 8;

struct alignas(kPacket * sizeof(float)) FloatPacket {
  float lane[kPacket];
};

/// A column that depends on others: for each code of each partner a row of numbers, one a code of the column.
struct ColumnRows {
  struct Partner {
    std::size_t column = 0, first_row = 0;  ///< first_row: of its code 0
  };

  std::size_t codes = 0, packets = 0;       ///< packets: of a row
  const FloatPacket* factors = nullptr;     ///< rows; the first one is the column's own
  const FloatPacket* logarithms = nullptr;  ///< of the factors, to base 2
  const Partner* partners = nullptr;
  std::size_t partner_count = 0;
};

/// Records side by side.
struct RecordLanes {
  std::size_t count = 0;  ///< whole packets
  std::uint32_t* codes =
      nullptr;  ///< column by column, `stride` apart; valid, whether a record is there or not
  std::size_t stride = 0;
};

/// Draws a code of the column for each record, with probabilities that are, up to their sum, the product of
/// its own row and its partners'. Where that is too small for a float, or there are many partners, as the
/// exponential of the logarithms' sum. The same bits on every processor, and whatever stands beside a record.
/// @param column   where the codes go
/// @param words    a random number for each record
/// @param numbers  room: 2 kPacket x packets of a row
/// @param shares   if not null: the probabilities, records.count x packets of a row
void draw_by_factors(const ColumnRows& from, const RecordLanes& records, std::size_t column,
                     const std::uint32_t* words, FloatPacket* numbers, FloatPacket* shares);

/// The same where there is one partner, or none, and the factors are the sums of the probabilities of the
/// codes 0 .. x.
void draw_by_bounds(const ColumnRows& from, const RecordLanes& records, std::size_t column,
                    const std::uint32_t* words, FloatPacket* numbers);

/// Adds up each record's shares of a column by the codes of its partners: row `first_row` + a partner's code
/// gets the shares of the records that have it, one record after the other.
/// @param records  of which the first `count` are looked at  @param shares  as draw_by_factors() writes them
/// @param sums     rows, as factors has them; the first one is left alone
void add_shares(const ColumnRows& from, const RecordLanes& records, std::size_t count,
                const FloatPacket* shares, FloatPacket* sums);

/// Makes factors of logarithms, row by row; each row's largest factor is 1, and the logarithms move with it.
/// What is beyond a row's codes becomes 0.
void raise_rows(FloatPacket* logarithms, std::size_t rows, std::size_t codes, FloatPacket* factors);

}  // namespace muffle::pair_graph
