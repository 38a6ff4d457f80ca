//===- LaunchHooks.h - whether launch hooks are set ---------------------------------------===//
// Needs: the GIL.
// Gives: false if neither `pantile.knobs.runtime.launch_enter_hook` nor `launch_exit_hook` is set;
//        it costs three look-ups. True if in doubt: then Python code decides.
//===-----------------------------------------------------------------------------------===//
#pragma once

namespace pantile::python {

bool mayHaveLaunchHooks();

} // namespace pantile::python
