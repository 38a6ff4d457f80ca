//===- XlaFrame.h - the launches in a call frame of XLA -------------------------------------===//
// Needs: a call frame of XLA's (XlaAbi.h); neither the GIL nor JAX.
// Gives: the kernel and the launches that it specifies, validated: frames that `pantile.jax` did
//        not make are errors.
// How:   `pantile.jax` writes five attributes. `artifact`: the bytes of an Artifact of one kernel;
//        `digest`: a string that no other artifact has; `launch`: the grid's extents, whether the
//        launch is cooperative, whether it may start early; `arguments`: a row of three numbers per
//        argument of the kernel, see ArgumentRow; `batch`: extents of the batch, then per argument
//        the bytes from one element of each to the next.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "XlaAbi.h"
#include "pantile/Runtime.h"
#include <span>
#include <string_view>
#include <vector>

namespace pantile::python {

/// Buffers are counted over the operands of the call, then its results.
struct ArgumentRow {
  enum Kind : int64_t { Buffer = 0, Integer = 1, Float = 2 };
  int64_t kind;
  int64_t value;     ///< number of the buffer; the integer; the bits of a double
  int64_t isWritten; ///< of a buffer
};

/// One launch per element of the batch.
struct XlaLaunches {
  std::string_view digest, artifact;
  Grid grid = {1, 1, 1};
  bool cooperative = false, programmatic = false;
  std::vector<LaunchArg> args;      ///< with the bounds of the whole buffers
  std::span<const int64_t> extents; ///< of the batch
  std::span<const int64_t> steps;   ///< in bytes: one per argument and extent

  int64_t count() const;
  /// The arguments of one element, by its number in row-major order.
  std::vector<LaunchArg> argsOf(int64_t element) const;
};

/// Refers to the memory of `frame`.
Result<XlaLaunches> readFrame(const xla::CallFrame &frame);

} // namespace pantile::python
