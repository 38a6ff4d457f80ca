//===- ModuleConstants.h - constant expressions outside kernels -------------------------===//
// Needs: an expression of a module, and what its names mean.
// Gives: its value, by Python's arithmetic on int, float, bool, str and tuples; nothing if it
//        cannot be evaluated without running Python. Never an error: uses of the name report it.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "frontend/Ast.h"
#include "pantile/Program.h"
#include <llvm/ADT/STLFunctionalExtras.h>
#include <optional>

namespace pantile {

using NameLookup = llvm::function_ref<std::optional<ConstValue>(std::string_view name)>;

/// Where there is none, an empty `why` becomes the reason, as far as there is a simple one.
std::optional<ConstValue> evaluateConstant(const ast::Expr &expr, NameLookup lookup,
                                           std::string *why = nullptr);
std::optional<ConstValue> evaluateBinary(ast::BinaryOp op, const ConstValue &lhs,
                                         const ConstValue &rhs, std::string *why = nullptr);

/// The truth of a number, string, tuple or None; nothing for other values.
std::optional<bool> truthOf(const ConstValue &value);

} // namespace pantile
