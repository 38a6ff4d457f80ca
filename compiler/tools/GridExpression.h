//===- GridExpression.h - grids on the command line -----------------------------------------===//
// Needs: up to three expressions, "cdiv(n, BLOCK), 4"; the integers that they may name.
// Gives: the grid, or an error that says where the expression is wrong.
// How:   Recursive descent over + - * // % / ( ) numbers, names, cdiv, min and max; all in 64 bits.
//===-----------------------------------------------------------------------------------===//
#pragma once
#include "pantile/Runtime.h"
#include <map>
#include <string>
#include <string_view>

namespace pantile {

Result<Grid> evaluateGrid(std::string_view text, const std::map<std::string, int64_t> &names);

} // namespace pantile
