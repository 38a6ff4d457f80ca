//===- LowerWgmma.cpp - wgmma.mma_async and its wait ------------------------------------------===//
// Needs: accumulators in LinearLayout::wgmmaAccumulator; operands in swizzled shared memory, or
//        the left one in registers in LinearLayout::mmaOperandA.
// Gives: fence, one asm string of wgmmas over all of K for each 64 rows and instrN columns, commit.
//        Where fp8 accumulation in tensor cores must be limited (max_num_imprecise_acc), an asm
//        string covers less of K, and its result is added to the accumulator by fp32 additions.
// How:   A matrix descriptor is the start address and two strides, in units of 16 bytes. The start
//        may be moved within a swizzle atom, because the hardware swizzles the final address. If K
//        is contiguous, the stride offset is 8 rows and the leading offset is unused; if M or N is,
//        the leading offset is the distance of panels. If the columns of instructions are
//        interleaved (`run` of the MMA), either is larger by their number. The start depends on the
//        warp group, which comes from a shuffle so that ptxas can see that it is uniform.
//        Accumulators are tied operands; nothing reads them until nv.wgmma_wait ties them again.
//===-----------------------------------------------------------------------------------===//
#include "lower/Lowering.h"
#include "llvm/IR/IntrinsicsNVPTX.h"

using namespace mlir;
using namespace pantile;
using namespace pantile::lower;

namespace {
using Coord = LinearLayout::Coord;

/// A shared operand: descriptors of its pieces.
class Descriptors {
public:
  /// `dim`: the dimension that is not K; `acc`: the accumulator's layout, whose warps split that
  /// dimension. `interleaved`: instructions whose columns are interleaved along it.
  Descriptors(Lowering &l, Value buffer, int dim, const LinearLayout &acc, int64_t interleaved = 1)
      : l(l), shared(sharedLayoutOf(cast<nv::BufferType>(buffer.getType()))), dim(dim),
        interleaved(interleaved) {
    SmallVector<int64_t> ofWarp;
    int64_t warpBits = 0;
    for (auto [i, basis] : llvm::enumerate(acc.warp())) {
      // The first two warp bits are the four warps of a group, which the hardware distributes
      // itself.
      Coord coord(2, 0);
      coord[dim] = i < 2 ? 0 : basis[dim];
      ofWarp.push_back(shared.linearOffset(coord));
      warpBits |= ofWarp.back();
    }
    llvm::Value *start = l.scalar(buffer);
    isFixed = isa<llvm::Constant>(start);
    // Shared memory ends below 2^18, so a start in units of 16 bytes fits the field of 14 bits.
    // Loop-invariant terms are added first.
    llvm::Value *ofGroup = l.placed(l.linear({}, ofWarp, true), warpBits, shared);
    llvm::Value *fixed = l.b.CreateAdd(l.sharedAddress(l.b.getInt32(0)), ofGroup, "", true, true);
    fixed = l.b.CreateOr(units(fixed), static_cast<uint32_t>(constantFields()));
    first = l.b.CreateAdd(fixed, units(start), "", true, true);
  }

  /// Whether K is not the contiguous dimension.
  bool transposed() const { return shared.order()[0] == dim; }

  /// Elements along the dimension after which the stride may change: those of a panel, or 8 rows.
  int64_t run() const { return transposed() ? shared.rowBytes() * 8 / shared.elementBits() : 8; }

  /// The upper 32 bits, which are the same for all pieces.
  uint32_t upper() const { return constantFields() >> 32; }

  /// Whether the buffer's address is a constant: no stage is selected at run time.
  bool fixed() const { return isFixed; }

  /// The lower 32 bits.
  llvm::Value *at(int position, int k) {
    return l.b.CreateAdd(first, l.b.getInt32(unitsTo(position, k)));
  }

  /// The whole descriptor.
  llvm::Value *wholeAt(int position, int k) {
    return l.b.CreateOr(l.b.CreateZExt(at(position, k), l.b.getInt64Ty()),
                        static_cast<uint64_t>(upper()) << 32);
  }

  /// The distance from the first descriptor of an asm string to the one `k` further on. The first
  /// is at a multiple of the K that the string covers, a power of two, so that offsets, which are
  /// linear over F2, can be added.
  int64_t distance(int k) const { return unitsTo(0, k); }

private:
  llvm::Value *units(llvm::Value *bytes) { return l.b.CreateLShr(bytes, 4, "", /*isExact=*/true); }

  int64_t unitsTo(int position, int k) const {
    Coord coord(2, 0);
    coord[dim] = position;
    coord[1 - dim] = k;
    return shared.offset(coord) >> 4;
  }

  uint64_t constantFields() const {
    const uint64_t span = shared.swizzle();
    const uint64_t mode = span == 128 ? 1 : span == 64 ? 2 : span == 32 ? 3 : 0;
    const uint64_t leading = transposed() ? interleaved * shared.panelBytes() >> 4 : 1;
    const uint64_t stride = (transposed() ? 1 : interleaved) * span * 8 >> 4;
    return mode << 62 | stride << 32 | leading << 16;
  }

  Lowering &l;
  const SharedLayout shared;
  const int dim;
  const uint64_t interleaved;
  bool isFixed;
  llvm::Value *first;
};

StringRef operandName(Type type) {
  return type.isF16()                  ? "f16"
         : type.isBF16()               ? "bf16"
         : type.isF32()                ? "tf32"
         : type.isInteger(8)           ? "s8"
         : isa<Float8E4M3FNType>(type) ? "e4m3"
                                       : "e5m2";
}

std::string operandList(int first, int count) {
  std::string list = "{";
  for (int i = 0; i < count; ++i)
    list += (i ? ",$" : "$") + std::to_string(first + i);
  return list + "}";
}

/// One piece of the result over all of K: `steps` instructions in one asm string, since each asm
/// string ties all accumulators again. Operands: accumulators, ties, A, B of the first step, and
/// scale-d. The asm string computes descriptors from the lower 32 bits of the first one: ptxas 13.0
/// loses the upper half of a descriptor that a loop increments in 64 bits. A is passed for each
/// step if it is in registers, or if its address is a constant, so that its descriptors are
/// loop-invariant.
class Instructions {
public:
  Instructions(Lowering &l, Type left, Type right, Type acc, int n, int k, int steps,
               const Descriptors *lhs, const Descriptors &rhsPieces)
      : l(l), accType(l.type(acc)), packed(accType->isHalfTy()) {
    words = n / (packed ? 4 : 2);
    const bool lhsInRegisters = !lhs, isWhole = lhs && lhs->fixed();
    const int aWords = lhsInRegisters ? 4 : 1, a = 2 * words,
              rhs = a + (lhsInRegisters || isWhole ? aWords * steps : 1);
    const std::string names = operandName(left).str() + "." + operandName(right).str();
    const std::string accName = packed ? "f16" : accType->isIntegerTy() ? "s32" : "f32";
    std::string flags = accType->isIntegerTy() ? "" : ", 1, 1";
    if (storageBits(left) == 16)
      flags += std::string(!lhs                ? ""
                           : lhs->transposed() ? ", 1"
                                               : ", 0") +
               (rhsPieces.transposed() ? ", 1" : ", 0");
    asmString = "{ .reg .pred p, q; .reg .b64 a, b, c, d; setp.ne.b32 p, $" +
                std::to_string(rhs + 1) + ", 0; setp.ne.b32 q, 1, 0; ";
    for (int step = 0; step < steps; ++step) {
      const std::string own = "$" + std::to_string(a + step);
      if (lhs && !isWhole)
        asmString += descriptor("a", "c", a, *lhs, step * k);
      asmString += descriptor("b", "d", rhs, rhsPieces, step * k);
      asmString += "wgmma.mma_async.sync.aligned.m64n" + std::to_string(n) + "k" +
                   std::to_string(k) + "." + accName + "." + names + " " + operandList(0, words) +
                   ", " +
                   (lhsInRegisters ? operandList(a + aWords * step, 4)
                    : isWhole      ? own
                                   : "a") +
                   ", b" + (step ? ", q" : ", p") + flags + "; ";
    }
    asmString += "}";
    setConstraints(lhsInRegisters ? std::string(steps * 4, 'r')
                   : isWhole      ? std::string(steps, 'l')
                                  : "r");
    llvm::Type *word = packed ? l.b.getInt32Ty() : accType;
    result =
        llvm::StructType::get(l.module.getContext(), llvm::SmallVector<llvm::Type *>(words, word));
  }

  /// `acc` are the accumulators, packed into 32-bit registers.
  Values operator()(ValueList acc, ValueList lhs, llvm::Value *rhs, bool keepsSum) {
    Values operands(acc);
    operands.append(lhs.begin(), lhs.end());
    operands.push_back(rhs);
    operands.push_back(l.b.getInt32(keepsSum));
    return l.results(l.assembly(result, asmString, constraints, operands), words);
  }
  Values toWords(ValueList elements) { return packed ? l.pack(elements, 16) : Values(elements); }
  Values toElements(ValueList list) {
    return packed ? l.unpack(list, accType, 16, words * 2) : Values(list);
  }

private:
  /// Puts the descriptor at `k` into `name`; `first` keeps the one of the first step.
  static std::string descriptor(std::string name, const std::string &first, int operand,
                                const Descriptors &pieces, int k) {
    if (k)
      return "add.s64 " + name + ", " + first + ", " + std::to_string(pieces.distance(k)) + "; ";
    return "mov.b64 " + first + ", {$" + std::to_string(operand) + ", " +
           std::to_string(pieces.upper()) + "}; mov.b64 " + name + ", " + first + "; ";
  }

  /// `ofLhs`: one constraint letter per operand of A.
  void setConstraints(const std::string &ofLhs) {
    const char acc = packed || accType->isIntegerTy() ? 'r' : 'f';
    for (int i = 0; i < words; ++i)
      constraints += std::string("=") + acc + ",";
    for (int i = 0; i < words; ++i)
      constraints += std::to_string(i) + ",";
    for (const char letter : ofLhs)
      constraints += std::string(1, letter) + ",";
    constraints += "r,n";
  }

  Lowering &l;
  llvm::Type *accType, *result;
  bool packed;
  int words;
  std::string asmString, constraints;
};

void fence(Lowering &l) {
  l.b.CreateIntrinsic(l.b.getVoidTy(), llvm::Intrinsic::nvvm_wgmma_fence_sync_aligned, {});
}
void commit(Lowering &l) {
  l.b.CreateIntrinsic(l.b.getVoidTy(), llvm::Intrinsic::nvvm_wgmma_commit_group_sync_aligned, {});
}

Values zerosLike(ValueList values) {
  return llvm::map_to_vector<8>(values, [](llvm::Value *value) -> llvm::Value * {
    return llvm::Constant::getNullValue(value->getType());
  });
}

bool isZero(llvm::Value *value) {
  auto *constant = dyn_cast<llvm::Constant>(value);
  return constant && (constant->isZeroValue() || isa<llvm::PoisonValue>(constant));
}

/// Undefined accumulators, for an instruction that starts from zero.
Values unset(ValueList values) {
  return llvm::map_to_vector<8>(values, [](llvm::Value *value) -> llvm::Value * {
    return llvm::UndefValue::get(value->getType());
  });
}

std::string waitString(unsigned pending) {
  return "wgmma.wait_group.sync.aligned " + std::to_string(pending) + ";";
}

/// Assembly whose tied operands are the registers `words`; those of `held` are inputs, so that LLVM
/// does not reuse them before.
Values tied(Lowering &l, const std::string &asmString, ValueList words, ValueList held = {}) {
  std::string outputs, ties;
  llvm::SmallVector<llvm::Type *> types;
  for (llvm::Value *word : words) {
    outputs += word->getType()->isIntegerTy() ? "=r," : "=f,";
    ties += std::to_string(types.size()) + ",";
    types.push_back(word->getType());
  }
  std::string constraints = outputs + ties;
  for (size_t i = 0; i < held.size(); ++i)
    constraints += "r,";
  if (!constraints.empty())
    constraints.pop_back();
  llvm::Type *type = types.empty()       ? l.b.getVoidTy()
                     : types.size() == 1 ? types[0]
                                         : llvm::StructType::get(l.module.getContext(), types);
  Values operands(words);
  operands.append(held.begin(), held.end());
  llvm::Value *call = l.assembly(type, asmString, constraints, operands);
  return words.empty() ? Values() : l.results(call, words.size());
}

/// Waits until at most `pending` MMAs are in flight, with the operands of `tied`.
Values waitFor(Lowering &l, ValueList words, unsigned pending, ValueList held = {}) {
  return tied(l, waitString(pending), words, held);
}

/// Whether LLVM may compute `word` later than here: it is no result of assembly and not carried.
bool mayBeComputedLater(llvm::Value *word) {
  return isa<llvm::Instruction>(word) && !isa<llvm::PHINode, llvm::ExtractValueInst>(word);
}

/// Has the words of an accumulator in registers here: LLVM would move constants and computations
/// between the fence and the MMA.
Values inRegisters(Lowering &l, Values words) {
  for (llvm::Value *&word : words)
    if (isa<llvm::Constant>(word))
      word = l.assembly(word->getType(), "mov.b32 $0, $1;",
                        word->getType()->isIntegerTy() ? "=r,r" : "=f,f", {word});
  return llvm::any_of(words, mayBeComputedLater) ? tied(l, "", words) : words;
}

/// K that one asm string covers: all of it, or at most max_num_imprecise_acc.
int depthOfString(nv::WgmmaOp op, int depth, int k) {
  auto most = op->getAttrOfType<IntegerAttr>(names::maxImprecise);
  if (!most)
    return depth;
  int depthOfOne = k;
  while (2 * depthOfOne <= std::min<int64_t>(most.getInt(), depth) && depth % (2 * depthOfOne) == 0)
    depthOfOne *= 2;
  return depthOfOne;
}

LogicalResult lowerWgmma(Lowering &l, nv::WgmmaOp op) {
  const LinearLayout &acc = l.layout(op.getResult().getType());
  auto rhsType = op.getRhs().getType();
  const Type right = rhsType.getElementType();
  const unsigned bits = storageBits(right);
  const int n = op.getMma().getN(), k = op.getMma().getK(), depth = rhsType.getShape()[0],
            perPiece = n / 2, step = static_cast<int>(llvm::PowerOf2Ceil(perPiece));
  if (n == 0 || acc.numRegs() % step)
    return op.emitError("the accumulator is not made of instructions of ") << n << " columns";
  auto lhsTile = dyn_cast<RankedTensorType>(op.getLhs().getType());
  const Type left = lhsTile ? lhsTile.getElementType()
                            : cast<nv::BufferType>(op.getLhs().getType()).getElementType();
  std::optional<Descriptors> lhs;
  const unsigned run = op.getMma().getRun();
  Descriptors rhs(l, op.getRhs(), 1, acc, run ? acc.shape()[1] / n : 1);
  if (run && run != rhs.run())
    return op.emitError("the right operand has runs of ")
           << rhs.run() << " columns, not of " << run;
  if (!lhsTile)
    lhs.emplace(l, op.getLhs(), 0, acc);
  if (bits != 16 && (rhs.transposed() || (lhs && lhs->transposed())))
    return op.emitError("wgmma reads operands of ") << bits << " bits only along K";
  const int most = depthOfString(op, depth, k);
  Instructions instructions(l, left, right, elementTypeOf(op.getResult().getType()), n, k, most / k,
                            lhs ? &*lhs : nullptr, rhs);
  auto lhsAt = [&](int row, int i, bool isFirst) -> Values {
    if (lhs)
      return lhs->fixed() ? Values{lhs->wholeAt(row, i)}
             : isFirst    ? Values{lhs->at(row, i)}
                          : Values();
    const int first = *l.layout(lhsTile).registerOf({row, i}, 0, 0);
    return l.pack(l.get(op.getLhs()).slice(first, 128 / bits), bits);
  };
  struct Piece {
    Values sum, lhs;
    llvm::Value *rhs;
  };
  auto piece = [&](int reg, int start) {
    const Coord at = acc.apply(reg, 0, 0);
    Piece piece{
        instructions.toWords(l.get(op.getAcc()).slice(reg, perPiece)), {}, rhs.at(at[1], start)};
    for (int i = start; i < start + most; i += k)
      piece.lhs.append(lhsAt(at[0], i, i == start));
    return piece;
  };

  // The registers of the pieces; absent registers in between stay poison.
  Values result(acc.numRegs(),
                llvm::PoisonValue::get(l.type(elementTypeOf(op.getResult().getType()))));
  auto setPiece = [&](int reg, ValueList elements) { llvm::copy(elements, result.begin() + reg); };
  if (op->hasAttr(names::maxImprecise)) {
    for (int reg = 0; reg < acc.numRegs(); reg += step) {
      if (!acc.isPresent(reg))
        continue;
      Values sums;
      for (int start = 0; start < depth; start += most) {
        Piece deep = piece(reg, start);
        fence(l);
        Values partial = instructions(zerosLike(deep.sum), deep.lhs, deep.rhs, false);
        commit(l);
        partial = waitFor(l, partial, 0);
        sums = start == 0 ? deep.sum : sums;
        for (auto [sum, add] : llvm::zip_equal(sums, partial))
          sum = l.b.CreateFAdd(sum, add);
      }
      setPiece(reg, instructions.toElements(sums));
    }
    fence(l);
  } else {
    // Between the fence and the last piece, no register that a piece uses may be written.
    const bool zeroInitialised = op.getInitZero() || llvm::all_of(l.get(op.getAcc()), isZero);
    SmallVector<std::pair<int, Piece>> pieces;
    for (int reg = 0; reg < acc.numRegs(); reg += step) {
      if (!acc.isPresent(reg))
        continue;
      pieces.push_back({reg, piece(reg, 0)});
      if (!zeroInitialised)
        pieces.back().second.sum = inRegisters(l, pieces.back().second.sum);
    }
    fence(l);
    for (auto &[reg, piece] : pieces) {
      if (zeroInitialised)
        piece.sum = unset(piece.sum);
      setPiece(reg, instructions.toElements(
                        instructions(piece.sum, piece.lhs, piece.rhs, !zeroInitialised)));
    }
  }
  commit(l);
  l.set(op.getResult(), result);
  return success();
}

/// The registers of a tile that are present.
Values presentOf(Lowering &l, Value tile) {
  Values present;
  for (auto [reg, value] : llvm::enumerate(l.get(tile)))
    if (l.isPresent(tile.getType(), reg))
      present.push_back(value);
  return present;
}

/// All registers of a tile, from the present ones.
Values withAbsent(Lowering &l, Type tile, ValueList present) {
  Values all;
  for (int reg = 0, next = 0; reg < l.count(tile); ++reg)
    all.push_back(l.isPresent(tile, reg) ? present[next++]
                                         : llvm::PoisonValue::get(present[0]->getType()));
  return all;
}

/// The 32-bit registers from which an MMA reads `tile`.
Values packedRegistersOf(Lowering &l, Value tile) {
  return l.pack(presentOf(l, tile), storageBits(elementTypeOf(tile.getType())));
}

/// The accumulators are tied operands of the wait, so no use of them can move before it.
LogicalResult lowerWgmmaWait(Lowering &l, nv::WgmmaWaitOp op) {
  if (!op.getPending())
    return op.emitError("a wait without a count: `nv-insert-waits` has not run");
  Values operands;
  for (Value value : op.getValues())
    operands.append(elementTypeOf(value.getType()).isF16() ? l.pack(presentOf(l, value), 16)
                                                           : presentOf(l, value));
  Values held;
  for (Value tile : op.getHeld())
    held.append(packedRegistersOf(l, tile));
  Values waited = waitFor(l, operands, *op.getPending(), held);
  ValueList rest = waited;
  for (auto [value, result] : llvm::zip_equal(op.getValues(), op.getResults())) {
    llvm::Type *element = l.type(elementTypeOf(value.getType()));
    const size_t count = presentOf(l, value).size();
    const size_t taken = element->isHalfTy() ? count / 2 : count;
    const Values present = element->isHalfTy()
                               ? l.unpack(rest.take_front(taken), element, 16, count)
                               : Values(rest.take_front(taken));
    l.set(result, withAbsent(l, value.getType(), present));
    rest = rest.drop_front(taken);
  }
  return success();
}
/// Copies that LLVM can neither fold nor move across a wait.
LogicalResult lowerCopyRegisters(Lowering &l, nv::CopyRegistersOp op) {
  const Type element = elementTypeOf(op.getType());
  Values copies;
  for (llvm::Value *word : packedRegistersOf(l, op.getSrc()))
    copies.push_back(l.assembly(word->getType(), "mov.b32 $0, $1;", "=r,r", {word}));
  const Values present =
      l.unpack(copies, l.type(element), storageBits(element), presentOf(l, op.getSrc()).size());
  l.set(op.getResult(), withAbsent(l, op.getType(), present));
  return success();
}

/// Emits a predicated store before the wait. Its predicate depends on the values and is never true:
/// a grid has at least one CTA. ptxas does not reorder stores and waits for MMAs, which read the
/// same memory. It combines three values per instruction, where a sum would take two.
LogicalResult lowerSettle(Lowering &l, nv::SettleOp op) {
  llvm::Value *bits = l.b.getInt32(0);
  for (llvm::Value *value : presentOf(l, op.getValue()))
    bits = l.b.CreateXor(bits, l.b.CreateBitCast(value, l.b.getInt32Ty()));
  l.assembly(l.b.getVoidTy(),
             "{ .reg .pred p; .reg .b32 t; mov.u32 t, %nctaid.x; or.b32 t, t, $0; "
             "setp.eq.u32 p, t, 0; @p st.volatile.shared.b32 [$1], $0; }",
             "r,r", {bits, l.sharedAddress(l.b.getInt32(0))});
  return success();
}
} // namespace

void lower::addWgmma(Handlers &h) {
  h.add<nv::WgmmaOp>(lowerWgmma);
  h.add<nv::WgmmaWaitOp>(lowerWgmmaWait);
  h.add<nv::CopyRegistersOp>(lowerCopyRegisters);
  h.add<nv::SettleOp>(lowerSettle);
}
