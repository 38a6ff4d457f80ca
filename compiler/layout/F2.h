//===- F2.h - linear algebra over the field of two elements ------------------------===//
// Needs: vectors of at most 63 bits, held in one 64-bit integer.
// Gives: F2Span, a growing set of vectors that answers whether v is the XOR of some of them, and of
//        which.
// How:   Gaussian elimination as vectors are inserted. Each reduced row has the positions of the
//        inserted vectors whose XOR it is, so an answer names inserted vectors by their position. A
//        vector that adds nothing keeps its position but is never part of an answer.
//===-------------------------------------------------------------------------------===//
#ifndef PANTILE_LAYOUT_F2_H
#define PANTILE_LAYOUT_F2_H

#include <bit>
#include <cstdint>
#include <optional>
#include <vector>

namespace pantile {

class F2Span {
public:
  /// Adds `vector` at the next position; true when it was not in the span before.
  bool insert(uint64_t vector) {
    const uint64_t self = uint64_t(1) << inserted++;
    Row row{vector, self};
    reduce(row);
    if (row.vector == 0)
      return false;
    used |= self;
    rows.push_back(row);
    return true;
  }

  /// The positions, as a bit mask, whose vectors XOR to `vector`; nothing outside the span.
  std::optional<uint64_t> express(uint64_t vector) const {
    Row row{vector, 0};
    reduce(row);
    return row.vector == 0 ? std::optional(row.from) : std::nullopt;
  }

  bool contains(uint64_t vector) const { return express(vector).has_value(); }
  int rank() const { return static_cast<int>(rows.size()); }
  int size() const { return inserted; }
  /// Positions whose vector was a XOR of earlier ones.
  uint64_t dependentMask() const { return ((uint64_t(1) << inserted) - 1) & ~used; }

private:
  struct Row {
    uint64_t vector;
    uint64_t from;
  };

  void reduce(Row &row) const {
    for (const Row &r : rows)
      if (row.vector & std::bit_floor(r.vector)) {
        row.vector ^= r.vector;
        row.from ^= r.from;
      }
  }

  std::vector<Row> rows;
  int inserted = 0;
  uint64_t used = 0;
};

} // namespace pantile

#endif // PANTILE_LAYOUT_F2_H
