//===- TileIndex.h - indexing of tiles ---------------------------------------------------===//
// Needs: the values of an index, with their source positions.
// Gives: what it selects along each dimension, the shape of the selection, and the tile with other
//        elements there.
// How:   As in NumPy. Bounds of slices are constants; a single index may be a run-time value.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "frontend/Emitter.h"

namespace pantile {

class TileIndex {
public:
  /// Reports what is no index of such a tile, at its place; nothing then.
  static std::optional<TileIndex> of(Emitter &e, const Runtime &tile,
                                     llvm::ArrayRef<IndexPart> parts, SourceSpan span);
  /// The elements that are picked.
  Value taken(Emitter &e, const Runtime &tile) const;
  /// `tile` with `value` in their place.
  Value replaced(Emitter &e, const Runtime &tile, const Value &value, SourceSpan span) const;

private:
  /// Along one dimension of the tile.
  struct Pick {
    int64_t first = 0, stride = 1, size = 1; ///< in rising order
    bool isReversed = false, isDropped = false;
    std::optional<Runtime> index; ///< of run time; `size` is that of the dimension then
  };

  bool addPart(Emitter &e, const IndexPart &part, int64_t size);
  bool addSlice(Emitter &e, const SliceValue &slice, SourceSpan span, int64_t size);
  bool addRunTime(Emitter &e, const Runtime &index, SourceSpan span, int64_t size);

  /// Shape of what constants pick: a dimension for each of the tile.
  Shape constantShape() const;
  /// The same, with size 1 where an index of run time picks.
  Shape keptShape() const;
  /// Without dimensions that an index drops; and with those that `None` makes.
  Shape droppedShape() const;
  Shape shape() const;
  bool picksAll(const Runtime &tile) const;
  Runtime reversed(Emitter &e, Runtime value) const;
  Runtime sliced(Emitter &e, const Runtime &tile) const;
  Runtime atIndices(Emitter &e, Runtime value) const;
  Runtime withSlice(Emitter &e, const Runtime &tile, const Runtime &value, bool hasPoints) const;
  std::optional<Runtime> isPicked(Emitter &e, const Pick &pick, int64_t size) const;
  Runtime withIndices(Emitter &e, const Runtime &tile, const Runtime &value) const;
  std::optional<Runtime> fitted(Emitter &e, const Runtime &tile, const Value &value,
                                SourceSpan span) const;

  std::string name; ///< of the tile's type
  llvm::SmallVector<Pick, 4> picks;
  llvm::SmallVector<int64_t, 4> made; ///< dimensions of the result that `None` makes
};

} // namespace pantile
