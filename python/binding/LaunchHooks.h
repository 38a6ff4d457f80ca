//===- LaunchHooks.h - whether anybody listens to launches, at the cost of three look-ups -===//
// Needs: the GIL.
// Gives: false where neither `pantile.knobs.runtime.launch_enter_hook` nor `launch_exit_hook` is
//        set. True if in doubt: then Python code decides.
//===-----------------------------------------------------------------------------------===//
#pragma once

namespace pantile::python {

bool mayHaveLaunchHooks();

} // namespace pantile::python
