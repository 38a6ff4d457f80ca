//===- LowerWgmma.cpp - wgmma.mma_async and its wait ------------------------------------------===//
// Needs: accumulators in LinearLayout::wgmmaAccumulator; operands in swizzled shared memory, or
//        the left one in registers in LinearLayout::mmaOperandA.
// Gives: fence, a text of wgmmas over all of K for each 64 rows and instrN columns, commit. Where
//        fp8 must not be summed imprecisely for long, a text covers less of K, and its sum is added
//        to the accumulator by fp32 additions.
// How:   a matrix descriptor is the start address and two strides in units of 16 bytes. Moving
//        the start inside a swizzle atom is right because the hardware swizzles the final
//        address. Where the fast dimension is K, the stride offset is 8 rows and the leading one
//        unused; where it is M or N, the leading offset is the distance of panels. Either is as much
//        larger where instructions take turns at the columns (`run` of the MMA). The start
//        depends on the warp group, taken from a shuffle so that the assembler knows it uniform.
//        Accumulators are tied operands; nothing touches them until nv.wgmma_wait ties them again.
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
  /// `dim`: the dimension that is not K; `acc`: whose warps place the operand along it. An
  /// instruction takes one of `turns` runs along it.
  Descriptors(Lowering &l, Value buffer, int dim, const LinearLayout &acc, int64_t turns = 1)
      : l(l), shared(sharedLayoutOf(cast<nv::BufferType>(buffer.getType()))), dim(dim),
        turns(turns) {
    SmallVector<int64_t> ofWarp;
    int64_t warpBits = 0;
    for (auto [i, basis] : llvm::enumerate(acc.warp())) {
      // The first two warp bits are the four warps of a group: the hardware places them itself.
      Coord coord(2, 0);
      coord[dim] = i < 2 ? 0 : basis[dim];
      ofWarp.push_back(shared.linearOffset(coord));
      warpBits |= ofWarp.back();
    }
    llvm::Value *start = l.scalar(buffer);
    isFixed = isa<llvm::Constant>(start);
    // Shared memory ends below 2^18, so a start in units of 16 bytes has the field's 14 bits. What
    // a loop does not change comes first.
    llvm::Value *ofGroup = l.placed(l.linear({}, ofWarp, true), warpBits, shared);
    llvm::Value *fixed = l.b.CreateAdd(l.sharedAddress(l.b.getInt32(0)), ofGroup, "", true, true);
    fixed = l.b.CreateOr(units(fixed), static_cast<uint32_t>(constantFields()));
    first = l.b.CreateAdd(fixed, units(start), "", true, true);
  }

  /// True when K is not the dimension whose elements are neighbours.
  bool transposed() const { return shared.order()[0] == dim; }

  /// Elements along the dimension between which there may be a step: those of a panel, or 8 rows.
  int64_t run() const { return transposed() ? shared.rowBytes() * 8 / shared.elementBits() : 8; }

  /// The upper word, which is the same for all pieces.
  uint32_t upper() const { return constantFields() >> 32; }

  /// Whether no stage is chosen while the kernel runs.
  bool fixed() const { return isFixed; }

  /// The lower word.
  llvm::Value *at(int position, int k) {
    return l.b.CreateAdd(first, l.b.getInt32(unitsTo(position, k)));
  }

  /// The whole descriptor.
  llvm::Value *wholeAt(int position, int k) {
    return l.b.CreateOr(l.b.CreateZExt(at(position, k), l.b.getInt64Ty()),
                        static_cast<uint64_t>(upper()) << 32);
  }

  /// From the first descriptor of a text to the one `k` further on. The first is at a multiple of
  /// all that the text covers, a power of two, so that offsets, which are linear over F2, add up.
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
    const uint64_t leading = transposed() ? turns * shared.panelBytes() >> 4 : 1;
    const uint64_t stride = (transposed() ? 1 : turns) * span * 8 >> 4;
    return mode << 62 | stride << 32 | leading << 16;
  }

  Lowering &l;
  const SharedLayout shared;
  const int dim;
  const uint64_t turns;
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

/// One piece of the result over all of K: `steps` instructions in one text, since each text ties
/// all accumulators again. Operands: accumulators, ties, A, B of the first step, and the scale of the
/// old sum. Descriptors are put together in the text, of the first one's lower word and numbers:
/// ptxas 13.0 loses the upper word of one that a loop counts up in 64 bits. A of each step is given
/// whole where it is in registers, or at one place, so that loops find its descriptors made.
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
    text = "{ .reg .pred p, q; .reg .b64 a, b, c, d; setp.ne.b32 p, $" + std::to_string(rhs + 1) +
           ", 0; setp.ne.b32 q, 1, 0; ";
    for (int step = 0; step < steps; ++step) {
      const std::string own = "$" + std::to_string(a + step);
      if (lhs && !isWhole)
        text += descriptor("a", "c", a, *lhs, step * k);
      text += descriptor("b", "d", rhs, rhsPieces, step * k);
      text += "wgmma.mma_async.sync.aligned.m64n" + std::to_string(n) + "k" + std::to_string(k) +
              "." + accName + "." + names + " " + operandList(0, words) + ", " +
              (lhsInRegisters ? operandList(a + aWords * step, 4)
               : isWhole      ? own
                              : "a") +
              ", b" + (step ? ", q" : ", p") + flags + "; ";
    }
    text += "}";
    setConstraints(lhsInRegisters ? std::string(steps * 4, 'r')
                   : isWhole      ? std::string(steps, 'l')
                                  : "r");
    llvm::Type *word = packed ? l.b.getInt32Ty() : accType;
    result =
        llvm::StructType::get(l.module.getContext(), llvm::SmallVector<llvm::Type *>(words, word));
  }

  /// `acc` are accumulator words.
  Values operator()(ValueList acc, ValueList lhs, llvm::Value *rhs, bool keepsSum) {
    Values operands(acc);
    operands.append(lhs.begin(), lhs.end());
    operands.push_back(rhs);
    operands.push_back(l.b.getInt32(keepsSum));
    return l.results(l.assembly(result, text, constraints, operands), words);
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

  /// `ofLhs`: a letter for each of its operands.
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
  std::string text, constraints;
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

/// Constants in registers: LLVM would write them there only where the MMA asks for them.
Values inRegisters(Lowering &l, Values words) {
  for (llvm::Value *&word : words)
    if (isa<llvm::Constant>(word))
      word = l.assembly(word->getType(), "mov.b32 $0, $1;",
                        word->getType()->isIntegerTy() ? "=r,r" : "=f,f", {word});
  return words;
}

/// What an instruction that starts a sum at zero may find in its registers.
Values unset(ValueList values) {
  return llvm::map_to_vector<8>(values, [](llvm::Value *value) -> llvm::Value * {
    return llvm::UndefValue::get(value->getType());
  });
}

std::string waitText(unsigned pending) {
  return "wgmma.wait_group.sync.aligned " + std::to_string(pending) + ";";
}

/// Waits until at most `pending` MMAs are in flight. The registers `words` go through the wait; those
/// of `held` are read by it, so that LLVM writes nothing else into them before.
Values waitFor(Lowering &l, ValueList words, unsigned pending, ValueList held = {}) {
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
  llvm::Value *call = l.assembly(type, waitText(pending), constraints, operands);
  return words.empty() ? Values() : l.results(call, words.size());
}

/// K that one text covers: all of it, or what may be summed up imprecisely.
int depthOfText(nv::WgmmaOp op, int depth, int k) {
  auto most = op->getAttrOfType<IntegerAttr>(names::maxImprecise);
  if (!most)
    return depth;
  int text = k;
  while (2 * text <= std::min<int64_t>(most.getInt(), depth) && depth % (2 * text) == 0)
    text *= 2;
  return text;
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
  const int most = depthOfText(op, depth, k);
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

  // The pieces' registers, and between them those that are absent.
  Values result(acc.numRegs(),
                llvm::PoisonValue::get(l.type(elementTypeOf(op.getResult().getType()))));
  auto setPiece = [&](int reg, ValueList elements) { llvm::copy(elements, result.begin() + reg); };
  if (op->hasAttr(names::maxImprecise)) {
    for (int reg = 0; reg < acc.numRegs(); reg += step) {
      if (!acc.isPresent(reg))
        continue;
      Values sums;
      for (int start = 0; start < depth; start += most) {
        Piece part = piece(reg, start);
        fence(l);
        Values product = instructions(zerosLike(part.sum), part.lhs, part.rhs, false);
        commit(l);
        product = waitFor(l, product, 0);
        sums = start == 0 ? part.sum : sums;
        for (auto [sum, add] : llvm::zip_equal(sums, product))
          sum = l.b.CreateFAdd(sum, add);
      }
      setPiece(reg, instructions.toElements(sums));
    }
    fence(l);
  } else {
    // Between the fence and the last piece no register may be written that a piece uses.
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

/// The registers of a tile that there are.
Values presentOf(Lowering &l, Value tile) {
  Values present;
  for (auto [reg, value] : llvm::enumerate(l.get(tile)))
    if (l.isPresent(tile.getType(), reg))
      present.push_back(value);
  return present;
}

/// All registers of a tile from those.
Values withAbsent(Lowering &l, Type tile, ValueList present) {
  Values all;
  for (int reg = 0, next = 0; reg < l.count(tile); ++reg)
    all.push_back(l.isPresent(tile, reg) ? present[next++]
                                         : llvm::PoisonValue::get(present[0]->getType()));
  return all;
}

/// The registers of 32 bits that an MMA reads `tile` from.
Values wordsOf(Lowering &l, Value tile) {
  return l.pack(presentOf(l, tile), storageBits(elementTypeOf(tile.getType())));
}

/// The accumulators go through the wait as tied operands, so no use of them can move above it.
LogicalResult lowerWgmmaWait(Lowering &l, nv::WgmmaWaitOp op) {
  if (!op.getPending())
    return op.emitError("a wait without a count: `nv-insert-waits` has not run");
  Values operands;
  for (Value value : op.getValues())
    operands.append(elementTypeOf(value.getType()).isF16() ? l.pack(presentOf(l, value), 16)
                                                           : presentOf(l, value));
  Values held;
  for (Value tile : op.getHeld())
    held.append(wordsOf(l, tile));
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
/// Copies that neither LLVM sees through nor moves past a wait.
LogicalResult lowerCopyRegisters(Lowering &l, nv::CopyRegistersOp op) {
  const Type element = elementTypeOf(op.getType());
  Values copies;
  for (llvm::Value *word : wordsOf(l, op.getSrc()))
    copies.push_back(l.assembly(word->getType(), "mov.b32 $0, $1;", "=r,r", {word}));
  const Values present =
      l.unpack(copies, l.type(element), storageBits(element), presentOf(l, op.getSrc()).size());
  l.set(op.getResult(), withAbsent(l, op.getType(), present));
  return success();
}

/// A store in front of the wait, under a condition that only the numbers decide and that never
/// holds: a sum is no NaN of these bits, since the hardware makes but one. Stores keep their order
/// with waits for products, which read the same memory.
LogicalResult lowerSettle(Lowering &l, nv::SettleOp op) {
  const Values all = presentOf(l, op.getValue());
  const ValueList values = all;
  llvm::Value *sum = l.b.CreateFAdd(values.front(), values.back());
  for (llvm::Value *value : values.drop_front().drop_back(values.size() > 1))
    sum = l.b.CreateFAdd(sum, value);
  l.assembly(l.b.getVoidTy(),
             "{ .reg .pred p; setp.eq.u32 p, $0, 0x7fffdead; @p st.volatile.shared.b32 [$1], $0; }",
             "r,r", {l.b.CreateBitCast(sum, l.b.getInt32Ty()), l.sharedAddress(l.b.getInt32(0))});
  return success();
}
} // namespace

void lower::addWgmma(Handlers &h) {
  h.add<nv::WgmmaOp>(lowerWgmma);
  h.add<nv::WgmmaWaitOp>(lowerWgmmaWait);
  h.add<nv::CopyRegistersOp>(lowerCopyRegisters);
  h.add<nv::SettleOp>(lowerSettle);
}
