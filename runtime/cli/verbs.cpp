// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// verbs.cpp lists the verbs of the command in their order.
#include "runtime/cli/verbs.h"

namespace smalloc::cli {

std::span<const Verb *const> all_verbs() {
  // One per line, in the order of the help.
  static const Verb *const verbs[] = {
      &kTryVerb,        //
      &kDoctorVerb,     //
      &kSitesVerb,      //
      &kRunVerb,        //
      &kRecordVerb,     //
      &kAnalyzeVerb,    //
      &kApplyVerb,      //
      &kDiffVerb,       //
      &kReportVerb,     //
      &kDbVerb,         //
      &kDirectivesVerb, //
      &kTraceVerb,      //
      &kStatsVerb,      //
      &kMachineVerb,    //
      &kNumaVerb,       //
      &kCalibrateVerb,  //
      &kStudyVerb,      //
      &kStreamVerb,     //
  };
  return verbs;
}

} // namespace smalloc::cli
