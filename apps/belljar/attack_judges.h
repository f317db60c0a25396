#pragma once

#include <string>

#include "attack_catalog.h"

// What the outside says of a trial, whatever the attack says of itself. Each returns what is wrong,
// or nothing.
namespace belljar::apps {

// Nothing differed from the expected posture while it was looked at.
std::string judge_posture(const Trial& trial);
// Both jars saw the same bytes in the files that all jars share.
std::string judge_same_files(const Trial& trial);
// Killed by the filter, or by a kernel that does not know the foreign ABI.
std::string judge_foreign_abi(const Trial& trial);
// The second jar had another user id of the host than the first.
std::string judge_fresh_user(const Trial& trial);
std::string judge_process_peak(const Trial& trial);
// The same, and the ordinary program beside it was not disturbed.
std::string judge_bomb(const Trial& trial);
// Ended when the time was up, neither before nor long after.
std::string judge_deadline(const Trial& trial);
// This process did not grow with what the guest wrote.
std::string judge_flat_memory(const Trial& trial);
std::string judge_strange_output(const Trial& trial);
std::string judge_no_result(const Trial& trial);
std::string judge_returned_files(const Trial& trial);
// A conversation named "../.." is refused where requests are read.
std::string judge_conversation(const Trial& trial);
// So is a file named "../../x"; the engine itself, given one, lets nothing out of the jar.
std::string judge_upload(const Trial& trial);

std::string judge_exit_code(const Trial& trial, int expected);
template <int Expected>
std::string judge_exit(const Trial& trial) {
    return judge_exit_code(trial, Expected);
}

}  // namespace belljar::apps
