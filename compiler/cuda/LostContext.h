//===- LostContext.h - errors of failed launches and waits --------------------------------===//
// Needs: noteLaunch, called for each launch.
// Gives: the Error for a result of the driver. If a kernel caused it and the context is lost, the
//        message names the kernels launched last: the driver reports it at a later call only.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "cuda/Driver.h"

namespace pantile {

/// `name` as an object that lives for ever, the same one for equal names.
const std::string *keptName(const std::string &name);

/// Notes that a kernel of this name, from keptName, is about to be launched.
void noteLaunch(const std::string *name);

Error failureOf(const Driver &driver, CUresult result, std::string_view doing);

} // namespace pantile
