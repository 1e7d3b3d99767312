// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// runtime_migrate.cpp tells the agent (placement by directives) which sites have big objects. When
// the agent then gives superpages to a site that it had deferred, the site's live objects are
// migrated: collapsed in place. Only one thread migrates at a time.
#include "smalloc/agent/agent.h"
#include "smalloc/base/keep_errno.h"
#include "smalloc/core/runtime.h"
#include "smalloc/sites/site_words.h"

namespace smalloc {
namespace {
std::atomic<bool> g_migrating{false};
} // namespace

void Runtime::agent_after_fork_in_child() {
  g_agent.after_fork_in_child();
  g_migrating.store(false); // the migrating thread is in the parent
}

/// Informs the agent that a big object of the account was allocated or freed.
void Runtime::agent_charged(SiteAccounts::Account account) {
  Directives::Entry *entry = g_accounts.directive(account);
  if (!entry || !g_agent.note_live(entry, g_accounts.footprint(entry).superpages))
    return;
  // Another thread migrates, or this one further up the stack.
  if (g_migrating.exchange(true))
    return;
  KeepErrno keep;
  g_agent.decide_anew(
      kLinux.now_ns(),
      [](Directives::Entry *changed, DirectiveOutcome before, void *runtime) {
        modules_obey_directives(
            {g_runtime.strategy(), g_runtime.strategy(), g_runtime.serves_process()});
        if (changed->decision == DirectiveOutcome::kTaken && before == DirectiveOutcome::kDeferred)
          static_cast<Runtime *>(runtime)->migrate(changed);
      },
      this);
  show_agent();
  g_accounts.show_decisions();
  g_migrating.store(false);
}

/// Collapses a site's live objects in place that were kept on base pages. The rest of the profile's
/// promised gain is the credit (ski_rental.h). Units without credit wait for promotion points.
void Runtime::migrate(Directives::Entry *entry) {
  if (options_.promote == PromotePolicy::kOff || !region_.thp_allowed())
    return;
  const uint64_t live = max_of<uint64_t>(g_accounts.footprint(entry).superpages, 1);
  const uint64_t worth = g_agent.worth_ns(*entry, live, elapsed_ns());
  const uint64_t began = kLinux.now_ns();
  bool any = false;
  for (BigObjects::Handle h = big_.next_object(0); h; h = big_.next_object(h.head + 1)) {
    SiteAccounts::Account account;
    const char *p = region_.unit_address(h.slice, h.head) + h.object->offset;
    if (!g_accounts.big_account(p, account) || g_accounts.directive(account) != entry)
      continue;
    const uint64_t credit = worth / live * min_of<uint64_t>(h.object->whole_units, live);
    big_.make_pending(h);
    if (h.object->pending)
      promote_big(h, credit, credit);
    any = true;
  }
  if (any) {
    counters().freezes.add();
    counters().migration_ns.add(kLinux.now_ns() - began);
  }
}

} // namespace smalloc
