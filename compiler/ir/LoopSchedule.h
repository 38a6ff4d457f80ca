//===- LoopSchedule.h - the stages of a loop that is software-pipelined -------------------===//
// Needs: an scf.for with `nv.expand`, whose operations have `nv.stage` and `nv.cluster`.
// Gives: the order in which the expanded loop runs them, how old each value is where it is read,
//        and the verifier of these attributes.
// How:   Until nv-expand-loops runs, the attributes change nothing: the loop is sequential.
//        1. Stage s of iteration i runs in iteration i + s of the expanded loop.
//        2. Within an iteration of the expanded loop operations run by cluster, and in the order
//           of the body within one.
//        3. `nv.stage = array<i32: 0, 1>` computes an operation again in each of these stages, with
//           a cluster for each. It has no effects then, or is a load. A reader in stage s reads
//           the instance of the same stage if there is one, else that of the latest stage before.
//        4. A value of stage d is `s - d` iterations old where stage s reads it. Carried values are
//           those of the iteration before, so they are older by one. An age is not negative, and
//           where it is 0 the value is computed before. A carried value whose next value no
//           operation of the body computes is passed on in each stage that reads it.
//        5. `nv.expand = 2` unrolls the expanded loop by two, so that a value that is carried over
//           one iteration stays in its registers (modulo variable expansion).
//        6. Without `nv.predicated` the loop is peeled, and has the stages 0 and 1. With it there
//           may be more, and the expanded loop has the iterations of the last stage. Earlier stages
//           also run for iterations that do not exist; so their operations are free of effects, or
//           loads and copies, which take a predicate.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "ir/Tile.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace pantile {

namespace names {
constexpr llvm::StringLiteral stage = "nv.stage";     // i32 array, on operations of such a loop
constexpr llvm::StringLiteral cluster = "nv.cluster"; // i32 array: its place, for each stage
constexpr llvm::StringLiteral expand = "nv.expand";   // i32, on scf.for: copies of the body, 1 or 2
constexpr llvm::StringLiteral predicated = "nv.predicated"; // unit, on scf.for: not peeled
constexpr llvm::StringLiteral repeats =
    "nv.repeats"; // unit, on a load one stage before the last of such a loop: in the last iteration
                  // it loads the same again, rather than nothing; its address carries no tiles
constexpr llvm::StringLiteral afterPrologue =
    "nv.after_prologue"; // unit, before such a loop: runs after what precedes the expanded loop
constexpr llvm::StringLiteral unrolled = "nv.unrolled"; // i32, on the expanded loop: these copies
constexpr llvm::StringLiteral copy = "nv.copy"; // unit, on MMAs that expansion has added: the dot
                                                // of each is also that of one without it
} // namespace names

/// A stage of an iteration, and the place among operations that run in the same iteration of the
/// expanded loop.
struct StagePlace {
  int stage, cluster;
};

/// How nv-expand-loops expands a loop.
enum class Expansion { Peeled, Unrolled, Predicated };

/// Marks `loop` for nv-expand-loops, and sets the stages of all operations of its body.
void setSchedule(mlir::scf::ForOp loop, Expansion expansion,
                 llvm::function_ref<llvm::SmallVector<StagePlace>(mlir::Operation *)> placesOf);

/// Iterations of the source that an iteration of `loop` runs.
int64_t copiesIn(mlir::scf::ForOp loop);

class LoopSchedule {
public:
  /// An operation in one of its stages.
  struct Instance {
    mlir::Operation *op;
    int stage, cluster;
  };

  /// A value as stage `stage` computes it; for a carried value, the stage of the value that the
  /// iteration before passes on, less one.
  using Key = std::pair<mlir::Value, int>;

  /// The schedule of `loop`, which has `nv.expand`; its attributes are well-formed.
  explicit LoopSchedule(mlir::scf::ForOp loop);

  /// All instances, in the order in which an iteration of the expanded loop runs them.
  llvm::ArrayRef<Instance> order() const { return all; }
  /// The last stage.
  int last() const;

  /// What stage `reader` reads as `value`, which the loop defines; none if no stage up to it
  /// computes `value`.
  std::optional<Key> keyFor(mlir::Value value, int reader) const;

  /// The next value of `carried` where no operation of the body computes it; else null.
  mlir::Value passedOn(mlir::BlockArgument carried) const;

  /// The operands of `instance`, also within its regions, that the loop defines.
  llvm::SmallVector<mlir::Value> operandsOf(const Instance &instance) const;

  /// Reports each value that would be read before it is computed.
  mlir::LogicalResult verify() const;

private:
  bool isInBody(mlir::Value value) const;
  mlir::LogicalResult verifyRead(mlir::Value value, const Instance &reader) const;
  bool isComputedBefore(Key key, const Instance &reader) const;

  mutable mlir::scf::ForOp loop; ///< a handle, whose accessors are not const
  llvm::SmallVector<Instance> all;
};

/// Whether an operation of a stage before the last can run for an iteration that does not exist.
bool takesPredicate(mlir::Operation *op);

/// Verifies `nv.stage`, `nv.cluster` or `nv.expand` of `op`.
mlir::LogicalResult verifySchedule(mlir::Operation *op, mlir::NamedAttribute attribute);

} // namespace pantile
